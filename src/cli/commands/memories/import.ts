import { createReadStream } from "node:fs";
import { readFile } from "node:fs/promises";
import type { ImportReport } from "../../../archive/import.ts";
import type { DocumentReport } from "../../../archive/markdown/import-document.ts";
import { type Command, command, JSON_OPTION, STORE_OPTIONS } from "../../command.ts";
import { OK } from "../../exit.ts";
import { omitUndefined } from "../../options/omit-undefined.ts";
import { missingOption } from "../../parse.ts";
import { progressBar } from "../../progress.ts";
import { openExisting, openStore, type StoreChoice } from "../../store.ts";
import { dim, good, localTime, plural, printJson, printLine } from "../../terminal.ts";

export const importCommand: Command = command({
  name: "import",
  summary: "makes an export a workspace, whole and verified; or takes a MEMORY.md in",
  args: [{ name: "file", help: "what baton export wrote" }],
  options: {
    markdown: { type: "flag", help: "the file is a MEMORY.md (or any Markdown with notes)" },
    agent: { type: "text", value: "<name>", help: "with --markdown: who remembers what is new" },
    task: { type: "text", value: "<task>", help: "with --markdown: the task of new entries" },
    type: { type: "text", value: "<type>", help: "with --markdown: their type; else fact" },
    "dry-run": { type: "flag", help: "only check it, and say what would be done" },
    ...STORE_OPTIONS,
    ...JSON_OPTION,
  },

  async run({ args: [file = ""], options }) {
    const {
      markdown,
      "dry-run": dryRun = false,
      json = false,
      agent,
      task,
      type,
      ...choice
    } = options;
    if (!markdown) return importAll(file, { dryRun, json, choice });
    if (agent === undefined) throw missingOption(importCommand, "agent");
    const text = await textOf(file);
    await using hub = await openExisting(choice);
    const author = await hub.agent(agent);
    const report = await author.memories.importMarkdown(text, {
      dryRun,
      ...omitUndefined({ task, type }),
    });
    if (json) printJson({ file, dryRun, ...report });
    else printDocument(report, dryRun);
    return OK;
  },
});

interface ImportSettings {
  readonly dryRun: boolean;
  readonly json: boolean;
  readonly choice: StoreChoice;
}

/** Looked at before a store is opened for it: a bad file must not leave an empty one behind. */
async function importAll(file: string, { dryRun, json, choice }: ImportSettings): Promise<number> {
  const [{ checkFile }, { resolveLimits }] = await Promise.all([
    import("../../../archive/import.ts"),
    import("../../../base/limits.ts"),
  ]);
  const bar = progressBar("importing");
  const onProgress = ({ done, total }: { done: number; total: number }) => bar.show(done, total);
  try {
    const header = await checkFile({ limits: resolveLimits() }, file, { onProgress });
    const { workspace, exportedAt, counts } = header;
    if (dryRun) {
      bar.end();
      if (json) printJson({ file, dryRun, workspace, exportedAt, counts });
      else
        printLine(
          good(`${file} is whole: workspace ${workspace}, ${plural(counts.memory, "memory")}.`),
        );
      return OK;
    }
    await using hub = await openStore({ ...choice, workspace: choice.workspace ?? workspace });
    const report = await hub.archive.import(createReadStream(file), { onProgress });
    bar.end();
    if (json) printJson({ file, store: hub.store, ...report });
    else printImport(report, hub.store);
    return OK;
  } finally {
    bar.end();
  }
}

function printImport({ kind, workspace, counts, exportedAt }: ImportReport, store: string): void {
  const held = [
    plural(counts.agent, "agent"),
    plural(counts.memory, "memory"),
    plural(counts.envelope, "envelope"),
    plural(counts.delivery, "delivery"),
  ].join(", ");
  printLine(
    kind === "imported"
      ? good(`Workspace ${workspace} is in ${store}, and was verified.`)
      : good(`Workspace ${workspace} of ${store} has all of it already.`),
  );
  printLine(dim(`${held}; exported ${localTime(exportedAt)}`));
}

function printDocument({ taken, unchanged, redacted }: DocumentReport, dryRun: boolean): void {
  for (const { line, type, memory, supersedes } of taken) {
    const was = supersedes.length === 0 ? "new" : `supersedes ${supersedes.join(", ")}`;
    printLine(
      `${`line ${line}`.padEnd(10)} ${type}, ${was}${memory === undefined ? "" : dim(`  ${memory}`)}`,
    );
  }
  for (const { line, memory } of redacted) {
    printLine(`${`line ${line}`.padEnd(10)} left alone: ${memory} was redacted`);
  }
  const what = dryRun ? "to take in" : "taken in";
  printLine(good(`${taken.length} ${what}, ${unchanged} unchanged.`));
}

async function textOf(file: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    const { toFileError: fileFailure } = await import("../../../base/staged-file.ts");
    throw fileFailure(error, file);
  }
}
