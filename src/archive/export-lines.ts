/**
 * The line format of an export: one JSON row per line, with two kinds of hashes. Every line ends with `sum`,
 * computed from its text and the sum of the line before, so that a change, a swap or a gap is detected at its
 * line. The footer has the SHA-256 of every byte before it (`head -n -1 file | sha256sum`).
 *
 * The header is not part of the sequence of sums: two exports of the same state differ only in the time in
 * the header.
 */
import { createHash } from "node:crypto";
import * as z from "zod";
import { sha256 } from "../base/digest.ts";
import { type ArchivedRow, ROW_KINDS, type RowCounts, type RowKind } from "../store/archive.ts";
import { AGENT_STATUSES, ATTEMPT_OUTCOMES, DELIVERY_STATES, EVENT_KINDS } from "../store/rows.ts";

/** The format of a full export, which can be imported. */
export const EXPORT_FORMAT = "baton-export";
/** The format of an export of some memories: for reading, cannot be imported. */
export const MEMORIES_FORMAT = "baton-memories";
/** The version of both formats. */
export const EXPORT_VERSION = 1;

/** The length of a sum, in hexadecimal characters. */
const SUM_LENGTH = 16;
const SUM = /,"sum":"([0-9a-f]{16})"\}$/;

/** Text that every store can hold: no NUL, no lone surrogates. */
const Text = z.string().refine((text) => text.isWellFormed() && !text.includes("\0"), {
  error: "contains NUL or a lone surrogate, which no store can hold",
});
const Count = z.int().min(0);
const Small = z.int32().min(0);
const Hash = z.string().regex(/^[0-9a-f]{64}$/);

const Counts = z.strictObject(
  Object.fromEntries(ROW_KINDS.map((kind) => [kind, Count])) as Record<
    keyof RowCounts,
    typeof Count
  >,
);

const HeadSchema = z.strictObject({ branch: Text, seq: Count, storedAt: Count, link: Hash });

/** The fields that identify the format, checked first, because a newer version may have other fields. */
export const FormatSchema = z.looseObject({
  kind: z.literal("header"),
  format: z.string(),
  version: z.int(),
});

/** The first line. */
export const HeaderSchema = z.strictObject({
  kind: z.literal("header"),
  format: z.literal(EXPORT_FORMAT),
  version: z.literal(EXPORT_VERSION),
  /** The version of Baton that wrote the file. */
  baton: z.string(),
  workspace: Text,
  exportedAt: Count,
  counts: Counts,
  heads: z.array(HeadSchema),
  lastPlace: Count,
});

export type ExportHeader = z.output<typeof HeaderSchema>;

/** The last line. */
export const FooterSchema = z.strictObject({
  kind: z.literal("footer"),
  /** The number of lines, including the header and this one. */
  lines: Count,
  sha256: Hash,
});

/** The fields of a row, by kind. */
export const ROW_SCHEMAS = {
  agent: z.strictObject({
    id: Text,
    status: z.enum(AGENT_STATUSES),
    role: Text,
    aliases: z.array(Text),
    publicKey: Text,
    keyedAt: Count,
    profile: Text,
    digest: Text,
    revision: Small,
  }),
  memory: z.strictObject({
    id: Text,
    branch: Text,
    seq: Count,
    storedAt: Count,
    text: Text,
    signature: Text,
    link: Text,
  }),
  envelope: z.strictObject({ id: Text, task: Text, sender: Text, text: Text, memory: Text }),
  delivery: z.strictObject({
    id: Text,
    envelope: Text,
    task: Text,
    sender: Text,
    receiver: Text,
    parent: Text,
    state: z.enum(DELIVERY_STATES),
    /** Urgent deliveries may have a place below 0. */
    place: z.int(),
    inTurn: z.boolean(),
    attempt: Small,
    maxAttempts: Small,
    fence: Small,
    leaseUntil: Count,
    holdUntil: Count,
    readyAt: Count,
    deadline: Count,
    lapseAt: Count,
    sentAt: Count,
    seenAt: Count,
    acceptedAt: Count,
    settledAt: Count,
    holder: Text,
    instance: Text,
    process: Text,
    acceptedBy: Text,
    settledBy: Text,
    followers: Text,
  }),
  attempt: z.strictObject({
    delivery: Text,
    attempt: Small,
    holder: Text,
    instance: Text,
    endedAt: Count,
    outcome: z.enum(ATTEMPT_OUTCOMES),
    reason: Text,
  }),
  entry: z.strictObject({
    kind: Text,
    name: Text,
    revision: Small,
    at: Count,
    value: Text,
    digest: Text,
  }),
  event: z.strictObject({
    number: Count,
    at: Count,
    kind: z.enum(EVENT_KINDS),
    agent: Text,
    task: Text,
    delivery: Text,
    envelope: Text,
    attempt: Small,
  }),
} as const;

/** Computes the sums of consecutive lines, for writing and for checking. */
export class LineChecksums {
  #sum: string;

  constructor(format: string, workspace: string) {
    this.#sum = sha256(JSON.stringify([format, EXPORT_VERSION, workspace]));
  }

  /** Returns the sum of the next line. */
  next(body: string): string {
    this.#sum = sha256(`${this.#sum}\n${body}`);
    return this.#sum.slice(0, SUM_LENGTH);
  }
}

/** Returns the sum of the header, which is not part of the sequence. */
export const headerSum = (body: string): string => sha256(body).slice(0, SUM_LENGTH);

/** Appends a sum to a line. */
export const withSum = (body: string, sum: string): string =>
  `${body.slice(0, -1)},"sum":"${sum}"}`;

/** Splits a line into its text before the sum and the sum; undefined if it has no sum. */
export function splitSum(
  line: string,
): { readonly body: string; readonly sum: string } | undefined {
  const [end, sum] = SUM.exec(line) ?? [];
  if (end === undefined || sum === undefined) return undefined;
  return { body: `${line.slice(0, -end.length)}}`, sum };
}

const FIELDS = new Map<RowKind, readonly string[]>(
  ROW_KINDS.map((kind) => [kind, Object.keys(ROW_SCHEMAS[kind].shape)]),
);

/** Orders the fields of a row, because every store lists them in a different order. */
function withFieldOrder(kind: RowKind, row: object): object {
  const given = row as Readonly<Record<string, unknown>>;
  return Object.fromEntries((FIELDS.get(kind) ?? []).map((field) => [field, given[field]]));
}

/** Writes the lines of an export: header, rows, footer. */
export class LineWriter {
  readonly #hash = createHash("sha256");
  readonly #sums: LineChecksums;
  #lines = 0;

  constructor(format: string, workspace: string) {
    this.#sums = new LineChecksums(format, workspace);
  }

  header(header: object): string {
    const body = JSON.stringify(header);
    return this.#line(body, headerSum(body));
  }

  row({ kind, row }: ArchivedRow): string {
    const body = JSON.stringify({ kind, row: withFieldOrder(kind, row) });
    return this.#line(body, this.#sums.next(body));
  }

  /** Returns the last line, and the digest of all lines before it. */
  footer(): { readonly line: string; readonly lines: number; readonly sha256: string } {
    const lines = this.#lines + 1;
    const digest = this.#hash.copy().digest("hex");
    const body = JSON.stringify({ kind: "footer", lines, sha256: digest });
    return { line: this.#line(body, this.#sums.next(body)), lines, sha256: digest };
  }

  #line(body: string, sum: string): string {
    const line = `${withSum(body, sum)}\n`;
    this.#hash.update(line);
    this.#lines++;
    return line;
  }
}
