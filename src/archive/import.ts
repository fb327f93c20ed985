/**
 * Imports an export as a workspace, completely or not at all. A file is read twice: first to check that it is
 * unchanged, without blocking other writers, then into the store, which verifies the rows before any reader
 * sees them. Histories are never merged: a workspace that has other content is not changed.
 */
import { createReadStream } from "node:fs";
import * as z from "zod";
import { BatonError } from "../base/errors.ts";
import { toFileError } from "../base/files/staged-file.ts";
import { refuseStoreInUse } from "../base/files/store-in-use.ts";
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

/** Returns checked import options. Throws `invalid_input`. */
export const checkedImport = (options: ImportOptions): z.output<typeof ImportSchema> =>
  checkedOptions(ImportSchema, options);

/** What was imported. */
export interface ImportReport {
  /** `already_there`: the workspace has the same history, possibly with more after it. */
  readonly kind: "imported" | "already_there";
  readonly workspace: string;
  /** When the export was made, in milliseconds since 1970. */
  readonly exportedAt: number;
  readonly counts: RowCounts;
  /**
   * How much the numbers of the events were increased; not 0 if another workspace of the target store used
   * them already.
   */
  readonly eventsMovedBy: number;
}

/** A path, or the bytes or lines themselves, which are read once. */
export type ImportSource = string | Chunks;

/**
 * Imports an export. Throws `invalid_export`, `workspace_not_empty`, and `invalid_input` if it is of another
 * workspace.
 */
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

/** Returns a checked import source. Throws `invalid_input`. */
export function checkedSource(source: ImportSource): ImportSource {
  if (typeof source === "string") return checkedFile(source, "source");
  const isThere = typeof source === "object" && source !== null;
  if (isThere && (Symbol.asyncIterator in source || Symbol.iterator in source)) return source;
  throw new BatonError("invalid_input", {
    message: "Invalid import source: expected a path, or an iterable of texts or bytes.",
    path: "source",
    hint: "Pass the path of an export file, or a stream such as hub.archive.export().",
  });
}

/**
 * Reads a file to its end and returns its header. Throws `invalid_export` at the first line that was changed.
 */
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

/** The interval of progress reports, in rows. */
const PROGRESS_EVERY = 1_000;

/** Returns the header of a file: its workspace and its counts. The rest of the file is not checked. */
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

/**
 * Throws if the names differ: every link of a chain includes the name of the workspace and would not verify
 * under another.
 */
function requireSameName(workspace: Workspace, header: ExportHeader): void {
  if (header.workspace === workspace.name) return;
  throw new BatonError("invalid_input", {
    message: `The export belongs to workspace "${header.workspace}" and cannot be imported into "${workspace.name}".`,
    path: "workspace",
    hint: `Import it into workspace "${header.workspace}" (--workspace ${header.workspace}), because its hash links include that name.`,
    details: { workspace: header.workspace },
  });
}

function notEmpty({ name, store }: Workspace, records: number): BatonError {
  return new BatonError("workspace_not_empty", {
    message: `Workspace "${name}" of ${store.name} is not empty: it has ${records} rows of another history.`,
    path: "workspace",
    hint: "Import into an empty store, because histories are never merged; nothing was changed.",
    details: { records },
  });
}

function unsound(
  problems: readonly { record: string; field: string; message: string }[],
): BatonError {
  const [first] = problems;
  const more = problems.length > 1 ? `, and ${problems.length - 1} more` : "";
  return new BatonError("invalid_export", {
    message: `The export is inconsistent: ${first?.record} ${first?.field}: ${first?.message}${more}.`,
    path: first?.record ?? "",
    hint: "Verify the store it was exported from (hub.verify()) and export again; nothing was changed.",
    details: { problems: problems.slice(0, 20) },
  });
}
