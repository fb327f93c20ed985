/** Bytes among the values of SQL, as JSON carries them: `{ base64 }`. */

export const encodeBytes = (value: unknown): unknown =>
  value instanceof Uint8Array ? { base64: toBase64(value) } : value;

/** What does not have that form stays as it is, for the reader to refuse. */
export function decodeBytes(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  const [[name, text] = [], ...others] = Object.entries(value);
  if (name !== "base64" || typeof text !== "string" || others.length > 0) return value;
  return fromBase64(text) ?? value;
}

/** How many bytes are turned into characters at a time: each is an argument of one call. */
const CHUNK = 8_192;

function toBase64(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += CHUNK) {
    text += String.fromCharCode(...bytes.subarray(at, at + CHUNK));
  }
  return btoa(text);
}

/** Undefined where the text is not base64, or not as `toBase64` writes it. */
function fromBase64(text: string): Uint8Array | undefined {
  try {
    const characters = atob(text);
    if (btoa(characters) !== text) return undefined;
    return Uint8Array.from(characters, (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}
