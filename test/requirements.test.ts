// Checks the list of requirements against this repository, and that each of those checks can fail,
// with invented lists and sources.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { checkProofs, explain } from "./requirements/check.ts";
import { proofMap, renderGuarantees } from "./requirements/render.ts";
import { type Scan, scanProofs, scanSource } from "./requirements/scan.ts";
import { type Family, families, type Requirement } from "./requirements.ts";

const root = join(import.meta.dirname, "..");

describe("the requirements", () => {
  it("agree with the tests that name them", () => {
    expect(checkProofs(families, scanProofs(root)).map(explain)).toEqual([]);
  });

  it("match docs/GUARANTEES.md (else: npm run guarantees)", () => {
    const page = readFileSync(join(root, "docs", "GUARANTEES.md"), "utf8");
    expect(page).toBe(renderGuarantees(families, scanProofs(root).tests));
  });
});

describe("the check of the requirements", () => {
  const proof = scanSource("a.test.ts", `it("works [AAA-1]", () => {});`);

  it("accepts a claim with a test, and a planned requirement with or without one", () => {
    expect(check([one("AAA-1", "proved"), one("AAA-2")], proof)).toEqual([]);
    expect(check([one("AAA-1")], proof)).toEqual([]);
  });

  it("reports a claim without a test", () => {
    const listed = [one("AAA-1", "proved"), one("AAA-2", "proved: sqlite"), one("AAA-3", "proved")];
    expect(check(listed, proof)).toEqual([
      'AAA-2 claims "proved: sqlite" but no test that always runs names it',
      'AAA-3 claims "proved" but no test that always runs names it',
    ]);
  });

  it("does not confuse a longer id with a shorter one", () => {
    const longer = scanSource("a.test.ts", `it("works [AAA-11]", () => {});`);
    expect(check([one("AAA-1", "proved"), one("AAA-11", "proved")], longer)).toHaveLength(1);
  });

  it("reports a claim whose only test may not run, with that test", () => {
    const skipped = scanSource("a.test.ts", `\nit.skip("works [AAA-1]", () => {});`);
    expect(check([one("AAA-1", "proved")], skipped)).toEqual([
      'AAA-1 claims "proved" but no test that always runs names it (may not run: a.test.ts:2)',
    ]);
  });

  it("reports an unknown id, with its test", () => {
    const message = ["a.test.ts:1 names AAA-1, which is not listed"];
    expect(check([one("AAA-2")], proof)).toEqual(message);
  });

  it("reports ids that are not at the end of a test's title", () => {
    const group = scanSource("a.test.ts", `describe("all [AAA-1]", () => {});`);
    expect(check([one("AAA-1")], group)).toHaveLength(1);
  });

  it("reports ids that are repeated, out of order or in the wrong family", () => {
    const listed = [one("AAA-9"), one("AAA-10"), one("AAA-10"), one("AAA-2"), one("BBB-3")];
    expect(check(listed, { tests: [], misplaced: [] })).toEqual([
      "AAA-10 is listed twice",
      "AAA-2 is listed after AAA-10",
      "BBB-3 is listed in the family AAA",
    ]);
  });
});

describe("the scan of a test file", () => {
  it("finds ids, title and line after characters outside ASCII", () => {
    const source = `// “…” 🏃\nconst a = "é";\nit("hands over → once [AAA-1 BBB-12]", async () => {});`;
    expect(scanSource("a.test.ts", source).tests).toEqual([
      {
        file: "a.test.ts",
        line: 3,
        title: "hands over → once",
        ids: ["AAA-1", "BBB-12"],
        runs: true,
      },
    ]);
  });

  it.each([
    `it("x [AAA-1]", () => {});`,
    `test("x [AAA-1]", { timeout: 5 }, body);`,
    `it(\`\${store} x [AAA-1]\`, () => {});`,
    `it.concurrent("x [AAA-1]", async () => {});`,
    `it.each<[number]>([[1]])("x [AAA-1]", (n: number) => {});`,
    `export function contract(open: Open): void { describe("a", () => { it("x [AAA-1]", f); }); }`,
    `for (const store of stores) it("x [AAA-1]", () => { if (store) expect(1).toBe(1); });`,
  ])("counts %s", (source) => {
    expect(counted(source)).toEqual(["AAA-1"]);
  });

  it.each([
    `it.skip("x [AAA-1]", () => {});`,
    `it.todo("x [AAA-1]");`,
    `it("x [AAA-1]");`,
    `it.fails("x [AAA-1]", () => {});`,
    `it.skipIf(process.platform === "win32")("x [AAA-1]", () => {});`,
    `it.runIf(url).each([1])("x [AAA-1]", () => {});`,
    `it("x [AAA-1]", { skip: true }, () => {});`,
    `it("x [AAA-1]", (context) => { if (!url) context.skip(); });`,
    `it("x [AAA-1]", ({ skip }) => { skip(); });`,
    `describe.skip("a", () => { describe("b", () => { it("x [AAA-1]", f); }); });`,
    `describe.skipIf(!url)("a", () => { it("x [AAA-1]", f); });`,
    `describe("a", { todo: true }, () => { it("x [AAA-1]", f); });`,
    `if (url) it("x [AAA-1]", f);`,
    `url && it("x [AAA-1]", f);`,
  ])("finds but does not count %s", (source) => {
    expect(scanSource("a.test.ts", source).tests).toHaveLength(1);
    expect(counted(source)).toEqual([]);
  });

  it.each([
    `// it("x [AAA-1]", () => {});`,
    `/* it("x [AAA-1]", () => {}); */`,
    `const source = 'it("x [AAA-1]", () => {});';`,
    `it("reads rows[0] of UTF-8 [slow]", () => {});`,
  ])("ignores %s", (source) => {
    expect(scanSource("a.test.ts", source)).toEqual({ tests: [], misplaced: [] });
  });

  it.each([
    `describe("a [AAA-1]", () => {});`,
    `it("[AAA-1] x", () => {});`,
    `it("x [AAA-1, AAA-2]", () => {});`,
    `it("x [AAA-1][AAA-2]", () => {});`,
    `it("x" + " [AAA-1]", () => {});`,
    `const title = "x [AAA-1]"; it(title, () => {});`,
  ])("reports the misplaced ids of %s", (source) => {
    const scan = scanSource("a.test.ts", source);
    expect(scan).toMatchObject({ tests: [], misplaced: [{ file: "a.test.ts", line: 1 }] });
  });
});

describe("the guarantees page", () => {
  it("lists a requirement with its status and the files of the tests that count", () => {
    const source = `it("a | b < c [AAA-1]", f); it("also [AAA-1]", f); it.skip("no [AAA-1]", f);`;
    const { tests } = scanSource("test/a.test.ts", source);
    const page = renderGuarantees([family([one("AAA-1", "proved"), one("AAA-2")])], tests);
    expect(page).toContain("| AAA-1 | text of AAA-1 | proved | `test/a.test.ts` |\n");
    expect(page).toContain("| AAA-2 | text of AAA-2 | planned |  |\n");
    expect(page).toContain("Of 2: 1 proved, 0 proved on SQLite, 1 planned.");
  });

  it("lists every test that counts in its JSON", () => {
    const source = `it("a | b < c [AAA-1]", f); it("also [AAA-1]", f); it.skip("no [AAA-1]", f);`;
    const { tests } = scanSource("test/a.test.ts", source);
    const map = proofMap([family([one("AAA-1", "proved"), one("AAA-2")])], tests);
    const file = "test/a.test.ts";
    expect(map).toEqual({
      "AAA-1": {
        text: "text of AAA-1",
        status: "proved",
        tests: [
          { file, title: "a | b < c" },
          { file, title: "also" },
        ],
      },
      "AAA-2": { text: "text of AAA-2", status: "planned", tests: [] },
    });
  });
});

function one(id: string, status: Requirement["status"] = "planned"): Requirement {
  return { id, text: `text of ${id}`, from: "+", status };
}

function family(requirements: readonly Requirement[]): Family {
  return { prefix: "AAA", title: "made up", requirements };
}

function check(requirements: readonly Requirement[], scan: Scan): string[] {
  return checkProofs([family(requirements)], scan).map(explain);
}

function counted(source: string): string[] {
  const { tests } = scanSource("a.test.ts", source);
  return tests.filter((test) => test.runs).flatMap((test) => test.ids);
}
