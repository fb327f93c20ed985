/** Checks that every test that is excluded over HTTP exists, so that a changed title is noticed. */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { NOT_OVER_HTTP } from "../support/hub/not-over-http.ts";

const TESTS = join(import.meta.dirname, "..");

describe("tests that are excluded over HTTP", () => {
  it("exist, each with a reason", () => {
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

/** Returns a pattern for a title without its requirements, with any value for its placeholders. */
function patternOf(title: string): RegExp {
  const plain = title.replace(/ \[[A-Z0-9 -]+\]$/, "");
  const parts = plain.split(/%s|\$\w+/).map((part) => RegExp.escape(part));
  return new RegExp(`^${parts.join(".+")}$`);
}
