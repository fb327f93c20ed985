/** The command `baton redact`: erases records by id or by the text of a secret. */
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
  summary: "Erase a leaked secret permanently, by ids or by its text",
  args: [],
  options: {
    ...AS_OPTION,
    reason: { type: "text", value: "<text>", help: "reason, stored on the chain", required: true },
    id: { type: "texts", value: "<id>", help: "memory (mem_…) or envelope (env_…) to erase" },
    text: { type: "text", value: "<text>", help: "secret to find and erase" },
    stdin: { type: "flag", help: "read the secret from standard input" },
    "dry-run": { type: "flag", help: "show what would be erased" },
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
      "baton redact needs exactly one of --id, --text and --stdin.",
      "Pass --id mem_… of the record that contains the secret, or pipe the secret into baton redact --stdin.",
    );
  }
  if (id !== undefined) return { ids: [...id] };
  return { text: text ?? readSecretFromStdin() };
}

/** Reads the secret from stdin, because an option value would end up in the shell history. */
function readSecretFromStdin(): string {
  return readFileSync(0, "utf8").replace(/\r?\n$/, "");
}

const NOT_ERASED_REASONS = {
  already: "is already redacted",
  name: "contains it in a name that other records depend on",
  vouches: "is needed to verify other records",
  damaged: "cannot be read; see baton verify",
  version: "has a version that requires a newer Baton",
} as const satisfies Record<RedactReport["left"][number]["why"], string>;

function printReport(report: RedactReport): void {
  const { dryRun, erased, left, hidden, records, beyond } = report;
  const count = erased.length + hidden.erased;
  const what = plural(count, "text");
  if (count === 0) printLine(dim("No matching text that is not already redacted."));
  else printLine(dryRun ? `${what} would be erased:` : good(`${what} erased:`));
  for (const { kind, id } of erased) printLine(printable(`  ${kind} ${id}`));
  if (hidden.erased > 0) printLine(`  and ${hidden.erased} not visible to you`);
  for (const { kind, id, why } of left)
    printLine(bad(printable(`  not erased: ${kind} ${id} ${NOT_ERASED_REASONS[why]}`)));
  if (hidden.left > 0) printLine(bad(`  not erased: ${hidden.left} not visible to you`));
  if (records.length > 0) printLine(dim(`Recorded as ${records.join(", ")}`));
  if (dryRun) return;
  printLine("Also rotate the secret. Baton cannot erase it from:");
  for (const each of beyond) printLine(`  ${each}`);
}
