/** Which secrets were taken out of what was said: never what they were. */
import type { DetectedSecret } from "../../envelope/mask-secrets.ts";
import { bad, oneLine, printLine } from "../terminal.ts";

export function printRedactedSecrets(secrets: readonly DetectedSecret[] = []): void {
  for (const { kind, path } of secrets) {
    printLine(bad(`  ${oneLine(`${path}: looked like a secret (${kind}), and was redacted`, 2)}`));
  }
}
