/**
 * How many tokens a view may take, and who says so: the call, the envelope, the role's profile, the
 * receiver's window less what its own prompt, instructions and work need; else a default that fits
 * everywhere.
 */
import type { FullProfile } from "../../profiles/role-profiles.ts";
import type { Tokenizer } from "../../text/tokens.ts";
import type { ViewBudget, ViewReceiver } from "./view.ts";

/** For a receiver of which nothing is known: a few pages. */
export const DEFAULT_TOKENS = 4_000;

interface BudgetSources {
  /** By the call. */
  readonly tokens: number | undefined;
  /** By the sender. */
  readonly envelope: number | undefined;
  readonly profile: Pick<FullProfile, "reserve" | "tokens">;
  readonly receiver: Pick<ViewReceiver, "window">;
  readonly tokenizer: Omit<Tokenizer, "count">;
}

export function budgetOf(asked: BudgetSources): ViewBudget {
  const { name, exact, margin } = asked.tokenizer;
  return { ...resolveTokens(asked), tokenizer: name, exact, margin };
}

function resolveTokens({
  tokens,
  envelope,
  profile,
  receiver: { window },
}: BudgetSources): Pick<ViewBudget, "tokens" | "from"> {
  if (tokens !== undefined) return { tokens, from: "call" };
  const { system, instructions, work } = profile.reserve;
  const left = window && Math.max(1, Math.floor(window * (1 - system - instructions - work)));
  // Who sends may not know how small the window is; nothing larger than it can be read.
  const most = window ?? Number.MAX_SAFE_INTEGER;
  if (envelope !== undefined) return { tokens: Math.min(envelope, most), from: "envelope" };
  if (profile.tokens !== undefined)
    return { tokens: Math.min(profile.tokens, most), from: "profile" };
  if (left !== undefined) return { tokens: left, from: "window" };
  return { tokens: DEFAULT_TOKENS, from: "default" };
}

/** What the text may really count: less what is kept free for a count that is an estimate. */
export const usableTokens = ({ tokens, margin }: Pick<ViewBudget, "tokens" | "margin">): number =>
  Math.floor(tokens * (1 - margin));
