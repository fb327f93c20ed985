/** Trims characters at the end of a text, in linear time: `/-+$/` starts again at every dash of the text. */

/** Returns the text without any of the characters at its end. */
export function trimEndOf(text: string, characters: string): string {
  let end = text.length;
  while (end > 0 && characters.includes(text.charAt(end - 1))) end--;
  return text.slice(0, end);
}
