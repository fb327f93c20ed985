/** The command `baton verify`: verify all records against their hashes and signatures. */
import type { VerifyReport } from "../../../store/verify-report.ts";
import { command, JSON_OPTION, STORE_OPTIONS } from "../../command.ts";
import { OK, VERIFY_FAILED } from "../../exit.ts";
import { progressBar } from "../../progress.ts";
import { openExisting } from "../../store.ts";
import { bad, dim, good, plural, printable, printJson, printLine } from "../../terminal.ts";

export const verify = command({
  name: "verify",
  summary: "Verify all records against their hashes and signatures",
  args: [],
  options: { ...STORE_OPTIONS, ...JSON_OPTION },

  async run({ options }) {
    await using hub = await openExisting(options);
    const bar = progressBar("verifying");
    const report = await hub
      .verify(({ checked, total }) => bar.show(checked, total))
      .finally(() => bar.end());
    const whole = report.problems.length === 0;
    if (options.json) printJson({ store: hub.store, workspace: hub.workspace, whole, ...report });
    else printReport(report, `${hub.store}, workspace ${hub.workspace}`);
    return whole ? OK : VERIFY_FAILED;
  },
});

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
