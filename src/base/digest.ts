/** Canonical JSON and the digest over it. */
import { hash } from "node:crypto";

export { canonicalJson } from "./canonical-json.ts";

export function sha256(text: string): string {
  return hash("sha256", text, "hex");
}
