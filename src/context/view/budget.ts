/**
 * Determines the token budget of a view from the first of these that is set: the call, the envelope, the
 * role's profile, the receiver's context window minus what its own prompt, instructions and work need.
 * Otherwise it is `DEFAULT_TOKENS`. Values from envelope and profile are limited to the context window.
 */
import type { FullProfile } from "../../profiles/role-profiles.ts";
import type { Tokenizer } from "../../text/tokens.ts";
import type { ViewBudget, ViewReceiver } from "./view.ts";

/** Budget of a receiver without a known window: a few pages. */
export const DEFAULT_TOKENS = 4_000;

interface BudgetSources {
  /** From the call. */
  readonly tokens: number | undefined;
  /** From the sender. */
  readonly envelope: number | undefined;
  readonly profile: Pick<FullProfile, "reserve" | "tokens">;
  readonly receiver: Pick<ViewReceiver, "window">;
  readonly tokenizer: Omit<Tokenizer, "count">;
}

/** Returns the budget of a view, and where it comes from. */
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
  // A sender may not know how small the window is, and nothing larger can be read.
  const most = window ?? Number.MAX_SAFE_INTEGER;
  if (envelope !== undefined) return { tokens: Math.min(envelope, most), from: "envelope" };
  if (profile.tokens !== undefined)
    return { tokens: Math.min(profile.tokens, most), from: "profile" };
  if (left !== undefined) return { tokens: left, from: "window" };
  return { tokens: DEFAULT_TOKENS, from: "default" };
}

/** Returns the tokens that the text may take: the budget minus the margin for an estimated count. */
export const usableTokens = ({ tokens, margin }: Pick<ViewBudget, "tokens" | "margin">): number =>
  Math.floor(tokens * (1 - margin));
