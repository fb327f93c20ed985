/** Compares the documentation with the code: paths, functions, commands and snippets. */
import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { PAGES } from "../scripts/docs.ts";
import { COMMANDS } from "../src/cli/commands.ts";
import { DELIVERY_STATES } from "../src/store/rows.ts";

const ROOT = join(import.meta.dirname, "..");
const read = (path: string): string => readFileSync(join(ROOT, path), "utf8");
const pages = globSync(["*.md", "docs/*.md"], { cwd: ROOT }).sort();

const PATH = /(?<![\w./-])(?:src|test|docs|examples|scripts|bench)\/[\w./-]*[\w/]/g;
const FUNCTION = /`((?:src|scripts)\/[\w./-]+\.ts)`,? `(\w+)\(\)`/g;
/** Code blocks are left out, because a pattern in a JSON Schema looks like a link. */
const CODE = /^```[\s\S]*?^```/gm;
const LINK = /\]\((?!https?:|#)([^)#]+)[^)]*\)/g;

describe.each(pages)("documentation page %s", (page) => {
  const text = read(page);

  it("names only files that exist", () => {
    const named = new Set(text.match(PATH));
    expect([...named].filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  });

  it("names functions in the files that define them", () => {
    const named = [...text.matchAll(FUNCTION)].map(([, file = "", name = ""]) => ({ file, name }));
    expect(named.filter(({ file, name }) => !defines(read(file), name))).toEqual([]);
  });

  it("links only to files that exist", () => {
    const links = [...text.replace(CODE, "").matchAll(LINK)].map(([, target = ""]) => target);
    expect(links.filter((to) => !existsSync(join(ROOT, dirname(page), to)))).toEqual([]);
  });

  it("names only scripts and commands that exist", () => {
    const { scripts } = JSON.parse(read("package.json")) as { scripts: Record<string, string> };
    const runs = [...text.matchAll(/npm run (?:-s )?([\w:]+)/g)].map(([, name = ""]) => name);
    expect(runs.filter((name) => !(name in scripts))).toEqual([]);
    const known = [...COMMANDS.map(({ name }) => name.split(" ")[0]), "help"];
    // A planned requirement may name a command that does not exist yet.
    const kept = text.replaceAll(/^\|.*\| planned \|.*$/gm, "");
    const called = [...kept.matchAll(/(?:`baton |npm run baton -- )([\w-]+)/g)].map(
      ([, name = ""]) => name,
    );
    expect(called.filter((name) => !known.includes(name))).toEqual([]);
  });
});

describe("generated parts of the documentation", () => {
  it.each(Object.entries(PAGES))(
    "are up to date in %s (else: npm run docs)",
    async (page, render) => {
      expect(read(page)).toBe(await render());
    },
  );

  it("README.md: the first snippet is examples/quick-start.ts, verbatim", () => {
    const [, snippet] = /```ts\n([\s\S]*?)```/.exec(read("README.md")) ?? [];
    expect(snippet).toBe(read("examples/quick-start.ts"));
  });

  it("docs/PROTOCOL.md: explains every state of a delivery", () => {
    const text = read("docs/PROTOCOL.md");
    expect(DELIVERY_STATES.filter((state) => !text.includes(`\`${state}\``))).toEqual([]);
  });

  it("README.md: has fewer than 100 lines", () => {
    expect(read("README.md").split("\n").length).toBeLessThan(100);
  });
});

/**
 * Returns whether the source defines a function, a method, or a store operation given as a
 * property.
 */
function defines(source: string, name: string): boolean {
  return new RegExp(`(function\\*? ${name}\\b|^ +(static |async |\\*)*${name}[<(])`, "m").test(
    source,
  );
}
