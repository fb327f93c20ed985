/** Which secrets were taken out of what was said: never what they were. */
import type { SecretAt } from "../../envelope/secrets-within.ts";
import { bad, oneLine, say } from "../terminal.ts";

export function sayRedacted(secrets: readonly SecretAt[] = []): void {
  for (const { kind, path } of secrets) {
    say(bad(`  ${oneLine(`${path}: looked like a secret (${kind}), and was redacted`, 2)}`));
  }
}
