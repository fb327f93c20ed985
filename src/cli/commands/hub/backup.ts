/** The command `baton backup`: copy the store while it is in use, and verify the copy. */
import type { BackupReport } from "../../../archive/backup.ts";
import { command, JSON_OPTION, STORE_OPTIONS } from "../../command.ts";
import { OK } from "../../exit.ts";
import { progressBar } from "../../progress.ts";
import { openExisting } from "../../store.ts";
import { dim, good, plural, printJson, printLine } from "../../terminal.ts";

export const backup = command({
  name: "backup",
  summary: "Copy the store while it is in use, and verify the copy",
  args: [{ name: "file", help: "output file; must not exist" }],
  options: { ...STORE_OPTIONS, ...JSON_OPTION },

  async run({ args: [file = ""], options: { json, ...choice } }) {
    await using hub = await openExisting(choice);
    const bar = progressBar("backing up");
    const report = await hub.archive
      .backup(file, { onProgress: ({ done, total }) => bar.show(done, total) })
      .finally(() => bar.end());
    if (json) printJson({ store: hub.store, ...report });
    else printReport(report, hub.store);
    return OK;
  },
});

function printReport(report: BackupReport, store: string): void {
  const { file, bytes } = report;
  if (report.kind === "workspace") {
    printLine(
      good(`Backed up workspace ${report.workspace} of ${store} to ${file}, as an export.`),
    );
    printLine(dim(`${plural(report.counts.memory, "memory")}, ${plural(bytes, "byte")}`));
    return;
  }
  printLine(good(`Backed up ${store} to ${file} and verified the copy.`));
  for (const { workspace, memories, deliveries } of report.workspaces) {
    printLine(
      dim(`${workspace}: ${plural(memories, "memory")}, ${plural(deliveries, "delivery")}`),
    );
  }
}
