/**
 * The body of a record: what a handoff or a result says beyond the content of its record. Every field
 * of the envelope, its payload, and the data of the records that the hub writes about deliveries
 * (results, failures, receipts), as lines of text.
 *
 * Every store indexes and embeds this text, so that a handoff is found alike on all of them.
 */
import { clip } from "../base/clip.ts";
import type { TrailStep } from "./rows.ts";

/** One thing that is said, and the field it is said in. */
export interface BodyLine {
  readonly field: string;
  readonly text: string;
  /** A value of a payload or of other free-form data. */
  readonly isFree: boolean;
}

/** A record, as far as its body goes. */
export interface BodySource {
  readonly content: string;
  readonly data?: unknown;
  readonly trail?: readonly TrailStep[] | undefined;
}

/**
 * Characters that are searched of the fields of an envelope, and as many again of its free-form parts
 * (payload, outputs, metadata, data): the first ones. Terms of a body are read again for each question
 * it may answer, so their number is bounded.
 */
export const BODY_LENGTH = 16_000;

/** Ids, routing and settings are not asked for in words; of the metadata only a part is. */
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

/** Of an envelope that is longer than what is searched, what this sender says comes first. */
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

/** Objects whose keys are words of their author. */
const FREE_FORM: ReadonlySet<string> = new Set(["data", "outputs"]);

const REFERENCE = /^(?:[a-z]{3}_[0-9a-f]{8}-[0-9a-f-]{27}|[0-9a-f]{64})$/;
/** A longer list of numbers is a vector or a series: no words, and many tokens. */
const MAX_NUMBERS = 16;

/** Whether a record has a body, whatever it says. */
const hasBody = (record: BodySource, envelope: string | undefined): boolean =>
  envelope !== undefined || (record.trail !== undefined && record.data !== undefined);

/** The lines of a record's body. `envelope` is the text of the envelope it vouches for. */
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
 * What is matched together. Entries of a field each by itself: the next handoff of the line repeats
 * them. Values of a payload with those beside them: one names what the other is about.
 */
export function bodyParts(lines: readonly BodyLine[]): string[] {
  const free = lines.filter(({ isFree }) => isFree).map(({ text }) => text);
  const fields = lines.filter(({ isFree }) => !isFree).map(({ text }) => text);
  return free.length === 0 ? fields : [...fields, free.join("\n")];
}

/** The fields of the envelope in the order they are read, then the data of the record. */
function fieldsOf(record: BodySource, envelope: string | undefined): [string, unknown][] {
  const sealed = envelope === undefined ? {} : parseEnvelopeFields(envelope);
  const isKept = (field: string): boolean => {
    if (UNSEARCHED_FIELDS.has(field) || PRIORITY_FIELDS.includes(field)) return false;
    // The content of a handoff repeats it.
    return field !== "intent" || !record.content.includes(String(sealed[field]));
  };
  return [
    ...PRIORITY_FIELDS.map((field): [string, unknown] => [field, sealed[field]]),
    ...Object.entries(sealed).filter(([field]) => isKept(field)),
    ["metadata", metadataOf(sealed)],
    ["result", resultOf(record)],
  ];
}

/** Of the times that the hub notes down itself, none is asked for in words. */
function metadataOf({ metadata }: Record<string, unknown>): unknown {
  if (!isObject(metadata)) return undefined;
  const { createdAt: _createdAt, ...said } = metadata;
  return { data: said };
}

/** Data that the hub writes. Memories keep theirs to themselves: it need not be text. */
function resultOf({ data, trail }: BodySource): unknown {
  if (trail === undefined || !isObject(data)) return undefined;
  const { outputs, ...rest } = data;
  return { outputs, data: rest };
}

/** A damaged text says nothing, and one that was redacted says nothing any more. */
function parseEnvelopeFields(envelope: string): Record<string, unknown> {
  try {
    const sealed: unknown = JSON.parse(envelope);
    return isObject(sealed) && sealed["redacted"] === undefined ? sealed : {};
  } catch {
    return {};
  }
}

/** Whether the envelope of a record was redacted. Most were not, and need not be parsed. */
export function isEnvelopeRedacted(envelope: string | undefined): boolean {
  return (
    envelope?.includes('"redacted":{') === true && parseEnvelopeFields(envelope)["id"] === undefined
  );
}

/** One entry of a field is one line; what is free-form in it comes as lines of its own. */
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

/** Each value with the keys that lead to it: `refund limit: 500`. */
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

/** As many lines as fit; the one that does not is cut. */
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
