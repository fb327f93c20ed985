/**
 * A minimal tokenizer for SQLite queries. It finds where constants, quoted names and comments begin and end,
 * which placeholders the text contains, and what follows the first statement. It makes no security decisions:
 * the authorizer checks every text it produces.
 */

const TOKENS =
  /(?<skipped>\s+|--[^\n]*|\/\*[\s\S]*?(?:\*\/|$))|(?<quoted>'(?:[^']|'')*'|"(?:[^"]|"")*"|`(?:[^`]|``)*`|\[[^\]]*\])|(?<placeholder>\?\d*|[$:@#][\p{L}\p{N}_$]+)|(?<word>[\p{L}_][\p{L}\p{N}_$]*)|(?<number>\d[\p{L}\p{N}_.]*)|[\s\S]/gu;

type Token = Readonly<{
  kind: "skipped" | "quoted" | "placeholder" | "word" | "other";
  text: string;
}>;

function* tokensOf(text: string): Generator<Token> {
  for (const { 0: token, groups = {} } of text.matchAll(TOKENS)) {
    if (groups["skipped"] !== undefined) yield { kind: "skipped", text: token };
    else if (groups["quoted"] !== undefined) yield { kind: "quoted", text: token };
    else if (groups["placeholder"] !== undefined) yield { kind: "placeholder", text: token };
    else if (groups["word"] !== undefined) yield { kind: "word", text: token };
    else yield { kind: "other", text: token };
  }
}

/** Returns the first word in lower case; empty if the text starts with something else. */
export function firstWord(text: string): string {
  for (const token of tokensOf(text)) {
    if (token.kind === "skipped") continue;
    return token.kind === "word" ? token.text.toLowerCase() : "";
  }
  return "";
}

/** Returns whether the text contains only whitespace, comments and semicolons. */
export function isBlank(text: string): boolean {
  for (const { kind, text: token } of tokensOf(text)) {
    if (kind !== "skipped" && token !== ";") return false;
  }
  return true;
}

/** The text with numbered placeholders and the numbers used, or the first named placeholder (refused). */
export type PlaceholderResult =
  | { readonly kind: "numbered"; readonly text: string; readonly used: ReadonlySet<number> }
  | { readonly kind: "named"; readonly placeholder: string };

/** Numbers every placeholder: `?` gets the next number, `?2` and `$2` state theirs. */
export function numberPlaceholders(text: string): PlaceholderResult {
  const used = new Set<number>();
  let largest = 0;
  let numbered = "";
  for (const token of tokensOf(text)) {
    if (token.kind !== "placeholder") {
      numbered += token.text;
      continue;
    }
    const named = /^(?:\?|\$(?=\d))(\d*)$/.exec(token.text);
    if (named === null) return { kind: "named", placeholder: token.text };
    const number = named[1] === "" ? largest + 1 : Number(named[1]);
    largest = Math.max(largest, number);
    used.add(number);
    numbered += `$${number} `;
  }
  return { kind: "numbered", text: numbered, used };
}
