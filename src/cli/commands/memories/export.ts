/** The command `baton export`: exports the whole workspace, memories or a Markdown document. */
import { Readable } from "node:stream";
import type { MemoryExportQuery } from "../../../archive/memory-export-query.ts";
import type { Hub } from "../../../hub/hub.ts";
import { type Command, command, JSON_OPTION, STORE_OPTIONS } from "../../command.ts";
import { OK } from "../../exit.ts";
import { omitUndefined } from "../../options/omit-undefined.ts";
import { printText, writeTextFile } from "../../output.ts";
import { progressBar } from "../../progress.ts";
import { openExisting } from "../../store.ts";
import { dim, good, plural, printJson, printLine } from "../../terminal.ts";
import { usageError } from "../../usage-error.ts";

const FILTER_OPTIONS = ["as", "branch", "task", "type"] as const;

export const exportCommand: Command = command({
  name: "export",
  summary: "Export the workspace without loss, selected memories, or a MEMORY.md",
  args: [{ name: "file", help: "output file (default: stdout)", optional: true }],
  options: {
    markdown: { type: "flag", help: "export current memories as a Markdown document" },
    memories: { type: "flag", help: "export memories only; cannot be imported" },
    as: {
      type: "text",
      value: "<agent>",
      help: "with --markdown or --memories: what this agent may see",
    },
    branch: {
      type: "text",
      value: "<name>",
      help: "with --markdown or --memories: as seen on this branch",
    },
    task: {
      type: "text",
      value: "<task>",
      help: "with --markdown or --memories: only of this task",
    },
    type: {
      type: "text",
      value: "<type>",
      help: "with --markdown or --memories: only of this type",
    },
    force: { type: "flag", help: "overwrite an existing file" },
    ...STORE_OPTIONS,
    ...JSON_OPTION,
  },

  async run({ args: [file], options }) {
    const {
      markdown,
      memories,
      force = false,
      json = false,
      store,
      workspace,
      ...chosen
    } = options;
    if (json && file === undefined) throw jsonWithoutFile();
    const some = FILTER_OPTIONS.find((name) => chosen[name] !== undefined);
    if (some !== undefined && !markdown && !memories) throw filterNotAllowed(some);
    await using hub = await openExisting({ store, workspace });
    if (!markdown && !memories) return await exportAll(hub, { file, force, json });
    const { as, ...query } = chosen;
    const reader = as === undefined ? hub : await hub.agent(as);
    const wanted: MemoryExportQuery = omitUndefined(query);
    const text = markdown
      ? await reader.memories.exportMarkdown(wanted)
      : Readable.from(reader.memories.export(wanted));
    if (file === undefined) await printText(text);
    else await writeTextFile(file, { text, force });
    if (file !== undefined && json) printJson({ file, workspace: hub.workspace });
    else if (file !== undefined) printLine(good(`Written to ${file}.`));
    return OK;
  },
});

async function exportAll(
  hub: Hub,
  { file, force, json }: { file: string | undefined; force: boolean; json: boolean },
): Promise<number> {
  if (file === undefined) {
    await printText(Readable.from(hub.archive.export()));
    return OK;
  }
  const bar = progressBar("exporting");
  const report = await hub.archive
    .exportTo(file, { force, onProgress: ({ done, total }) => bar.show(done, total) })
    .finally(() => bar.end());
  if (json) printJson(report);
  else {
    const { counts, lines, bytes } = report;
    printLine(good(`Exported workspace ${report.workspace} to ${file}.`));
    printLine(
      dim(`${plural(counts.memory, "memory")}, ${plural(lines, "line")}, ${plural(bytes, "byte")}`),
    );
  }
  return OK;
}

const jsonWithoutFile = () =>
  usageError(
    "--json",
    "--json prints a report and requires an output file, because stdout contains the export.",
    "Add a file: baton export <file> --json.",
  );

const filterNotAllowed = (option: string) =>
  usageError(
    `--${option}`,
    `--${option} selects memories and does not apply to a full export.`,
    "Add --memories or --markdown, or omit the option.",
  );
