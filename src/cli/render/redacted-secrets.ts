/** Prints where secrets were redacted from the input and their kind, never the secrets. */
import type { DetectedSecret } from "../../envelope/mask-secrets.ts";
import { bad, oneLine, printLine } from "../terminal.ts";

/** Prints one line per redacted secret. */
export function printRedactedSecrets(secrets: readonly DetectedSecret[] = []): void {
  for (const { kind, path } of secrets) {
    printLine(bad(`  ${oneLine(`${path}: redacted a possible secret (${kind})`, 2)}`));
  }
}
