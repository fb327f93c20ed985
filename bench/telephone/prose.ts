/**
 * The text around the planted items: introductions, small talk and session logs. `@` is a thing of
 * the task's domain, `#` a number of three digits (numbers in items have other lengths). No
 * question is about this text.
 */
import type { Kind } from "./frame.ts";

/** `_` is the item's sentence, `^` the same with a capital letter. */
export const LABELLED: Readonly<Record<Exclude<Kind, "aside">, readonly string[]>> = {
  must: ["MUST: _.", "Hard requirement: _.", "This is a must: _.", "Non-negotiable: _."],
  decision: ["Decision: _.", "Decided: _."],
  fact: ["Note: _.", "For the record: _."],
  failed: ["Already tried: _.", "Dead end: _."],
};

export const UNLABELLED: Readonly<Record<Exclude<Kind, "must">, readonly string[]>> = {
  aside: [
    "By the way, _.",
    "Oh, and _.",
    "I was held up with @ all morning, and while I think of it, _.",
    "Not that it should matter much, but _.",
    "{Somebody|A colleague} reminded me over {coffee|lunch} that _, I think.",
    "It is probably nothing, but _.",
    "{Most|Nearly all} of @ is as you would expect, although _.",
    "^ (you may know that already).",
  ],
  decision: [
    "After some back and forth _.",
    "In the end _.",
    "^.",
    "We talked about it for an hour: _.",
  ],
  fact: ["^.", "As far as I know _.", "You will see that _.", "If I remember correctly, _."],
  failed: [
    "^.",
    "For what it is worth, _.",
    "{A year ago|Before your time}: _.",
    "I should add that _.",
  ],
};

export const INTENT = [
  "What I want: _.",
  "The goal: _.",
  "In one sentence: _.",
  "This is about one thing: _.",
];

export const GREETINGS = [
  "{Hello all|Hi everybody|Good morning}, {thank you for taking this on|glad that you can take this over|here is the thing we talked about}.",
  "{Right|So}, this is {the job|the task} I {mentioned|announced} {yesterday|last week}.",
  "{Here we go|Finally}: the {project|work} nobody wanted to {start|begin}.",
];

export const SENDERS = [
  "From the project lead:",
  "From a colleague next door:",
  "From the client:",
  "From the one who did this before:",
  "From the team chat:",
  "Later the same day:",
  "The next morning:",
  "From the minutes:",
];

export const SMALL_TALK = [
  "@ looks {fine|good|tidy} to me {so far|for the moment|as it is}.",
  "{We|You} can {start|begin} with @ and {work|move} outwards from there.",
  "{I have|I've} put everything about @ into the {usual|common} folder.",
  "{Nobody|No one} has touched @ for a while.",
  "The {meeting|call} about @ {went on|dragged on} for ages, as always.",
  "Take your time with @, it is {bigger|messier|older} than it looks.",
  "@ and @ {belong|go} together, more or less.",
  "{Honestly|Frankly}, I {like|enjoy} @ more than I expected.",
  "There is a {picture|sketch} of @ on the wall by the lift.",
  "{Sorry|Apologies} for the {length|length of this}, I wanted to get it all down.",
  "The {mood|atmosphere} is {good|better than last month}, everyone wants this to {succeed|work}.",
  "We {spoke|talked} about @ and then about the weather.",
  "I {would|might} draw @ on paper {first|before anything else}.",
  "The {old|former} team left @ in {decent|reasonable} shape.",
  "{Whatever|Whichever} you do with @, tell us how it {went|goes}.",
  "{I am|I'm} curious what you will {make|think} of @.",
  "@ used to be a {hobby|side project} of somebody who left.",
  "{Feel free|You are welcome} to rename things in @.",
  "A {good|decent} part of @ was written on trains.",
  "{Two|Three} of us have looked at @ and {agreed|nodded}.",
  "{Thanks|Thank you} for {reading|bearing with me} this far.",
  "I {keep|kept} confusing @ with @.",
  "The {coffee machine|lift|heating} is broken again, in case you come by.",
  "@ {deserves|could do with} some love.",
  "{Everyone|Everybody} has an opinion about @.",
  "We {celebrate|will celebrate} when @ is behind us.",
  "The {history|story} of @ would fill an evening, {remind me|ask me} some time.",
  "I {showed|described} @ to {my neighbour|a friend}, who {shrugged|laughed}.",
  "{Yesterday|On Tuesday} I spent {an hour|half a day} on @ and {enjoyed|regretted} it.",
  "If @ {annoys|bothers} you, take a walk and come back.",
  "People {tend to|will} praise @ and {forget|ignore} @.",
  "{Some|A few} of the {comments|remarks} in @ are {older|wiser} than I am.",
  "The {first|earliest} {sketch|idea} of @ was drawn on a napkin.",
  "{Management|The board} {asked|wondered} {again|once more} how @ is coming along.",
  "Do {read|look at} @ before @, it {reads|goes down} better that way.",
  "I would {love|be glad} to see @ {finished|in good shape} for once.",
  "{Last|The other} week somebody called @ {beautiful|a monster}.",
  "@ has its {moods|good days and its bad days}, you will get used to it.",
  "My {notes|thoughts} on @ are {messy|scattered}, but you will {manage|find your way}.",
  "{Remember|You remember} the {party|evening} after @ was {shown|presented}?",
  "With @ {less|fewer words} {is|would be} more, if you ask me.",
  "{Nothing|Little} about @ {surprises|shocks} me any more.",
  "There are {stories|legends} about @, {most|half} of them {true|invented}.",
  "{Half|Part} of the {fun|trouble} is that @ looks like @.",
  "@ came up in {conversation|the corridor} again, {briefly|in passing}.",
  "I {admire|like} how calm everybody is about @.",
  "{Perhaps|Maybe} @ will {grow|shrink} on its own, who can tell.",
  "We had a {long|pleasant} {talk|chat} with the people behind @.",
  "The {weather|traffic} made me late for the {demo|talk} about @.",
  "{Ask|Poke} around in @ a little and you will {see|know} what I mean.",
];

/** Lines of a session's log. */
export const LOG = [
  "Opened @ and read it from top to bottom.",
  "Looked at @ again, nothing new in there.",
  "> search in @: # matches, most of them comments.",
  "> list: # entries under @, sorted by age.",
  "> check @ ... ok, # ms.",
  "> compare @ with @: # lines differ, whitespace mostly.",
  "Thinking: @ could be {simpler|shorter}, but {leave|keep} it for now.",
  "Thinking: what does @ have to do with @? Nothing, it seems.",
  "Wrote a {first|rough} version for @, then {tidied|cleaned} it up.",
  "> run: # passed, 0 failed, took # ms.",
  "> show @ lines # to #.",
  "Moved a piece of @ into its own place and ran everything again.",
  "Asked whether @ is still in use; it is.",
  "Renamed two things in @, they now say what they are.",
  "> count in @: #.",
  "Tried a different layout of @ and went back to the first.",
  "Waited for @ to finish, # s.",
  "Went through @ with the list at hand, {one|point} by {one|point}.",
  "> output: @ # # # # #",
  "Copied the relevant part of @ next to @ to see both.",
  "Put a comment on @ for whoever reads it next.",
  "Read what was {said|written} about @, twice.",
  "Cut @ down to a small example that still shows it.",
  "> diff @: +# -# lines.",
];

export const FINDINGS = [
  "Finding: @ {depends|relies} on @ more than the plan says.",
  "Finding: @ is {slower|larger|older} than expected, {about|roughly} # times.",
  "Finding: # entries of @ have no owner.",
  "Finding: @ was changed {last month|in the meantime} and @ was not.",
  "Finding: nothing reads the second half of @.",
];

export const RESULTS = [
  "Result: @ {holds|stands}, # of # checks are green.",
  "Result: a {draft|version} of @ is ready to be looked at.",
  "Result: @ and @ now say the same.",
  "Result: @ went from # to # and stayed there.",
];

export const NEXT = ["Next: {look at|go on with|take care of} @.", "Next: check @ against @."];
