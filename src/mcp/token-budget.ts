/** Keeping to a number of tokens: whole items as far as they fit; of the rest it is said how many there are. */

import type { Agent } from "../hub/agent.ts";
import { tokenizerFor } from "../text/tokens.ts";

/** How the reader counts, and how much of a budget it can use. */
export interface TokenCounter {
  readonly count: (text: string) => number;
  /** What of so many tokens may be used: less where its model's way of counting is not known. */
  readonly usable: (tokens: number) => number;
}

export async function tokenCounterFor({ info }: Agent): Promise<TokenCounter> {
  const { count, margin } = await tokenizerFor(info.model);
  // Without a model nobody knows how it counts: then the budget is one of o200k.
  const free = info.model === undefined ? 0 : margin;
  return { count, usable: (tokens) => Math.floor(tokens * (1 - free)) };
}

export interface Item {
  readonly id: string;
  readonly text: string;
}

export interface FittedText {
  readonly text: string;
  readonly shown: readonly string[];
  readonly omitted: readonly string[];
}

interface TextItems {
  readonly items: readonly Item[];
  /** What is said when there are none. */
  readonly none: string;
  /** How to get the rest, said when there is one. */
  readonly more: string;
}

/** The items that fit, in their order. That some were left out is said even where there is no room for it. */
export function fitItems(
  { items, none, more }: TextItems,
  meter: TokenCounter,
  tokens: number,
): FittedText {
  if (items.length === 0) return { text: none, shown: [], omitted: [] };
  const all = items.map(({ text }) => text).join("\n");
  if (meter.count(all) <= meter.usable(tokens)) {
    return { text: all, shown: items.map(({ id }) => id), omitted: [] };
  }
  const footFor = (left: number): string => `(${left} left out for want of room. ${more})`;
  let room = meter.usable(tokens) - meter.count(footFor(items.length));
  const shown: Item[] = [];
  for (const item of items) {
    const takes = meter.count(`${item.text}\n`);
    if (takes > room) continue;
    room -= takes;
    shown.push(item);
  }
  const kept = new Set(shown);
  const omitted = items.filter((item) => !kept.has(item)).map(({ id }) => id);
  const foot = omitted.length === 0 ? [] : [footFor(omitted.length)];
  return {
    text: [...shown.map(({ text }) => text), ...foot].join("\n"),
    shown: shown.map(({ id }) => id),
    omitted,
  };
}
