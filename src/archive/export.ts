/**
 * Exporting: a workspace as lines of text, of one moment, without loss. It holds everything, also
 * what is private to somebody, so it is an operator's act. Only one row is held at a time.
 */
import { createHash } from "node:crypto";
import { open } from "node:fs/promises";
import * as z from "zod";
import { BatonError } from "../base/errors.ts";
import { stageFile, toFileError } from "../base/staged-file.ts";
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

export interface ExportProgress {
  readonly done: number;
  readonly total: number;
}

const ExportSchema = z.strictObject({ onProgress: progressListener<ExportProgress>() });
const ExportToSchema = ExportSchema.extend({
  /** Replaces a file that is there. */
  force: z.boolean().default(false),
});

export type ExportOptions = z.input<typeof ExportSchema>;
export type ExportToOptions = z.input<typeof ExportToSchema>;

export interface ExportReport {
  readonly file: string;
  readonly workspace: string;
  readonly lines: number;
  readonly bytes: number;
  /** Of everything before the footer. */
  readonly sha256: string;
  readonly counts: RowCounts;
}

type ExportTotals = Pick<ExportReport, "lines" | "sha256" | "counts">;

/** How often progress is told, in rows. */
const PROGRESS_EVERY = 1_000;

/** Lines with their ends; what it returns after the last is what was in them. */
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
  // A row that belongs nowhere is counted and cannot be read: who imported this would lose it.
  if (counts === undefined || totalOf(counts) !== done) throw unreadable(counts, done);
  const { line, ...summed } = lines.footer();
  yield line;
  return { ...summed, counts };
}

const inKindOrder = (counts: RowCounts): RowCounts =>
  Object.fromEntries(ROW_KINDS.map((kind) => [kind, counts[kind]])) as RowCounts;

function unreadable(counts: RowCounts | undefined, done: number): BatonError {
  return new BatonError("store_corrupt", {
    message: `Only ${done} of ${counts === undefined ? 0 : totalOf(counts)} rows can be read.`,
    path: "workspace",
    hint: "Verify the store to see what is damaged, and restore a backup.",
  });
}

/** Where lines come from: a workspace at hand, or a hub elsewhere. */
export interface ExportSource {
  readonly workspace: string;
  lines(options: ExportOptions): AsyncGenerator<string, ExportTotals | undefined, undefined>;
}

/** Into a file, which appears when it is complete. */
export function exportToFile(
  workspace: Workspace,
  file: string,
  options: ExportToOptions = {},
): Promise<ExportReport> {
  const lines = (how: ExportOptions) => exportLines(workspace, how);
  return writeExport({ workspace: workspace.name, lines }, file, options);
}

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

/** An export that comes from elsewhere, passed on line by line; it must be whole when it ends. */
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
    message: `The export ended after ${lines} lines, before it was whole.`,
    path: "workspace",
    hint: "Export again.",
  });
}

/** What is gathered before it is written. */
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
    if (next.value === undefined) throw new Error("the export was ended before its footer");
    return { bytes, summed: next.value };
  }
}
