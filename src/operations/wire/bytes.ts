/** Encodes byte values of SQL parameters and rows in JSON, as `{ base64 }`. */

/** Returns bytes as `{ base64 }`, and any other value as it is. */
export const encodeBytes = (value: unknown): unknown =>
  value instanceof Uint8Array ? { base64: toBase64(value) } : value;

/** Returns the bytes of `{ base64 }`. Any other value is returned as it is; the SQL reader refuses it. */
export function decodeBytes(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  const [[name, text] = [], ...others] = Object.entries(value);
  if (name !== "base64" || typeof text !== "string" || others.length > 0) return value;
  return fromBase64(text) ?? value;
}

/** Bytes converted per call of String.fromCharCode, because each byte is one argument. */
const CHUNK = 8_192;

function toBase64(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += CHUNK) {
    text += String.fromCharCode(...bytes.subarray(at, at + CHUNK));
  }
  return btoa(text);
}

/** Returns undefined if the text is not base64 exactly as `toBase64` writes it. */
function fromBase64(text: string): Uint8Array | undefined {
  try {
    const characters = atob(text);
    if (btoa(characters) !== text) return undefined;
    return Uint8Array.from(characters, (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}
