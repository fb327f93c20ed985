/**
 * Behaviour tests that do not run over HTTP, by title, each with its reason. All others run over
 * HTTP as on every store. test/client/not-over-http.test.ts checks that these tests exist.
 */
import type { TestContext } from "vitest";

const REASONS: Readonly<Record<string, readonly string[]>> = {
  "an agent's key is never sent: records are signed where the store is": [
    "keeps its deliveries when a session without the key opens its inbox",
    "is not required for records written before the agent had a key",
    "cannot be changed or impersonated without its key",
    "is not required in the millisecond in which the key was set",
    "is on everything an agent with a key writes, and verifies",
    "is run by the hub or by an agent that proves its identity",
    "keeps the digest, link and signature of a redacted memory",
    "hides records of an agent with a key from sessions without it",
    "reports only the invalid field of a profile that has a key object",
    "works in every session that has the key",
  ],
  "counts the store operations of the hub in this process": [
    "cost no operation if the handoff names no files",
    "cost no store call when there are none",
    "reports and counts steps that could not be stored",
  ],
  "depends on a process on the hub's machine: over HTTP a lease ends by time": [
    "are bound to a process or to a session",
    "end at once when the holder's process dies",
    "goes to a receiver waiting in another hub when its process ends",
    "end with their process when an agent waits on any inbox",
    "leaves a wrong report that is settled; a later failure is reported",
  ],
  "advances the clock of this process, by which the client and the hub both count one wait": [
    "applies one timeout to the whole line",
    "times out after 15 s by default",
  ],
  "holds an offer that cannot be read: over HTTP an offer comes with its envelope, or not at all": [
    "refuses a handoff that it cannot read and leaves it to other hubs",
  ],
  "counts the steps of a call with one refused step: over HTTP the call counts as refused": [
    "refuses references to quarantined memories, and keeps its order",
  ],
  "passes numbers instead of names: in a URL, 5 is a name": [
    "refuse an invalid query of memories to export",
  ],
  "sets a limit of the hub for a buffer of the client": [
    "refuses the newest steps when its buffer is full, and keeps the rest",
  ],
};

export const NOT_OVER_HTTP: ReadonlyMap<string, string> = new Map(
  Object.entries(REASONS).flatMap(([reason, titles]) =>
    titles.map((title) => [title, reason] as const),
  ),
);

/** Returns a title without its requirement ids and without the store that it ran on. */
export const plainTitle = (title: string): string =>
  title.replace(/ \[[A-Z0-9, -]+\]$/, "").replace(/(: | on )http$/, "");

/** Skips the tests that are listed here. Runs before each test (setup.ts). */
export function skipOverHttp({ task, skip }: TestContext): void {
  const names = [task.name];
  for (let suite = task.suite; suite !== undefined; suite = suite.suite) names.push(suite.name);
  if (!names.some((name) => /\bhttp\b/.test(name))) return;
  const reason = NOT_OVER_HTTP.get(plainTitle(task.name));
  if (reason !== undefined) skip(reason);
}
