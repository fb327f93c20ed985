/**
 * Returns the text, or its beginning and " …" if it is longer than `most` characters. Never cuts a surrogate
 * pair: no stored text may contain half a character.
 */
export function clip(text: string, most: number): string {
  if (text.length <= most) return text;
  const end = most - 2;
  return `${text.slice(0, isHighSurrogate(text.charCodeAt(end - 1)) ? end - 1 : end)} …`;
}

const isHighSurrogate = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff;
