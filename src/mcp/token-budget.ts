/** Fits a list of items into a token budget: whole items only, followed by the number of omitted ones. */

import type { Agent } from "../hub/agent.ts";
import { tokenizerFor } from "../text/tokens.ts";

/** Counts tokens as the reading model does. */
export interface TokenCounter {
  readonly count: (text: string) => number;
  /** Returns the usable part of a budget: less if the tokenizer of the model is only estimated. */
  readonly usable: (tokens: number) => number;
}

/** Returns the token counter for the agent's model. */
export async function tokenCounterFor({ info }: Agent): Promise<TokenCounter> {
  const { count, margin } = await tokenizerFor(info.model);
  // Without a model the tokenizer is unknown: the budget is then counted in o200k tokens.
  const free = info.model === undefined ? 0 : margin;
  return { count, usable: (tokens) => Math.floor(tokens * (1 - free)) };
}

/** One item of a list. */
export interface Item {
  readonly id: string;
  readonly text: string;
}

/** The text that fits, and the ids of shown and omitted items. */
export interface FittedText {
  readonly text: string;
  readonly shown: readonly string[];
  readonly omitted: readonly string[];
}

interface TextItems {
  readonly items: readonly Item[];
  /** The text if there are no items. */
  readonly none: string;
  /** How to get omitted items; appended if there are any. */
  readonly more: string;
}

/** Returns the items that fit, in order. The note about omitted items is added even if it does not fit. */
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
  const footFor = (left: number): string => `(${left} did not fit. ${more})`;
  let tokensLeft = meter.usable(tokens) - meter.count(footFor(items.length));
  const shown: Item[] = [];
  for (const item of items) {
    const takes = meter.count(`${item.text}\n`);
    if (takes > tokensLeft) continue;
    tokensLeft -= takes;
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
