/** Returns a new idempotency key. Not `crypto.randomUUID()`: browsers have it on https pages only. */
export function newCallKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
