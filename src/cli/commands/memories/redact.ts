import { readFileSync } from "node:fs";
import type { RedactReport, RedactTarget } from "../../../memory/redaction/redact.ts";
import { AS_OPTION, command, JSON_OPTION, STORE_OPTIONS } from "../../command.ts";
import { OK } from "../../exit.ts";
import { progressBar } from "../../progress.ts";
import { openExisting } from "../../store.ts";
import { bad, dim, good, plural, printable, printJson, printLine } from "../../terminal.ts";
import { usageError } from "../../usage-error.ts";

export const redact = command({
  name: "redact",
  summary: "takes a leaked secret away for good, by ids or wherever its text stands",
  args: [],
  options: {
    ...AS_OPTION,
    reason: { type: "text", value: "<text>", help: "why; stays on the chain", required: true },
    id: { type: "texts", value: "<id>", help: "a memory (mem_…) or an envelope (env_…)" },
    text: { type: "text", value: "<text>", help: "the secret itself" },
    stdin: { type: "flag", help: "reads the secret from standard input" },
    "dry-run": { type: "flag", help: "says what would be erased, and changes nothing" },
    ...STORE_OPTIONS,
    ...JSON_OPTION,
  },

  async run({ options }) {
    const { as, reason, json, "dry-run": dryRun = false, store, workspace } = options;
    const target = targetOf(options);
    await using hub = await openExisting({ store, workspace });
    const agent = await hub.agent(as);
    const bar = progressBar("redacting");
    const report = await agent.memories
      .redact(target, reason, {
        dryRun,
        onProgress: ({ checked, total }) => bar.show(checked, total),
      })
      .finally(() => bar.end());
    if (json) printJson(report);
    else printReport(report);
    return OK;
  },
});

interface TargetOptions {
  readonly id?: readonly string[] | undefined;
  readonly text?: string | undefined;
  readonly stdin?: boolean | undefined;
}

function targetOf({ id, text, stdin }: TargetOptions): RedactTarget {
  if ([id, text, stdin].filter((given) => given !== undefined).length !== 1) {
    throw usageError(
      "--id",
      "baton redact needs --id, --text or --stdin, one of them.",
      "Write --id mem_… for what holds the secret, or pipe the secret into baton redact --stdin.",
    );
  }
  if (id !== undefined) return { ids: [...id] };
  return { text: text ?? readSecretFromStdin() };
}

/** A secret that is typed into a command line stands in the shell's history. */
function readSecretFromStdin(): string {
  return readFileSync(0, "utf8").replace(/\r?\n$/, "");
}

const NOT_ERASED_REASONS = {
  already: "was redacted before",
  name: "has it in a name, which other records stand on",
  vouches: "is a record that others are believed because of",
  damaged: "cannot be read; see baton verify",
  version: "is of a version that a newer Baton can read",
} as const satisfies Record<RedactReport["left"][number]["why"], string>;

function printReport(report: RedactReport): void {
  const { dryRun, erased, left, hidden, records, beyond } = report;
  const count = erased.length + hidden.erased;
  const what = plural(count, "text");
  if (count === 0) printLine(dim("Nothing of it was found that is not redacted already."));
  else printLine(dryRun ? `${what} would be erased:` : good(`${what} erased:`));
  for (const { kind, id } of erased) printLine(printable(`  ${kind} ${id}`));
  if (hidden.erased > 0) printLine(`  and ${hidden.erased} that only others may see`);
  for (const { kind, id, why } of left)
    printLine(bad(printable(`  left: ${kind} ${id} ${NOT_ERASED_REASONS[why]}`)));
  if (hidden.left > 0) printLine(bad(`  left: ${hidden.left} that only others may see`));
  if (records.length > 0) printLine(dim(`recorded as ${records.join(", ")}`));
  if (dryRun) return;
  printLine("Out of reach, so change the secret as well:");
  for (const each of beyond) printLine(`  ${each}`);
}
