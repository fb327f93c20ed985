/** The command `baton import`: imports a whole workspace or a Markdown document. */
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
  summary: "Import an exported workspace, or the entries of a MEMORY.md",
  args: [{ name: "file", help: "file written by baton export, or a Markdown file" }],
  options: {
    markdown: { type: "flag", help: "import a MEMORY.md or any Markdown file with notes" },
    as: { type: "text", value: "<agent>", help: "with --markdown: author of new entries" },
    task: { type: "text", value: "<task>", help: "with --markdown: task of new entries" },
    type: {
      type: "text",
      value: "<type>",
      help: "with --markdown: type of new entries (default: fact)",
    },
    "dry-run": { type: "flag", help: "check the file and show what would be imported" },
    ...STORE_OPTIONS,
    ...JSON_OPTION,
  },

  async run({ args: [file = ""], options }) {
    const {
      markdown,
      "dry-run": dryRun = false,
      json = false,
      as,
      task,
      type,
      ...choice
    } = options;
    if (!markdown) return importAll(file, { dryRun, json, choice });
    if (as === undefined) throw missingOption(importCommand, "as");
    const text = await textOf(file);
    await using hub = await openExisting(choice);
    const author = await hub.agent(as);
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

/** Checks the file before it opens the store, so that an invalid file does not create an empty store. */
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
          good(`${file} is valid: workspace ${workspace}, ${plural(counts.memory, "memory")}.`),
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
      ? good(`Imported workspace ${workspace} into ${store} and verified it.`)
      : good(`Workspace ${workspace} of ${store} already contains this export.`),
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
    printLine(`${`line ${line}`.padEnd(10)} skipped: ${memory} was redacted`);
  }
  const what = dryRun ? "to import" : "imported";
  printLine(good(`${taken.length} ${what}, ${unchanged} unchanged.`));
}

async function textOf(file: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    const { toFileError: fileFailure } = await import("../../../base/files/staged-file.ts");
    throw fileFailure(error, file);
  }
}
