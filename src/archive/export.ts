/**
 * Exports a workspace as lines of text: everything at one moment, without loss, including private records of
 * all agents. Only administrators may do this. Holds one row in memory at a time.
 */
import { createHash } from "node:crypto";
import { open } from "node:fs/promises";
import * as z from "zod";
import { BatonError } from "../base/errors.ts";
import { stageFile, toFileError } from "../base/files/staged-file.ts";
import { batonVersion } from "../base/version.ts";
import { ROW_KINDS, type RowCounts, totalOf } from "../store/archive.ts";
import type { Workspace } from "../workspace/workspace.ts";
import {
  EXPORT_FORMAT,
  EXPORT_VERSION,
  FooterSchema,
  HeaderSchema,
  LineWriter,
} from "./export-lines.ts";
import { checkedFile, checkedOptions, progressListener } from "./input-checks.ts";

/** Progress of an export, in rows. */
export interface ExportProgress {
  readonly done: number;
  readonly total: number;
}

const ExportSchema = z.strictObject({ onProgress: progressListener<ExportProgress>() });
const ExportToSchema = ExportSchema.extend({
  /** True: replace an existing file. Default: false. */
  force: z.boolean().default(false),
});

export type ExportOptions = z.input<typeof ExportSchema>;
export type ExportToOptions = z.input<typeof ExportToSchema>;

/** What was exported. */
export interface ExportReport {
  readonly file: string;
  readonly workspace: string;
  /** The number of lines, including header and footer. */
  readonly lines: number;
  readonly bytes: number;
  /** The SHA-256 of everything before the footer. */
  readonly sha256: string;
  /** The number of rows of each kind. */
  readonly counts: RowCounts;
}

type ExportTotals = Pick<ExportReport, "lines" | "sha256" | "counts">;

/** The interval of progress reports, in rows. */
const PROGRESS_EVERY = 1_000;

/**
 * Yields the lines of an export, each with its line end. Returns totals after the last line. Throws
 * `store_corrupt` if rows cannot be read.
 */
export async function* exportLines(
  workspace: Workspace,
  options: ExportOptions = {},
): AsyncGenerator<string, ExportTotals | undefined, undefined> {
  const { onProgress } = checkedOptions(ExportSchema, options);
  const { name, store, clock } = workspace;
  const lines = new LineWriter(EXPORT_FORMAT, name);
  let counts: RowCounts | undefined;
  let done = 0;
  for await (const item of store.exportWorkspace(name)) {
    if (item.kind === "summary") {
      counts = item.summary.counts;
      yield lines.header({
        ...{ kind: "header", format: EXPORT_FORMAT, version: EXPORT_VERSION },
        ...{ baton: batonVersion(), workspace: name, exportedAt: clock.now() },
        counts: inKindOrder(counts),
        heads: item.summary.heads,
        lastPlace: item.summary.lastPlace,
      });
      continue;
    }
    yield lines.row(item);
    if (++done % PROGRESS_EVERY === 0 && counts) onProgress?.({ done, total: totalOf(counts) });
  }
  // A row that belongs to no parent is counted but cannot be read; an import would lose it.
  if (counts === undefined || totalOf(counts) !== done) throw unreadable(counts, done);
  const { line, ...summed } = lines.footer();
  yield line;
  return { ...summed, counts };
}

const inKindOrder = (counts: RowCounts): RowCounts =>
  Object.fromEntries(ROW_KINDS.map((kind) => [kind, counts[kind]])) as RowCounts;

function unreadable(counts: RowCounts | undefined, done: number): BatonError {
  return new BatonError("store_corrupt", {
    message: `The store is damaged: only ${done} of ${counts === undefined ? 0 : totalOf(counts)} rows can be read.`,
    path: "workspace",
    hint: "Find the damage with hub.verify(), then restore a backup.",
  });
}

/** The source of the lines: a local workspace, or a hub over HTTP. */
export interface ExportSource {
  readonly workspace: string;
  lines(options: ExportOptions): AsyncGenerator<string, ExportTotals | undefined, undefined>;
}

/** Writes an export to a file, which appears only when it is complete. */
export function exportToFile(
  workspace: Workspace,
  file: string,
  options: ExportToOptions = {},
): Promise<ExportReport> {
  const lines = (how: ExportOptions) => exportLines(workspace, how);
  return writeExport({ workspace: workspace.name, lines }, file, options);
}

/** Writes the lines of a source to a file. Throws if the file exists, unless `force` is true. */
export async function writeExport(
  source: ExportSource,
  given: string,
  options: ExportToOptions,
): Promise<ExportReport> {
  const file = checkedFile(given);
  const { force, onProgress } = checkedOptions(ExportToSchema, options);
  const staged = stageFile(file, { replace: force });
  try {
    const handle = await open(staged.path, "w");
    const lines = source.lines({ onProgress });
    try {
      const { bytes, summed } = await writeAll(lines, (text) => handle.appendFile(text));
      staged.place();
      return { file, workspace: source.workspace, bytes, ...summed };
    } finally {
      await lines.return(undefined);
      await handle.close();
    }
  } catch (error) {
    throw toFileError(error, file);
  } finally {
    staged.discard();
  }
}

/**
 * Passes on the lines of an export from another hub. Throws `hub_unreachable` if it is incomplete at the end.
 */
export async function* relayLines(
  lines: AsyncIterable<string>,
  options: ExportOptions,
): AsyncGenerator<string, ExportTotals, undefined> {
  const { onProgress } = checkedOptions(ExportSchema, options);
  const hash = createHash("sha256");
  let counts: RowCounts | undefined;
  let last = "";
  let done = 0;
  for await (const line of lines) {
    counts ??= HeaderSchema.loose().parse(JSON.parse(line)).counts;
    hash.update(last);
    last = line;
    yield line;
    if (++done % PROGRESS_EVERY === 0) onProgress?.({ done, total: totalOf(counts) });
  }
  const footer = FooterSchema.loose().safeParse(last.endsWith("\n") ? JSON.parse(last) : undefined);
  const { lines: all, sha256 } = footer.data ?? {};
  if (counts === undefined || all !== done || sha256 !== hash.digest("hex")) throw cutOff(done);
  return { lines: done, sha256, counts };
}

function cutOff(lines: number): BatonError {
  return new BatonError("hub_unreachable", {
    message: `The export is incomplete: the connection ended after ${lines} lines.`,
    path: "workspace",
    hint: "Export again.",
  });
}

/** Text is collected up to this many characters before it is written. */
const WRITE_BYTES = 256 * 1024;

async function writeAll(
  lines: AsyncGenerator<string, ExportTotals | undefined, undefined>,
  write: (text: string) => Promise<void>,
): Promise<{ readonly bytes: number; readonly summed: ExportTotals }> {
  let bytes = 0;
  let text = "";
  for (;;) {
    const next = await lines.next();
    if (!next.done) text += next.value;
    if (next.done || text.length > WRITE_BYTES) {
      await write(text);
      bytes += Buffer.byteLength(text);
      text = "";
    }
    if (!next.done) continue;
    if (next.value === undefined) throw new Error("the export ended before its footer");
    return { bytes, summed: next.value };
  }
}
