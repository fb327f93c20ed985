/** A text, or as much of it as fits; never half a character, which no stored text may have. */
export function clip(text: string, most: number): string {
  if (text.length <= most) return text;
  const end = most - 2;
  return `${text.slice(0, isHighSurrogate(text.charCodeAt(end - 1)) ? end - 1 : end)} …`;
}

const isHighSurrogate = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff;
