/** The command `baton prune`: delete traces and events according to the retention rules. */
import type { PruneReport } from "../../../memory/traces/prune.ts";
import { command, JSON_OPTION, STORE_OPTIONS } from "../../command.ts";
import { OK } from "../../exit.ts";
import { progressBar } from "../../progress.ts";
import { openExisting } from "../../store.ts";
import { bold, dim, plural, printJson, printLine } from "../../terminal.ts";

export const prune = command({
  name: "prune",
  summary: "Delete traces and events according to the retention rules",
  args: [],
  options: {
    "dry-run": { type: "flag", help: "show what would be deleted" },
    as: { type: "text", value: "<agent>", help: "agent that acts (default: the hub)" },
    ...STORE_OPTIONS,
    ...JSON_OPTION,
  },

  async run({ options }) {
    await using hub = await openExisting(options);
    const by = options.as === undefined ? hub : await hub.agent(options.as);
    const bar = progressBar("pruning");
    const report = await by.memories
      .prune({
        dryRun: options["dry-run"] ?? false,
        onProgress: ({ done, total }) => bar.show(done, total),
      })
      .finally(() => bar.end());
    if (options.json) printJson(report);
    else printReport(report);
    return OK;
  },
});

function printReport({ rules, dryRun, sessions, steps, events, bytes }: PruneReport): void {
  if (Object.keys(rules).length === 0) {
    printLine(dim("No retention rules: everything is kept. Set rules with baton retention."));
    return;
  }
  for (const { session, steps: gone, kept } of sessions) {
    const why = kept ? dim(", the other steps are referenced") : "";
    printLine(`  ${session}  ${plural(gone, "step")}${why}`);
  }
  const what = `${plural(steps, "step")} and ${plural(events, "event")}`;
  const size = `${Math.ceil(bytes / 1024)} KB`;
  printLine(
    dryRun
      ? `${bold("Would delete:")} ${what}, ${size}.`
      : `${bold("Deleted:")} ${what}, ${size} freed.`,
  );
}
