/**
 * What of the shared context fits: musts whatever they take, or a refusal that names them; then the
 * weightiest that still fits, one after the other, with the headings they bring along. Blocks are counted
 * one by one, which is exact (render.ts), and only once each.
 */
import { clip } from "../base/clip.ts";
import { BatonError } from "../base/errors.ts";
import type { Tokenizer } from "../text/tokens.ts";
import {
  CONTEXT_SECTIONS,
  type ContextItem,
  type ContextSection,
  isMust,
  nameOf,
} from "./items.ts";
import { footOf, headingOf, lineOf, lineTokens, tokensOf } from "./render.ts";

export interface PricedLine {
  readonly item: ContextItem;
  readonly tokens: number;
}

export function pricedLine(item: ContextItem, tokenizer: Tokenizer): PricedLine {
  return { item, tokens: lineTokens(tokenizer, item) };
}

export interface FitInput {
  readonly head: string;
  /** How many cannot be shown to anybody. */
  readonly gone: number;
  /** The weightiest first. */
  readonly lines: readonly PricedLine[];
  readonly tokenizer: Tokenizer;
  readonly budget: number;
  /** The share of what was asked for that is kept free already. */
  readonly margin: number;
}

export interface FitResult {
  readonly text: string;
  readonly tokens: number;
  readonly items: readonly ContextItem[];
  readonly left: readonly PricedLine[];
}

/** All of it where that fits; else the weightiest that still does, one after the other. */
export function fitToBudget({ head, gone, lines, tokenizer, budget, margin }: FitInput): FitResult {
  const count = (text: string): number => (text === "" ? 0 : tokensOf(tokenizer, text));
  const frame = (shown: number): number =>
    count(head) + count(footOf({ unshown: lines.length - shown, gone }));
  const page = new PageBuilder(tokenizer);
  const musts = lines.filter(({ item }) => isMust(item));
  for (const must of musts) page.take(must);
  const needed = page.taken + frame(musts.length);
  if (needed > budget) throw tooSmall(musts, { needed, budget, margin });
  const all = lines.reduce((sum, { tokens }) => sum + tokens, page.headings(lines));
  const room =
    all + frame(lines.length) <= budget ? all : budget - Math.max(frame(0), frame(musts.length));
  for (const each of lines) if (page.taken + page.costOf(each) <= room) page.take(each);
  // A foot with another number in it may take a token more.
  while (page.taken + frame(page.size) > budget && page.size > musts.length) page.drop();
  const left = lines.filter((each) => !page.has(each));
  const blocks = [head, page.text, footOf({ unshown: left.length, gone })];
  return {
    text: blocks.join(""),
    tokens: page.taken + frame(page.size),
    items: page.items,
    left,
  };
}

/** What is shown, and what it takes with its headings. */
class PageBuilder {
  readonly #chosen = new Set<PricedLine>();
  /** How many of each section. */
  readonly #shown = new Map<ContextSection, number>();
  readonly #heading: ReadonlyMap<ContextSection, number>;
  #taken = 0;

  constructor(tokenizer: Tokenizer) {
    this.#heading = new Map(
      CONTEXT_SECTIONS.map((section) => [section, tokensOf(tokenizer, headingOf(section))]),
    );
  }

  get taken(): number {
    return this.#taken;
  }

  get size(): number {
    return this.#chosen.size;
  }

  has(line: PricedLine): boolean {
    return this.#chosen.has(line);
  }

  /** Nothing, of what is shown already. */
  costOf(line: PricedLine): number {
    if (this.#chosen.has(line)) return 0;
    const { section } = line.item;
    return line.tokens + (this.#shown.get(section) ? 0 : (this.#heading.get(section) ?? 0));
  }

  headings(lines: readonly PricedLine[]): number {
    const sections = new Set(lines.map(({ item }) => item.section));
    return [...sections].reduce((sum, section) => sum + (this.#heading.get(section) ?? 0), 0);
  }

  take(line: PricedLine): void {
    if (this.#chosen.has(line)) return;
    const { section } = line.item;
    this.#taken += this.costOf(line);
    this.#shown.set(section, (this.#shown.get(section) ?? 0) + 1);
    this.#chosen.add(line);
  }

  /** The one that was taken last. */
  drop(): void {
    const last = [...this.#chosen].at(-1);
    if (last === undefined) return;
    const { section } = last.item;
    this.#chosen.delete(last);
    this.#shown.set(section, (this.#shown.get(section) ?? 0) - 1);
    this.#taken -= this.costOf(last);
  }

  get items(): ContextItem[] {
    return this.#sections().flatMap(([, lines]) => lines.map(({ item }) => item));
  }

  get text(): string {
    return this.#sections()
      .map(
        ([section, lines]) => headingOf(section) + lines.map(({ item }) => lineOf(item)).join(""),
      )
      .join("");
  }

  /** In the order of sections; in each, what binds most first, then by key. */
  #sections(): [ContextSection, PricedLine[]][] {
    return CONTEXT_SECTIONS.flatMap((section): [ContextSection, PricedLine[]][] => {
      const own = [...this.#chosen].filter(({ item }) => item.section === section);
      own.sort((a, b) => levelOf(a.item) - levelOf(b.item) || (a.item.key < b.item.key ? -1 : 1));
      return own.length === 0 ? [] : [[section, own]];
    });
  }
}

const LEVELS: readonly string[] = ["must", "should", "may"];
const levelOf = (item: ContextItem): number =>
  item.section === "constraints" ? LEVELS.indexOf(item.level) : 0;

/** Of a rule that must travel, enough to know which it is. */
const EXCERPT = 80;

function tooSmall(
  musts: readonly PricedLine[],
  { needed, budget, margin }: { readonly needed: number } & Pick<FitInput, "budget" | "margin">,
): BatonError {
  const atLeast = Math.ceil(needed / (1 - margin));
  const items = musts.map(({ item, tokens }) => ({
    name: nameOf(item),
    tokens,
    text: clip(item.section === "constraints" ? item.rule : "", EXCERPT),
  }));
  const free =
    margin === 0 ? "" : ` after ${margin * 100} % kept free for a model nobody can count for`;
  const what = items.length === 0 ? "The heading alone" : "What must be known";
  const named = items.length === 0 ? "" : ` Must: ${items.map(({ name }) => name).join(", ")}.`;
  return new BatonError("budget_too_small", {
    message: `${what} takes ${needed} tokens, ${needed - budget} more than the budget of ${budget}${free}.${named}`,
    path: "tokens",
    hint: `Give it at least ${atLeast} tokens${items.length === 0 ? "" : ", or retire or shorten musts"}.`,
    details: { budget, needed, over: needed - budget, atLeast, items },
  });
}
