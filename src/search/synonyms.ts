/**
 * Synonyms in notes, one family per line; the first word represents it. The list is explicit because word
 * vectors cannot distinguish synonyms from related words: to a vector, "coffee" is as near to "tea" as
 * "delete" to "remove".
 */
import { stem } from "./terms.ts";

const FAMILIES = `delete remove erase purge clear
choose pick select decide settle opt adopt go decision choice
use utilize employ rely via using
max maximum most
min minimum least
every each all per any
roughly approximately about around circa
repo repository
docs documentation
db database
config configuration
auth authentication
app application
env environment
prod production
dev development
perf performance
spec specification
param parameter
arg argument
dir directory folder
msg message
info information
finish done complete ready
fail broken break
store keep save kept persist hold live
send deliver mail receive
show display render
start begin launch startup
build compile
fix repair resolve patch
ship release deploy rollout
change modify alter edit update
create make generate produce
test check verify
larger bigger above over exceed greater
smaller below under fewer less
fast quick rapid
ask request
answer reply respond return
bug defect issue
cause root reason because due
owner own belong responsible maintain
like prefer enjoy favour favor love
child kid
doctor physician
job task
buy purchase
pay cost price
meeting appointment
holiday vacation leave
move relocate
birthday born
called name named
work available
everybody everyone
user customer client
limit cap restrict only
require need necessary must mandatory
expire timeout
attempt try tries
retry retries
again re
pull fetch
push upload
run execute
scheduled planned
location place
hour hourly
day daily
night nightly
week weekly
month monthly
year yearly annual annually
monday mon mondays
tuesday tue tuesdays
wednesday wed wednesdays
thursday thu thursdays
friday fri fridays
saturday sat saturdays
sunday sun sundays
percent percentage
javascript js
typescript ts
postgres postgresql pg
kubernetes k8s
parallel concurrent
identical equal same
prevent block
engineer developer
manager lead
error failure
slow sluggish`;

/** By stem. A word in two families belongs to the first. */
const FAMILY_STEMS = new Map<string, string>();
for (const line of FAMILIES.split("\n")) {
  const stems = line.split(" ").map(stem);
  for (const each of stems) if (!FAMILY_STEMS.has(each)) FAMILY_STEMS.set(each, stems[0] ?? each);
}

/** Returns the stem that represents the family of a stem; the stem itself if it has none. */
export const familyOf = (term: string): string => FAMILY_STEMS.get(term) ?? term;
