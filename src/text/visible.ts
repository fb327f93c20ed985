/**
 * Makes visible what a text hides from its reader: control and format characters, zero-width characters,
 * direction overrides, tag characters, and marks that pass for a fence. Applied to every stored text that a
 * model reads, before its length is measured. Applying it again changes nothing.
 */
import { escapeNumberedMarks, escapeOf } from "./marks.ts";

/** Everything invisible but line feeds and tabs; also line separators, which some readers take for line feeds. */
const HIDDEN = /(?:(?![\n\t])[\p{Cc}\p{Cf}\p{Cs}\p{Default_Ignorable_Code_Point}\u2028\u2029])+/gu;

/** Only change the shape of the characters beside them, and are common in some scripts and in emojis. */
const SHAPING = /^(?:\p{Variation_Selector}|\u00ad|\u200c|\u200d|\ufeff)+$/u;

/** Returns a text as its reader should see it. */
export const visibleText = (text: string): string => escapeNumberedMarks(showHidden(text));

/**
 * Escapes hidden characters: `\u{202e}`. A run of them is shown as the first one and the number of the others,
 * so that hidden text does not become long. Characters that only affect shape are dropped.
 */
export const showHidden = (text: string): string =>
  text.replaceAll("\r\n", "\n").replace(HIDDEN, (run) => {
    if (SHAPING.test(run)) return "";
    const more = [...run].length - 1;
    return more === 0 ? escapeOf(run) : `${escapeOf(run)}+${more}`;
  });
