/** Counts tokens with a public tokenizer (o200k), the same for every way. */
import { countTokens as count } from "gpt-tokenizer/encoding/o200k_base";

export const countTokens = (text: string): number => count(text, { disallowedSpecial: new Set() });
