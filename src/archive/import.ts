/**
 * Importing: an export becomes a workspace, whole or not at all. A file is read twice: first to see
 * that it is as it was written, holding up nobody, then into the store, which verifies what the rows
 * say before anybody sees them. Histories are never merged: a workspace that holds something else
 * is left alone.
 */
import { createReadStream } from "node:fs";
import * as z from "zod";
import { BatonError } from "../base/errors.ts";
import { toFileError } from "../base/staged-file.ts";
import { refuseStoreInUse } from "../base/store-in-use.ts";
import { type ImportProgress, type RowCounts, totalOf } from "../store/archive.ts";
import type { Workspace } from "../workspace/workspace.ts";
import type { ExportHeader } from "./export-lines.ts";
import { checkedFile, checkedOptions, progressListener } from "./input-checks.ts";
import { type Chunks, type ExportReader, readExport } from "./read-export.ts";

const ImportSchema = z.strictObject({
  onProgress: progressListener<{
    readonly phase: "reading" | ImportProgress["phase"];
    readonly done: number;
    readonly total: number;
  }>(),
});

export type ImportOptions = z.input<typeof ImportSchema>;

export const checkedImport = (options: ImportOptions): z.output<typeof ImportSchema> =>
  checkedOptions(ImportSchema, options);

export interface ImportReport {
  /** `already_there`: the workspace has this very history, perhaps with more after it. */
  readonly kind: "imported" | "already_there";
  readonly workspace: string;
  readonly exportedAt: number;
  readonly counts: RowCounts;
  /**
   * Not 0 where the numbers of the events were taken in the target's file by another workspace: all
   * of them are so much higher now.
   */
  readonly eventsMovedBy: number;
}

/** A path, or the bytes or lines themselves, which are then read once. */
export type ImportSource = string | Chunks;

export async function importExport(
  workspace: Workspace,
  given: ImportSource,
  options: ImportOptions = {},
): Promise<ImportReport> {
  const source = checkedSource(given);
  const { onProgress } = checkedImport(options);
  if (typeof source === "string") await checkFile(workspace, source, { onProgress });
  const read = await openSource(workspace, source);
  try {
    const { header } = read;
    requireSameName(workspace, header);
    const { counts, heads, lastPlace } = header;
    const archive = { summary: { counts, heads, lastPlace }, rows: read.rows() };
    const outcome = await workspace.store.importWorkspace(workspace.name, archive, onProgress);
    const report = { workspace: header.workspace, exportedAt: header.exportedAt, counts };
    switch (outcome.kind) {
      case "imported":
        return { kind: "imported", ...report, eventsMovedBy: outcome.eventsMovedBy };
      case "already_there":
        return { kind: "already_there", ...report, eventsMovedBy: 0 };
      case "not_empty":
        throw notEmpty(workspace, outcome.records);
      case "unsound":
        throw unsound(outcome.problems);
    }
  } finally {
    await read.close();
  }
}

export function checkedSource(source: ImportSource): ImportSource {
  if (typeof source === "string") return checkedFile(source, "source");
  const isThere = typeof source === "object" && source !== null;
  if (isThere && (Symbol.asyncIterator in source || Symbol.iterator in source)) return source;
  throw new BatonError("invalid_input", {
    message: "What to import is neither a path nor something to read lines from.",
    path: "source",
    hint: "Pass the path of a file, or a stream or list of texts or bytes, such as hub.archive.export().",
  });
}

/** Reads a file to its end: throws at the first line that is not as it was written. */
export async function checkFile(
  { limits }: Pick<Workspace, "limits">,
  file: string,
  { onProgress }: ImportOptions = {},
): Promise<ExportHeader> {
  const read = await openSource({ limits }, file);
  try {
    const total = totalOf(read.header.counts);
    let done = 0;
    for await (const _ of read.rows()) {
      if (++done % PROGRESS_EVERY === 0) onProgress?.({ phase: "reading", done, total });
    }
    return read.header;
  } catch (error) {
    throw toFileError(error, file);
  } finally {
    await read.close();
  }
}

const PROGRESS_EVERY = 1_000;

/** Which workspace a file is of, and how much it holds. What follows was not looked at. */
export async function readHeader(
  limits: Pick<Workspace, "limits">,
  file: string,
): Promise<ExportHeader> {
  const read = await openSource(limits, file);
  await read.close();
  return read.header;
}

async function openSource(
  { limits }: Pick<Workspace, "limits">,
  source: ImportSource,
): Promise<ExportReader> {
  if (typeof source !== "string") return readExport(source, { limits, name: "The export" });
  refuseStoreInUse(source);
  try {
    return await readExport(createReadStream(source), { limits, name: source });
  } catch (error) {
    throw toFileError(error, source);
  }
}

/** Every link of a chain is made with the name: under another, nothing would verify. */
function requireSameName(workspace: Workspace, header: ExportHeader): void {
  if (header.workspace === workspace.name) return;
  throw new BatonError("invalid_input", {
    message: `The export is of workspace "${header.workspace}", not of "${workspace.name}".`,
    path: "workspace",
    hint: `Import it as workspace "${header.workspace}" (--workspace ${header.workspace}): its chains are made with that name, and would not verify under another.`,
    details: { workspace: header.workspace },
  });
}

function notEmpty({ name, store }: Workspace, records: number): BatonError {
  return new BatonError("workspace_not_empty", {
    message: `Workspace "${name}" of ${store.name} has ${records} rows of another history.`,
    path: "workspace",
    hint: "Import into another store: histories are never merged. Nothing was changed.",
    details: { records },
  });
}

function unsound(
  problems: readonly { record: string; field: string; message: string }[],
): BatonError {
  const [first] = problems;
  const more = problems.length > 1 ? `, and ${problems.length - 1} more` : "";
  return new BatonError("invalid_export", {
    message: `The export contradicts itself: ${first?.record} ${first?.field}: ${first?.message}${more}.`,
    path: first?.record ?? "",
    hint: "It was made from a damaged store, or made up. Verify the store it came from. Nothing was changed.",
    details: { problems: problems.slice(0, 20) },
  });
}
