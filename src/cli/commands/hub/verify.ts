/** The command `baton verify`: verify all records against their hashes and signatures. */
import type { VerifyOptions } from "../../../hub/verify.ts";
import type { VerifyReport } from "../../../store/verify-report.ts";
import { command, JSON_OPTION, STORE_OPTIONS } from "../../command.ts";
import { OK, VERIFY_FAILED } from "../../exit.ts";
import { readOptionFile, readPublicKey } from "../../options/key-file.ts";
import { progressBar } from "../../progress.ts";
import { openExisting } from "../../store.ts";
import { bad, dim, good, plural, printable, printJson, printLine } from "../../terminal.ts";
import { usageError } from "../../usage-error.ts";

export const verify = command({
  name: "verify",
  summary: "Verify all records against their hashes and signatures",
  args: [],
  options: {
    expect: {
      type: "text",
      value: "<head>",
      help: "head, or file of heads, that every chain must still contain (see baton head)",
    },
    "public-key": {
      type: "texts",
      value: "<key>",
      help: "require expected heads to be signed by this key (hex or file)",
    },
    ...STORE_OPTIONS,
    ...JSON_OPTION,
  },

  async run({ options }) {
    const expected = await expectedHeads(options.expect, options["public-key"]);
    await using hub = await openExisting(options);
    const bar = progressBar("verifying");
    const report = await hub
      .verify({ ...expected, onProgress: ({ checked, total }) => bar.show(checked, total) })
      .finally(() => bar.end());
    const whole = report.problems.length === 0;
    if (options.json) printJson({ store: hub.store, workspace: hub.workspace, whole, ...report });
    else printReport(report, `${hub.store}, workspace ${hub.workspace}`);
    return whole ? OK : VERIFY_FAILED;
  },
});

async function expectedHeads(
  expect: string | undefined,
  keys: readonly string[] | undefined,
): Promise<Pick<VerifyOptions, "expect" | "publicKeys">> {
  if (expect === undefined && keys !== undefined)
    throw usageError("--public-key", "--public-key requires --expect.", "Add --expect <head>.");
  if (expect === undefined) return {};
  const { parseHeads } = await import("../../../archive/heads.ts");
  const text = expect.trimStart().startsWith("{") ? expect : readOptionFile("--expect", expect);
  const publicKeys =
    keys && (await Promise.all(keys.map((key) => readPublicKey("--public-key", key))));
  return { expect: parseHeads(text), ...(publicKeys && { publicKeys }) };
}

function printReport(report: VerifyReport, where: string): void {
  const { memories, relations, envelopes, deliveries, agents, problems } = report;
  const read = [
    plural(memories, "memory"),
    plural(relations, "relation"),
    plural(envelopes, "envelope"),
    plural(deliveries, "delivery"),
    plural(agents, "agent"),
  ].join(", ");
  printLine(
    problems.length === 0
      ? good("No problems: all records match what was written.")
      : bad(`${plural(problems.length, "problem")}: some records differ from what was written.`),
  );
  for (const { record, field, message } of problems) {
    printLine(printable(`  ${record}  ${field}: ${message}`));
  }
  printLine(dim(`${read}; ${where}`));
}
