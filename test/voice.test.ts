/**
 * Checks that Baton uses plain technical English: fails when a text that people read contains one
 * of the words or patterns below. Covers error messages and hints, command-line help and output,
 * OpenAPI and MCP texts (all of them string literals in src/), the documentation, comments and test titles.
 */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parseAst } from "vitest/node";

const ROOT = join(import.meta.dirname, "..");

/** Retired patterns, each with what to write instead. */
const RETIRED: readonly (readonly [pattern: RegExp, instead: string])[] = [
  [/\b(?:nobody|somebody|whoever|everybody|anybody)\b/i, "name the actor: no agent, the caller"],
  [/(?<!\bthere )\b(?:is|are|was|were) no (?!longer\b|more\b)\w/i, "is not a …, invalid …"],
  [/\b(?:unless|if not) (?:told|said)\b/i, "default: …"],
  [/\bmend(?:s|ed|ing)?\b/i, "fix"],
  [/\b(?:a|another|each|every|one|the|this|last|first|next|per|earlier) try\b/i, "attempt"],
  [/\btries\b(?! to\b)/i, "attempts"],
  [/\b(?:a|one|every|each|the|first|last|another) look\b|\blooks\b(?! like)/i, "query, check"],
  [/\b(?:told|tells|tell|hears|heard)\b/i, "report, return, notify"],
  [/\bdoors?\b/i, "interface"],
  [/\brooms?\b/i, "module, capacity, space"],
  [/\bthe books balance\b/i, "the totals match"],
  [/\btak(?:es?|en|ing) away\b|\bgiv(?:es?|en|ing) back\b|\blets? go\b/i, "delete, release"],
  [/\bsa(?:y|id|ys) (?:again|with|back)\b/i, "retry, pass"],
  [/\bspeaks? against\b/i, "conflicts with"],
  [/\bfalls? silent\b/i, "stops responding"],
  [/\bwhat holds\b/i, "the current value"],
];

/** Places where a retired word is right, each with the reason. */
const EXCEPTIONS: readonly (readonly [place: RegExp, reason: string])[] = [
  [/^src\/search\/(irregular-forms|opposites|synonyms)\.ts/, "word lists of the search"],
  [/^src\/store\/postgres\/(functions\/claim|statements)\.ts/, "names within SQL"],
  [/^docs\/GUARANTEES\.md/, "quotes the requirements word for word"],
  [/^docs\/TEAM\.md/, "quotes the messages of a played run"],
  [/^CHANGELOG\.md\S* \|/, "lists removed names"],
  [/^CHANGELOG\.md\S* No longer exported/, "lists removed names"],
];

interface Text {
  readonly place: string;
  readonly text: string;
}

const lineOf = (source: string, offset: number): number =>
  source.slice(0, offset).split("\n").length;

/** Returns every string literal that is prose: at least two words. */
function literalsIn(file: string): Text[] {
  const source = readFileSync(join(ROOT, file), "utf8");
  const found: Text[] = [];
  const visit = (node: unknown): void => {
    if (Array.isArray(node)) for (const each of node) visit(each);
    else if (typeof node === "object" && node !== null) {
      const { type, value, start } = node as { type?: string; value?: unknown; start?: number };
      const text =
        type === "TemplateElement" ? (value as { raw: string }).raw : type === "Literal" && value;
      if (typeof text === "string" && /\w \w/.test(text)) {
        found.push({ place: `${file}:${lineOf(source, start ?? 0)}`, text });
      }
      for (const [key, child] of Object.entries(node)) if (key !== "parent") visit(child);
    }
  };
  visit(parseAst(source, { lang: "ts" }).body);
  return found;
}

const linesIn = (file: string): Text[] =>
  readFileSync(join(ROOT, file), "utf8")
    .split("\n")
    .map((text, n) => ({ place: `${file}:${n + 1}`, text }));

const SOURCES = "{src,test,store-contract,bench,scripts,eval,examples}/**/*.{ts,mjs}";

/** A line that is a comment, and a line that begins a test or a group of tests with its title. */
const COMMENT = /^\s*(?:\/\/|\/\*|\*)|\s\/\/ /;
const TITLE = /^\s*(?:it|describe)\b.*\(\s*["`]|^\s*"[^"]+",? async \(/;

/** Returns comments and test titles. Text before a comment at the end of a line is not part of it. */
const notesIn = (file: string): Text[] =>
  linesIn(file).flatMap(({ place, text }) => {
    if (TITLE.test(text)) return [{ place, text }];
    if (!COMMENT.test(text)) return [];
    return [{ place, text: text.replace(/^.*?\s(?=\/\/ )/, "") }];
  });

const offences = (texts: readonly Text[]): string[] =>
  texts
    .filter(
      ({ place, text }) => !EXCEPTIONS.some(([exception]) => exception.test(`${place} ${text}`)),
    )
    .flatMap(({ place, text }) =>
      RETIRED.filter(([pattern]) => pattern.test(text)).map(
        ([pattern, instead]) =>
          `${place}: "${pattern.exec(text)?.[0]}" (${instead}): ${text.trim().slice(0, 100)}`,
      ),
    );

const filesOf = (...patterns: string[]): string[] =>
  patterns
    .flatMap((pattern) => globSync(pattern, { cwd: ROOT, exclude: ["**/node_modules/**"] }))
    .toSorted();

describe("plain English", () => {
  it("recognizes retired words and accepts ordinary sentences", () => {
    const of = (text: string) => offences([{ place: "x", text }]).length;
    expect(of("The body is no JSON.")).toBe(1);
    expect(of("Nobody was told.")).toBe(2);
    expect(of("There is no store at that address; it is no longer open.")).toBe(0);
    expect(of("Retries: a delivery is retried, and the hub tries to wake its receiver.")).toBe(0);
  });

  it("is used in errors, help, OpenAPI and MCP texts", () => {
    expect(filesOf("src/**/*.ts").flatMap(literalsIn).length).toBeGreaterThan(1_000);
    expect(offences(filesOf("src/**/*.ts").flatMap(literalsIn))).toEqual([]);
  });

  it("is used in comments and test titles", () => {
    const notes = filesOf(SOURCES).flatMap(notesIn);
    expect(notes.length).toBeGreaterThan(10_000);
    expect(offences(notes)).toEqual([]);
  });

  it("is used in the documentation", () => {
    expect(offences(filesOf("*.md", "docs/*.md").flatMap(linesIn))).toEqual([]);
  });
});
