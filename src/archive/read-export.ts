/**
 * Reads an export line by line and checks everything in it: sums, order, counts, the form of each row, and at
 * the end the hash over the whole file. Errors name the line. Consistency between rows is verified by the
 * store.
 */
import { createHash } from "node:crypto";
import type * as z from "zod";
import { BatonError } from "../base/errors.ts";
import type { Limits } from "../base/limits.ts";
import { type ArchivedRow, byCodePoint, ROW_KINDS, type RowKind } from "../store/archive.ts";
import {
  EXPORT_FORMAT,
  EXPORT_VERSION,
  type ExportHeader,
  FooterSchema,
  FormatSchema,
  HeaderSchema,
  headerSum,
  LineChecksums,
  MEMORIES_FORMAT,
  ROW_SCHEMAS,
  splitSum,
} from "./export-lines.ts";
import { type CreateLineError, type Line, splitLines } from "./split-lines.ts";

/** The bytes or texts of an export. */
export type Chunks = AsyncIterable<string | Uint8Array> | Iterable<string | Uint8Array>;

/** An export that is being read. */
export interface ExportReader {
  readonly header: ExportHeader;
  /** Yields the rows. Only reading to the end proves that the file is complete. */
  rows(): AsyncGenerator<ArchivedRow>;
  /** Stops reading early. */
  close(): Promise<void>;
}

/** Opens an export and checks its header. `name`: how error messages refer to it. Throws `invalid_export`. */
export async function readExport(
  chunks: Chunks,
  { limits, name }: { readonly limits: Limits; readonly name: string },
): Promise<ExportReader> {
  const refuse = lineErrorsFor(name);
  const lines = splitLines(chunks, { limits, refuse });
  const close = async (): Promise<void> => void (await lines.return(undefined));
  try {
    const first = await lines.next();
    if (first.done) throw refuse(1, "is missing; the file is empty");
    const header = headerOf(first.value, refuse);
    return { header, rows: () => rowsOf({ lines, header, first: first.value, refuse }), close };
  } catch (error) {
    await close();
    throw error;
  }
}

const lineErrorsFor =
  (name: string): CreateLineError =>
  (line, why, cause) =>
    new BatonError("invalid_export", {
      message: `${name}: line ${line} ${why}.`,
      path: `line ${line}`,
      hint: "Export again, or use another copy of the file; nothing was changed.",
      details: { line },
      cause,
    });

function headerOf(line: Line, refuse: CreateLineError): ExportHeader {
  const { body, sum } = partsOf(line, refuse);
  const format = FormatSchema.safeParse(parse(line, body, refuse));
  if (!format.success) throw refuse(1, "is not a header; the file is not a Baton export");
  const { format: what, version } = format.data;
  if (what === MEMORIES_FORMAT) throw lossy();
  if (what !== EXPORT_FORMAT)
    throw refuse(1, `has the format "${what}"; expected ${EXPORT_FORMAT}`);
  if (version !== EXPORT_VERSION) throw unknownVersion(version);
  if (sum !== headerSum(body)) throw refuse(1, "was changed: its checksum does not match");
  return parseWithSchema(HeaderSchema, JSON.parse(body), { line, refuse });
}

function lossy(): BatonError {
  return new BatonError("invalid_export", {
    message: "The file contains only memories (format baton-memories) and cannot be imported.",
    path: "line 1",
    hint: "Import a full export (baton export without --memories), or a MEMORY.md with --markdown.",
  });
}

function unknownVersion(version: number): BatonError {
  return new BatonError("invalid_export", {
    message: `The export has version ${version}; this version of Baton supports version ${EXPORT_VERSION}.`,
    path: "line 1",
    hint: "Upgrade with npm install batonpass@latest; nothing was changed.",
    details: { found: version, known: EXPORT_VERSION },
  });
}

interface ExportLines {
  readonly lines: AsyncGenerator<Line>;
  readonly header: ExportHeader;
  readonly first: Line;
  readonly refuse: CreateLineError;
}

async function* rowsOf({ lines, header, first, refuse }: ExportLines): AsyncGenerator<ArchivedRow> {
  const hash = createHash("sha256").update(first.bytes);
  const sums = new LineChecksums(header.format, header.workspace);
  const order = new RowOrderCheck(header, refuse);
  let ended = 0;
  let last = first.number;
  for await (const line of lines) {
    last = line.number;
    if (ended > 0) throw refuse(line.number, `follows the footer in line ${ended}`);
    const { body, sum } = partsOf(line, refuse);
    if (sum !== sums.next(body))
      throw refuse(line.number, "was changed or moved: its checksum does not match");
    const value = parse(line, body, refuse) as { readonly kind?: unknown; readonly row?: unknown };
    if (value.kind === "footer") {
      const footer = parseWithSchema(FooterSchema, value, { line, refuse });
      order.end(line.number);
      if (footer.lines !== line.number) throw refuse(line.number, `states ${footer.lines} lines`);
      if (footer.sha256 !== hash.digest("hex"))
        throw refuse(1, "was changed: the SHA-256 of the file does not match");
      ended = line.number;
      continue;
    }
    hash.update(line.bytes);
    const archived = rowOf(line, value, refuse);
    order.next(archived, line.number);
    yield archived;
  }
  if (ended === 0) throw refuse(last + 1, "is missing; the file ends before its footer");
}

function rowOf(
  line: Line,
  { kind, row }: { readonly kind?: unknown; readonly row?: unknown },
  refuse: CreateLineError,
): ArchivedRow {
  const known = ROW_KINDS.find((each) => each === kind);
  if (known === undefined) throw refuse(line.number, `has the unknown kind "${String(kind)}"`);
  const checkedRow = parseWithSchema(ROW_SCHEMAS[known] as z.ZodType, row, { line, refuse });
  return { kind: known, row: checkedRow } as ArchivedRow;
}

/** Fatal, because text that is not UTF-8 was changed. */
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function partsOf(
  line: Line,
  refuse: CreateLineError,
): { readonly body: string; readonly sum: string } {
  let text: string;
  try {
    text = utf8.decode(line.bytes.subarray(0, -1));
  } catch (cause) {
    throw refuse(line.number, "is not UTF-8", cause);
  }
  const parts = splitSum(text);
  if (parts !== undefined) return parts;
  const isFirst = line.number === 1;
  throw refuse(
    line.number,
    isFirst ? "is not a header; the file is not a Baton export" : "has no checksum",
  );
}

function parse(line: Line, body: string, refuse: CreateLineError): unknown {
  try {
    return JSON.parse(body);
  } catch (cause) {
    throw refuse(line.number, "is not JSON", cause);
  }
}

function parseWithSchema<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  { line, refuse }: { readonly line: Line; readonly refuse: CreateLineError },
): z.output<Schema> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  throw refuse(line.number, `has an invalid ${issue?.path.join(".") || "form"}: ${issue?.message}`);
}

/** Checks that kinds and rows are in order, and that the counts match the header. */
class RowOrderCheck {
  readonly #counts: ExportHeader["counts"];
  readonly #seen = Object.fromEntries(ROW_KINDS.map((kind) => [kind, 0])) as Record<
    RowKind,
    number
  >;
  readonly #refuse: CreateLineError;
  #previous: ArchivedRow | undefined;

  constructor({ counts }: ExportHeader, refuse: CreateLineError) {
    this.#counts = counts;
    this.#refuse = refuse;
  }

  next(row: ArchivedRow, line: number): void {
    const before = this.#previous;
    this.#previous = row;
    if (++this.#seen[row.kind] > this.#counts[row.kind]) {
      throw this.#refuse(line, `has a row of kind ${row.kind} more than the header states`);
    }
    if (before === undefined) return;
    if (ROW_KINDS.indexOf(row.kind) < ROW_KINDS.indexOf(before.kind)) {
      throw this.#refuse(line, `is out of order: ${row.kind} after ${before.kind}`);
    }
    if (!follows(before, row)) throw this.#refuse(line, "is out of order or duplicated");
  }

  end(line: number): void {
    for (const kind of ROW_KINDS) {
      if (this.#seen[kind] === this.#counts[kind]) continue;
      const counted = `${this.#counts[kind]} rows of kind ${kind}`;
      throw this.#refuse(line, `follows only ${this.#seen[kind]} of ${counted}`);
    }
  }
}

/**
 * Returns true if a row may follow another. Memories and envelopes are in the order of storing, which their
 * fields do not show.
 */
function follows(before: ArchivedRow, row: ArchivedRow): boolean {
  if (before.kind === "agent" && row.kind === "agent") return isBefore(before.row.id, row.row.id);
  if (before.kind === "delivery" && row.kind === "delivery")
    return isBefore(before.row.id, row.row.id);
  if (before.kind === "event" && row.kind === "event") return before.row.number < row.row.number;
  if (before.kind === "entry" && row.kind === "entry") {
    const [a, b] = [before.row, row.row];
    return a.kind === b.kind ? isBefore(a.name, b.name) : isBefore(a.kind, b.kind);
  }
  if (before.kind === "attempt" && row.kind === "attempt") {
    const [a, b] = [before.row, row.row];
    return a.delivery === b.delivery ? a.attempt < b.attempt : isBefore(a.delivery, b.delivery);
  }
  return true;
}

const isBefore = (a: string, b: string): boolean => byCodePoint(a, b) < 0;
