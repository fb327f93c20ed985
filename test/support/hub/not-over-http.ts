/**
 * What the behaviour tests do not ask of a hub over HTTP, by the title of the test, each with its reason.
 * Everything else runs there as on every store. test/client/not-over-http.test.ts holds that each of
 * these is a test there is.
 */
import type { TestContext } from "vitest";

const REASONS: Readonly<Record<string, readonly string[]>> = {
  "an agent's key never travels: what is signed is signed where the store is": [
    "does not lose its work to a stranger's inbox",
    "is missing on what an agent wrote before it had a key, and that is fine",
    "is not changed, and not written as, without its key",
    "is not demanded of a record from the millisecond in which the key came",
    "is on everything a keyed agent writes, and anybody can check it",
    "is the hub's own act, or that of an agent who has shown that it is it",
    "leaves a memory that says so, with its digest, link and signature",
    "of one that has a key opens to nobody without it",
    "whose profile has a flaw is told that flaw, not that a key is no text",
    "works in every session that has the key",
  ],
  "watches or counts what the hub in this process asks of its store": [
    "cost a handoff nothing that does not say what it touches: accepting is one operation",
    "cost nothing where there are none",
    "what could not be stored is told, and counted, when the store is gone",
  ],
  "is about a process on the hub's own machine: over HTTP a lease ends by time": [
    "are bound to a process or to a session",
    "end with the holder's process, at once",
    "is noticed at once when its process has ended, by whoever waits in another",
    "of a process that is gone are noticed by whoever waits, in whatever inbox",
    "wrongly took a holder for dead: the report is taken back, and a later failure is told anew",
  ],
  "moves the clock of this process, by which the client and the hub both count one wait": [
    "of a line waits no longer than it was told, however often it is handed on",
    "waits 15 s unless told",
  ],
  "has an offer in hand that cannot be read: over HTTP an offer comes with its envelope, or not at all":
    ["an old hub refuses what it cannot read, and leaves it to others"],
  "counts the steps of a call of which one was refused: over HTTP the call counts as refused": [
    "builds on nothing that was quarantined, and keeps its order meanwhile",
  ],
  "says numbers where names belong: in an address, 5 is a name": [
    "answers no question about memories that means nothing",
  ],
  "sets a limit of the hub's for what waits at the client": [
    "a full buffer refuses the newest step by its limit, and loses none of the others",
  ],
};

export const NOT_OVER_HTTP: ReadonlyMap<string, string> = new Map(
  Object.entries(REASONS).flatMap(([reason, titles]) =>
    titles.map((title) => [title, reason] as const),
  ),
);

/** A title without the requirements it proves, and without the store it ran on. */
export const plainTitle = (title: string): string =>
  title.replace(/ \[[A-Z0-9, -]+\]$/, "").replace(/(: | on )http$/, "");

/** Before each test (setup.ts): leaves out what is listed here. */
export function skipOverHttp({ task, skip }: TestContext): void {
  const names = [task.name];
  for (let suite = task.suite; suite !== undefined; suite = suite.suite) names.push(suite.name);
  if (!names.some((name) => /\bhttp\b/.test(name))) return;
  const reason = NOT_OVER_HTTP.get(plainTitle(task.name));
  if (reason !== undefined) skip(reason);
}
