/** The command `baton restore`: restore a store from a backup, after verifying it. */
import { command, JSON_OPTION, STORE_OPTIONS } from "../../command.ts";
import { OK } from "../../exit.ts";
import { progressBar } from "../../progress.ts";
import { addressOf } from "../../store.ts";
import { dim, good, plural, printJson, printLine } from "../../terminal.ts";

export const restore = command({
  name: "restore",
  summary: "Restore a store from a backup, after verifying it",
  args: [{ name: "file", help: "file written by baton backup" }],
  options: {
    force: { type: "flag", help: "replace an existing store, which is renamed and kept" },
    store: STORE_OPTIONS.store,
    ...JSON_OPTION,
  },

  async run({ args: [file = ""], options: { force = false, json, ...choice } }) {
    const address = await addressOf(choice);
    const { restore: restoreTo } = await import("../../../open/restore-store.ts");
    const bar = progressBar("restoring");
    const onProgress = ({ done, total }: { done: number; total: number }) => bar.show(done, total);
    const restored = await restoreTo(file, address, { force, onProgress }).finally(() => bar.end());
    if (json) {
      printJson(restored);
      return OK;
    }
    printLine(good(`Restored and verified ${file}.`));
    if (restored.kind === "workspace") {
      printLine(
        dim(`workspace ${restored.workspace}: ${plural(restored.counts.memory, "memory")}`),
      );
      return OK;
    }
    for (const { workspace, memories, deliveries } of restored.workspaces) {
      printLine(
        dim(`${workspace}: ${plural(memories, "memory")}, ${plural(deliveries, "delivery")}`),
      );
    }
    if (restored.kept !== undefined) printLine(`The previous store was kept as ${restored.kept}`);
    return OK;
  },
});
