/** Renders docs/ERRORS.md from the table of error codes. */
import { ERROR_CODES } from "../src/base/errors.ts";

const INTRODUCTION = `# Errors

<!-- Written by \`npm run docs\` from src/base/errors.ts: change it there. -->

Three kinds of trouble are kept apart:

- **What a caller must expect** is a return value: a note of work that was lost returns \`{ kind: "kept" }\`,
  a wait that is over \`{ kind: "timeout" }\`.
- **What a caller did wrong, and what the world did** (disk, lock, foreign file) is a \`BatonError\` with one of the codes below.
  Settling work that its sender extended is one too (\`work_extended\`): the lease is kept, so read \`work.envelope\` and settle again.
- **What can only be a bug of Baton** is any other error. The command line exits with 70 then.

A \`BatonError\` has \`code\`, \`message\`, \`path\` (the place at fault: \`constraints[2].rule\`, or a file), \`hint\` (what to do, in
one sentence), \`retryable\`, \`violations\` (every broken rule at once, each with path, rule, message and hint) and \`details\`.
\`JSON.stringify(error)\` is its form on the wire. The command line prints message, path and hint, or that JSON with
\`--json\`, to stderr.

**Retryable** means that the same call can succeed later without a change. The last columns are the HTTP status, the JSON-RPC
error code and the exit code of the command line.`;

export function renderErrorReference(): string {
  const rows = Object.entries(ERROR_CODES).map(
    ([code, { meaning, retryable, exit, http, jsonRpc }]) =>
      `| \`${code}\` | ${meaning} | ${retryable ? "yes" : ""} | ${exit} | ${http} | ${jsonRpc} |`,
  );
  const head =
    "| code | meaning | retryable | exit code | HTTP | JSON-RPC |\n|---|---|---|---|---|---|";
  return `${INTRODUCTION}\n\n${head}\n${rows.join("\n")}\n`;
}
