/** Irregular English forms, which no rule for endings covers; each line begins with the base form. */
const FAMILIES = `go went gone goes
buy bought
bring brought
think thought
teach taught
catch caught
fight fought
seek sought
run ran running
begin began begun
drink drank drunk
sing sang sung
swim swam swum
ring rang rung
see saw seen
take took taken
give gave given
write wrote written writes writing
drive drove driven
ride rode ridden
rise rose risen
speak spoke spoken
break broke broken
choose chose chosen choosing
wake woke woken
wear wore worn
tear tore torn
steal stole stolen
freeze froze frozen
grow grew grown
know knew known
throw threw thrown
fly flew flown flies
draw drew drawn
blow blew blown
show shown
make made
say said
tell told
sell sold
hold held
hear heard
find found
lose lost
leave left
feel felt
keep kept
sleep slept
meet met
send sent
spend spent
build built
lend lent
bend bent
win won
sit sat
stand stood
understand understood
pay paid
lead led
eat ate eaten
fall fell fallen
forget forgot forgotten
become became
come came
hide hid hidden
bite bit bitten
shoot shot
shine shone
mean meant
dream dreamt
learn learnt
burn burnt
deal dealt
swear swore sworn
bear bore borne
feed fed
bind bound
wind wound
hang hung
stick stuck
strike struck
swing swung
dig dug
spin spun
slide slid
shake shook shaken
child children kid kids
man men
woman women
person people
foot feet
tooth teeth
goose geese
mouse mice
life lives
wife wives
knife knives
leaf leaves
shelf shelves
half halves
wolf wolves
loaf loaves
thief thieves
analysis analyses
crisis crises
thesis theses
hypothesis hypotheses
index indices indexes
matrix matrices
vertex vertices
criterion criteria
phenomenon phenomena
datum data
medium media
schema schemata
good better best
bad worse worst
mom mum`;

/** Maps an irregular form to its base form. */
export const BASE_FORMS: ReadonlyMap<string, string> = new Map(
  FAMILIES.split("\n").flatMap((line) => {
    const [base = "", ...forms] = line.split(" ");
    return forms.map((form): [string, string] => [form, base]);
  }),
);
