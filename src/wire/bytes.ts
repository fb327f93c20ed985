/** Bytes among the values of SQL, as JSON can say them: `{ base64 }`. */

export const bytesWritten = (value: unknown): unknown =>
  value instanceof Uint8Array ? { base64: Buffer.from(value).toString("base64") } : value;

/** What is no such form stays as it is, for whoever uses it to refuse. */
export function bytesRead(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  const [[name, text] = [], ...others] = Object.entries(value);
  if (name !== "base64" || typeof text !== "string" || others.length > 0) return value;
  const bytes = Buffer.from(text, "base64");
  return bytes.toString("base64") === text ? bytes : value;
}
