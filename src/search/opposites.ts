/**
 * Words that reverse a statement: negations, and pairs of opposites. Each line of pairs has two sides; the
 * words of one side count as equal here.
 */
import { stem } from "./terms.ts";

/** Each negates the word beside it; two of them cancel out ("do not merge without approval"). */
export const NEGATIONS: ReadonlySet<string> = new Set(
  `not no never cannot without nobody none neither nor nothing stop stopped avoid avoids avoided
  forbidden forbid forbids prohibited dont doesnt didnt isnt arent wasnt werent cant couldnt wont
  wouldnt shouldnt mustnt hasnt havent hadnt gone abandoned deprecated unless lacks lack
  lacking`.split(/\s+/),
);

const PAIRS = `enable on activate active | disable off deactivate inactive
allow permit accept grant approve accepted admit | deny reject refuse decline block ban
always | never
before | after
increase raise grow more rise gain up | decrease reduce lower shrink less fall drop down
synchronous sync | asynchronous async
open opened | close closed shut
require mandatory must compulsory required need | optional voluntary
add insert append attach | delete remove detach
start resume begin continue resumed | pause halt stop suspend paused
include with including | exclude without excluding
public | private
succeed success pass passed succeeded work | fail failure broken failed
fast quick faster speed | slow slower
better improve good best well | worse bad degrade worst poor
like love enjoy prefer favour | hate dislike afraid fear detest
keep retain preserve leave | delete remove discard
full | empty
lock locked hold held acquire | unlock release released free
up online available | down offline unavailable
visible shown show | hidden hide invisible
safe secure | unsafe insecure dangerous
ordered sorted | unordered unsorted
true | false
deploy ship deployed release | revert rollback rolled undo
upgrade | downgrade
manual manually | automatic automatically
mutable | immutable frozen
strict | lenient loose
encrypt encrypted | decrypt plaintext unencrypted
early earlier | late later
merge join | split separate
easy simple | hard difficult complex
cheap cheaper | expensive
large big larger bigger | small smaller tiny
high higher | low lower
long longer | short shorter
old older legacy | new newer
married | divorced single
hot warm | cold
unique | duplicate
direct directly | indirect indirectly
static | dynamic
eager eagerly | lazy lazily
stateful | stateless
agree | disagree
win won | lose lost
many | few
known | unknown
stable | unstable flaky
complete finished done | unfinished incomplete pending`;

interface Side {
  readonly pair: number;
  readonly side: 0 | 1;
}

/** By stem. A word can be in several pairs. */
const SIDES = new Map<string, Side[]>();
for (const [pair, line] of PAIRS.split("\n").entries()) {
  for (const [n, words] of line.split(" | ").entries()) {
    const side: Side = { pair, side: n === 0 ? 0 : 1 };
    for (const word of new Set(words.split(" ").map(stem))) {
      SIDES.set(word, [...(SIDES.get(word) ?? []), side]);
    }
  }
}

/** Prefixes that form the opposite of a word. */
const PREFIX = /^(un|in|im|ir|il|dis|non|a|mis)-?/;

/** Returns true if two stems are opposites. */
export function areOpposites(a: string, b: string): boolean {
  if (a === b) return false;
  const others = SIDES.get(b) ?? [];
  const inPair = (SIDES.get(a) ?? []).some(({ pair, side }) =>
    others.some((other) => other.pair === pair && other.side !== side),
  );
  return inPair || isPrefixed(a, b) || isPrefixed(b, a);
}

const isPrefixed = (long: string, short: string): boolean =>
  short.length >= 4 && long.endsWith(short) && long.replace(PREFIX, "") === short;

/** Returns true if two stems are on the same side of a pair. */
export function areOnSameSide(a: string, b: string): boolean {
  const others = SIDES.get(b) ?? [];
  return (SIDES.get(a) ?? []).some(({ pair, side }) =>
    others.some((other) => other.pair === pair && other.side === side),
  );
}
