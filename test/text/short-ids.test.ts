/** Short ids of records within one view. */
import { expect, it } from "vitest";
import { isShortId, shortIdFormatter, shortIdOf } from "../../src/text/short-ids.ts";

const id = (start: string, end: string): string =>
  `mem_0000000${start}-0000-7000-8000-000000${end}`;

it("short ids are the last characters of an id if these are unique, else the whole id [CTX-6]", () => {
  const [one, two, three] = [id("1", "abc123"), id("2", "abc123"), id("3", "abc124")];
  const nameOf = shortIdFormatter([one, two, three, three]);
  expect([one, two, three].map(nameOf)).toEqual([one, two, "abc124"]);
  expect(isShortId(shortIdOf(three))).toBe(true);
  expect(isShortId(three)).toBe(false);
});
