/**
 * Selects the items of the shared context that fit a token budget. All musts are included, or the call is
 * refused with their names; then the other items by weight, each with the heading it needs, as long as they
 * fit. Tokens are counted once per block and added up, which is exact (see render.ts).
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

/** An item and the tokens its line takes. */
export interface PricedLine {
  readonly item: ContextItem;
  readonly tokens: number;
}

/** Counts the tokens of an item's line. */
export function pricedLine(item: ContextItem, tokenizer: Tokenizer): PricedLine {
  return { item, tokens: lineTokens(tokenizer, item) };
}

/** What to fit, and into how much. */
export interface FitInput {
  readonly head: string;
  /** The number of items that are redacted or quarantined. */
  readonly gone: number;
  /** The candidates, heaviest first. */
  readonly lines: readonly PricedLine[];
  readonly tokenizer: Tokenizer;
  /** In tokens, after the margin. */
  readonly budget: number;
  /** The share of the requested tokens that was already subtracted as a margin, from 0 to 1. */
  readonly margin: number;
}

/** The rendered text and the items in it. */
export interface FitResult {
  readonly text: string;
  readonly tokens: number;
  readonly items: readonly ContextItem[];
  /** The items that did not fit. */
  readonly left: readonly PricedLine[];
}

/**
 * Includes all items if they fit; otherwise the musts, then the heaviest items that still fit. Throws
 * `budget_too_small` if the musts alone exceed the budget.
 */
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
  const tokensLeft =
    all + frame(lines.length) <= budget ? all : budget - Math.max(frame(0), frame(musts.length));
  for (const each of lines) if (page.taken + page.costOf(each) <= tokensLeft) page.take(each);
  // A footer with another number in it can take one token more.
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

/** Collects the chosen lines and counts their tokens, including headings. */
class PageBuilder {
  readonly #chosen = new Set<PricedLine>();
  /** The number of chosen lines per section. */
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

  /** Returns the tokens that the line would add; 0 if it is already chosen. */
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

  /** Removes the line that was added last. */
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

  /** Returns the lines by section; within a section, by level (must, should, may), then by key. */
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

/** The characters of a must-rule that identify it in the error. */
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
    margin === 0 ? "" : ` after a ${margin * 100} % margin for a model with an unknown tokenizer`;
  const what = items.length === 0 ? "The heading alone needs" : "The must-constraints need";
  const named = items.length === 0 ? "" : ` Must: ${items.map(({ name }) => name).join(", ")}.`;
  return new BatonError("budget_too_small", {
    message: `${what} ${needed} tokens, ${needed - budget} more than the budget of ${budget}${free}.${named}`,
    path: "tokens",
    hint: `Pass at least ${atLeast} tokens${items.length === 0 ? "" : ", or retire or shorten musts"}.`,
    details: { budget, needed, over: needed - budget, atLeast, items },
  });
}
