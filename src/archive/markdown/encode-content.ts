/**
 * The content of a memory as lines of Markdown, and back to exactly what it was: whatever it
 * contains (headings, bullets, comments, blank lines, spaces at either end), it neither ends its
 * entry nor begins another. What a person types comes through as it would be rendered.
 */

/** A character that Markdown takes as it is after a backslash. */
const ESCAPED = /\\([!-/:-@[-`{-~])|&#(\d{1,7});/g;
/** Control characters and line ends other than ours: editors change them. */
const CONTROL = /[^\P{Cc}\t]|[\u2028\u2029\ufeff]/gu;
/** What begins a block at the start of a line. */
const HEADING_OR_QUOTE = /^(#{1,6}(?:\s|$)|>|={2,}\s*$|```|~~~)/;
const BULLET_OR_RULE = /^(?:[-+*](?:\s|$)|([-*_])(?:\s*\1){2,}\s*$)/;
const NUMBER = /^(\d{1,9})([.)])(?=\s|$)/;

const entity = (character: string): string => `&#${character.codePointAt(0)};`;

/** One string per line. The first is never empty. */
export function encodeContent(content: string): string[] {
  // Line breaks in front would leave a bullet without text.
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

/** A line as it was before, or as a person means it. */
export function decodeLine(line: string): string {
  return line.replace(ESCAPED, (whole, escaped?: string, number?: string) => {
    if (escaped !== undefined) return escaped;
    const code = Number(number);
    const known = code > 0 && code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff);
    return known ? String.fromCodePoint(code) : whole;
  });
}
