/**
 * Counting tokens with a public tokenizer (o200k). Loaded on first use: its tables take a quarter
 * of a second, and most calls never count.
 */
type Count = (text: string) => number;

let loaded: Promise<Count> | undefined;

export function tokenCounter(): Promise<Count> {
  loaded ??= import("gpt-tokenizer/encoding/o200k_base").then(({ countTokens }) => {
    // Text that looks like a control token is text: stored content never steers the counter.
    return (text) => countTokens(text, { disallowedSpecial: new Set() });
  });
  return loaded;
}
