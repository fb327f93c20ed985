/**
 * Encodes the content of a memory as lines of Markdown, and decodes it to exactly the same content. Headings,
 * bullets, comments, blank lines and leading or trailing spaces in it neither end its entry nor begin
 * another. What a person types is decoded as Markdown renders it.
 */

/** A character that is literal in Markdown after a backslash. */
const ESCAPED = /\\([!-/:-@[-`{-~])|&#(\d{1,7});/g;
/** Control characters and line ends other than \n, which editors change. */
const CONTROL = /[^\P{Cc}\t]|[\u2028\u2029\ufeff]/gu;
/** What starts a block at the beginning of a line. */
const HEADING_OR_QUOTE = /^(#{1,6}(?:\s|$)|>|={2,}\s*$|```|~~~)/;
const BULLET_OR_RULE = /^(?:[-+*](?:\s|$)|([-*_])(?:\s*\1){2,}\s*$)/;
const NUMBER = /^(\d{1,9})([.)])(?=\s|$)/;

const entity = (character: string): string => `&#${character.codePointAt(0)};`;

/** Encodes content as lines. The first line is never empty. */
export function encodeContent(content: string): string[] {
  // Leading line breaks would leave a bullet without text.
  const [breaks = ""] = /^\n*/.exec(content) ?? [];
  const [first = "", ...rest] = content.slice(breaks.length).split("\n");
  return [entity("\n").repeat(breaks.length) + encodeLine(first), ...rest.map(encodeLine)];
}

function encodeLine(line: string): string {
  const text = line
    .replaceAll("\\", "\\\\")
    .replaceAll("&#", "\\&#")
    .replaceAll("<!--", "\\<!--")
    .replace(CONTROL, entity)
    .replace(/^\s/u, entity)
    .replace(/\s$/u, entity);
  if (HEADING_OR_QUOTE.test(text) || BULLET_OR_RULE.test(text)) return `\\${text}`;
  return text.replace(NUMBER, "$1\\$2");
}

/** Decodes a line that was encoded, or typed by a person. */
export function decodeLine(line: string): string {
  return line.replace(ESCAPED, (whole, escaped?: string, number?: string) => {
    if (escaped !== undefined) return escaped;
    const code = Number(number);
    const known = code > 0 && code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff);
    return known ? String.fromCodePoint(code) : whole;
  });
}
