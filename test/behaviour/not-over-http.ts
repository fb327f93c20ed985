/**
 * What the behaviour tests do not ask of a hub over HTTP, by the title of the test, each with its reason.
 * Everything else runs there as on every store. test/client/not-over-http.test.ts holds that each of
 * these is a test there is.
 */
import { beforeEach } from "vitest";

const STORE_AT_HAND = "opens the store itself, behind the hub's back";

const REASONS: Readonly<Record<string, readonly string[]>> = {
  [STORE_AT_HAND]: [],
};

export const NOT_OVER_HTTP: ReadonlyMap<string, string> = new Map(
  Object.entries(REASONS).flatMap(([reason, titles]) =>
    titles.map((title) => [title, reason] as const),
  ),
);

/** A title without the requirements it proves, and without the store it ran on. */
export const plainTitle = (title: string): string =>
  title.replace(/ \[[A-Z0-9, -]+\]$/, "").replace(/(: | on )http$/, "");

beforeEach(({ task, skip }) => {
  const names = [task.name];
  for (let suite = task.suite; suite !== undefined; suite = suite.suite) names.push(suite.name);
  if (!names.some((name) => /\bhttp\b/.test(name))) return;
  const reason = NOT_OVER_HTTP.get(plainTitle(task.name));
  if (reason !== undefined) skip(reason);
});
