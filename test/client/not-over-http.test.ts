/** What is left out over HTTP is a test there is: a title that was changed does not leave a hole behind. */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { NOT_OVER_HTTP } from "../support/hub/not-over-http.ts";

const TESTS = join(import.meta.dirname, "..");

describe("what tests of every store leave out over HTTP", () => {
  it("are tests there are, each with its reason", () => {
    const files = globSync("**/*.test.ts", { cwd: TESTS });
    const text = files.map((name) => readFileSync(join(TESTS, name), "utf8")).join("\n");
    const titles = [...text.matchAll(/"((?:[^"\\]|\\.)+)",?\s/g)].map(([, title = ""]) => title);
    const known = titles.map((title) => patternOf(title.replaceAll("\\", "")));
    for (const [title, reason] of NOT_OVER_HTTP) {
      expect(reason).not.toBe("");
      expect(
        known.some((pattern) => pattern.test(title)),
        title,
      ).toBe(true);
    }
  });
});

/** A title as it is written, with its requirements and what is filled in. */
function patternOf(title: string): RegExp {
  const plain = title.replace(/ \[[A-Z0-9 -]+\]$/, "");
  const parts = plain.split(/%s|\$\w+/).map((part) => RegExp.escape(part));
  return new RegExp(`^${parts.join(".+")}$`);
}
