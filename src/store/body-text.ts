/**
 * Extracts the searchable body of a record: the text of a handoff or result beyond the content of its record.
 * That is every field of the envelope, its payload, and the data of the records that the hub writes about
 * deliveries (results, failures, receipts), as lines of text.
 *
 * Every store indexes and embeds this text, so a handoff is found the same way on all of them.
 */
import { clip } from "../base/clip.ts";
import type { TrailStep } from "./rows.ts";

/** One piece of body text and the envelope field it is from. */
export interface BodyLine {
  readonly field: string;
  readonly text: string;
  /** True for a value of a payload or of other free-form data. */
  readonly isFree: boolean;
}

/** The fields of a record that its body is made from. */
export interface BodySource {
  readonly content: string;
  readonly data?: unknown;
  readonly trail?: readonly TrailStep[] | undefined;
}

/**
 * How many characters of an envelope's fields are searched, and the same number again of its free-form parts
 * (payload, outputs, metadata, data); the first ones count. The terms of a body are read again for every
 * query it may match, so their number is limited.
 */
export const BODY_LENGTH = 16_000;

/**
 * Fields that are not searched by words: ids, routing and settings. Metadata is added in part by
 * `metadataOf`.
 */
const UNSEARCHED_FIELDS: ReadonlySet<string> = new Set([
  "budget",
  "from",
  "hop",
  "id",
  "joins",
  "mergeOnComplete",
  "metadata",
  "parents",
  "path",
  "policy",
  "priority",
  "queued",
  "receipt",
  "recent",
  "redacted",
  "strategy",
  "to",
  "version",
  "workspace",
]);

/** What this sender wrote, first: it must not be cut off when an envelope exceeds `BODY_LENGTH`. */
const PRIORITY_FIELDS = [
  "state",
  "next",
  "blocked",
  "decisions",
  "constraints",
  "failure",
  "expects",
  "done",
];

/** Fields with keys chosen by the author; the keys are searched as well. */
const FREE_FORM: ReadonlySet<string> = new Set(["data", "outputs"]);

const REFERENCE = /^(?:[a-z]{3}_[0-9a-f]{8}-[0-9a-f-]{27}|[0-9a-f]{64})$/;
/** A longer list of numbers is treated as a vector or a series: it has no words and many tokens. */
const MAX_NUMBERS = 16;

/** Returns whether a record can have a body (which may still be empty). */
const hasBody = (record: BodySource, envelope: string | undefined): boolean =>
  envelope !== undefined || (record.trail !== undefined && record.data !== undefined);

/** Returns the body of a record as lines. `envelope` is the text of the envelope it vouches for. */
export function bodyLines(record: BodySource, envelope: string | undefined): readonly BodyLine[] {
  if (!hasBody(record, envelope)) return [];
  const fields: BodyLine[] = [];
  const free: BodyLine[] = [];
  for (const [field, value] of fieldsOf(record, envelope)) {
    for (const item of listOf(value)) addItem({ fields, free }, field, item);
  }
  return [...clipLines(fields), ...clipLines(free)];
}

/**
 * Groups lines into the units that are matched together. Each entry of a field is a unit, because the next
 * handoff of the line repeats it. All free-form values form one unit, because one names what another is
 * about.
 */
export function bodyParts(lines: readonly BodyLine[]): string[] {
  const free = lines.filter(({ isFree }) => isFree).map(({ text }) => text);
  const fields = lines.filter(({ isFree }) => !isFree).map(({ text }) => text);
  return free.length === 0 ? fields : [...fields, free.join("\n")];
}

/** Returns the envelope's fields in reading order, then the record's data. */
function fieldsOf(record: BodySource, envelope: string | undefined): [string, unknown][] {
  const sealed = envelope === undefined ? {} : parseEnvelopeFields(envelope);
  const isKept = (field: string): boolean => {
    if (UNSEARCHED_FIELDS.has(field) || PRIORITY_FIELDS.includes(field)) return false;
    // The content of a handoff record repeats the intent.
    return field !== "intent" || !record.content.includes(String(sealed[field]));
  };
  return [
    ...PRIORITY_FIELDS.map((field): [string, unknown] => [field, sealed[field]]),
    ...Object.entries(sealed).filter(([field]) => isKept(field)),
    ["metadata", metadataOf(sealed)],
    ["result", resultOf(record)],
  ];
}

/** Leaves out the creation time, which the hub writes and which is not searched by words. */
function metadataOf({ metadata }: Record<string, unknown>): unknown {
  if (!isObject(metadata)) return undefined;
  const { createdAt: _createdAt, ...content } = metadata;
  return { data: content };
}

/** Returns data that the hub wrote. The data of other memories is not searched: it need not be text. */
function resultOf({ data, trail }: BodySource): unknown {
  if (trail === undefined || !isObject(data)) return undefined;
  const { outputs, ...rest } = data;
  return { outputs, data: rest };
}

/** Returns no fields if the text is damaged or was redacted. */
function parseEnvelopeFields(envelope: string): Record<string, unknown> {
  try {
    const sealed: unknown = JSON.parse(envelope);
    return isObject(sealed) && sealed["redacted"] === undefined ? sealed : {};
  } catch {
    return {};
  }
}

/** Returns whether the envelope of a record was redacted. Parses only texts with the mark; most have none. */
export function isEnvelopeRedacted(envelope: string | undefined): boolean {
  return (
    envelope?.includes('"redacted":{') === true && parseEnvelopeFields(envelope)["id"] === undefined
  );
}

/** Adds an entry of a field as one line, and its free-form parts as separate lines. */
function addItem(
  { fields, free }: { readonly fields: BodyLine[]; readonly free: BodyLine[] },
  field: string,
  item: unknown,
): void {
  const words: string[] = [];
  const visit = (value: unknown): void => {
    if (typeof value === "string") {
      if (!REFERENCE.test(value)) words.push(value);
    } else if (Array.isArray(value)) value.forEach(visit);
    else if (isObject(value)) {
      for (const [key, inner] of Object.entries(value)) {
        if (FREE_FORM.has(key)) free.push(...freeLines(field, inner));
        else visit(inner);
      }
    }
  };
  visit(item);
  if (words.length > 0) fields.push({ field, text: words.join("; "), isFree: false });
}

/** Returns one line per value, prefixed with the keys that lead to it: `refund limit: 500`. */
function freeLines(field: string, value: unknown, path: readonly string[] = []): BodyLine[] {
  const line = (text: string): BodyLine[] =>
    text === ""
      ? []
      : [{ field, text: [path.join(" "), text].filter(Boolean).join(": "), isFree: true }];
  if (Array.isArray(value)) {
    const plain = value.filter(isPlain);
    if (plain.length === value.length) return isVector(value) ? [] : line(plain.join(", "));
    return value.flatMap((item) => freeLines(field, item, path));
  }
  if (isObject(value)) {
    return Object.entries(value).flatMap(([key, inner]) => freeLines(field, inner, [...path, key]));
  }
  return isPlain(value) ? line(String(value)) : [];
}

const isVector = (list: readonly unknown[]): boolean =>
  list.length > MAX_NUMBERS && list.every((item) => typeof item === "number");

/** Yields lines up to `BODY_LENGTH` characters and cuts the one that exceeds it. */
function* clipLines(lines: readonly BodyLine[]): Iterable<BodyLine> {
  let left = BODY_LENGTH;
  for (const line of lines) {
    if (left <= 0) return;
    yield line.text.length <= left ? line : { ...line, text: clip(line.text, left) };
    left -= line.text.length + 1;
  }
}

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [value]);

const isPlain = (value: unknown): value is string | number | boolean =>
  (typeof value === "string" && !REFERENCE.test(value)) ||
  typeof value === "number" ||
  typeof value === "boolean";

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
