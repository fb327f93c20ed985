/** Canonical JSON and the SHA-256 digest of a text. */
import { hash } from "node:crypto";

export { canonicalJson } from "./canonical-json.ts";

/** Returns the SHA-256 of a text as 64 hex digits. */
export function sha256(text: string): string {
  return hash("sha256", text, "hex");
}
