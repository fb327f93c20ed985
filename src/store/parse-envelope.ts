/**
 * Parses stored envelopes of every supported version and reads single fields without parsing where possible.
 * This is the only place where a stored text becomes an envelope; each row is parsed once, however many
 * readers it has.
 */

import { isBatonError } from "../base/errors.ts";
import { ENVELOPE_MAJOR, type Envelope } from "../envelope/schema.ts";
import type { EnvelopeForm, EnvelopeVersions, StableFields } from "../envelope/versions.ts";
import { type EnvelopeRow, parseText } from "./rows.ts";

/** The part of a workspace that parsing needs. */
interface EnvelopeReader {
  readonly versions: EnvelopeVersions;
}

const parsedEnvelopes = new WeakMap<
  object,
  { readonly by: EnvelopeVersions; readonly envelope: Envelope }
>();

/**
 * Returns the envelope of a row. Throws `store_corrupt` for damaged text, and if its version is not
 * supported.
 */
export function parseEnvelope(
  { versions }: EnvelopeReader,
  row: Pick<EnvelopeRow, "id" | "text">,
): Envelope {
  const known = parsedEnvelopes.get(row);
  if (known?.by === versions) return known.envelope;
  const envelope = versions.read(parseText<EnvelopeForm>(row), row.id);
  parsedEnvelopes.set(row, { by: versions, envelope });
  return envelope;
}

/** Returns undefined if the envelope is damaged or its version is not supported. */
export function tryParseEnvelope(
  reading: EnvelopeReader,
  row: Pick<EnvelopeRow, "id" | "text">,
): Envelope | undefined {
  try {
    return parseEnvelope(reading, row);
  } catch (error) {
    if (isBatonError(error)) return undefined;
    throw error;
  }
}

/** Returns the fields that are the same in every version, including versions that are not supported. */
export const stableFieldsOf = (row: EnvelopeRow): StableFields => parseText<StableFields>(row);

/** How the text of an envelope of the current major version ends; nothing nested in it ends the same way. */
const CURRENT_MAJOR_END = new RegExp(
  `^"version":"${ENVELOPE_MAJOR}\\.\\d+","workspace":"[^"\\\\]*"}$`,
);

/** Fields that most envelopes omit or leave empty. */
const RARE_FIELDS = [
  "branch",
  "expects",
  "failure",
  "gaps",
  "origin",
  "parents",
  "queued",
  "receipt",
  "touches",
] as const;
type RareField = (typeof RARE_FIELDS)[number];

const RARE = new RegExp(`"(${RARE_FIELDS.join("|")})":(?!\\[\\]|false)`, "g");
const rareFields = new WeakMap<EnvelopeRow, readonly string[]>();

/**
 * Returns false if the text does not contain the field, without parsing it. A payload that contains the name
 * counts as well. All fields are searched for at once, because completing work needs most of them: 2 µs for
 * 4 KB, and 14 µs one by one.
 */
function mentions(row: EnvelopeRow, field: RareField): boolean {
  const known = rareFields.get(row);
  if (known !== undefined) return known.includes(field);
  const found: string[] = [];
  RARE.lastIndex = 0;
  for (let match = RARE.exec(row.text); match !== null; match = RARE.exec(row.text)) {
    const [, named = ""] = match;
    if (!found.includes(named)) found.push(named);
  }
  rareFields.set(row, found);
  return found.includes(field);
}

/**
 * Like `mentions`, for fields that other versions may name differently: only the current version can exclude
 * them.
 */
function mayHave(row: EnvelopeRow, field: RareField): boolean {
  if (mentions(row, field)) return true;
  return !CURRENT_MAJOR_END.test(row.text.slice(row.text.lastIndexOf('"version":"')));
}

/** Returns the expected outputs; does not parse the envelope if it has none. */
export function expectedOutputsOf(reading: EnvelopeReader, row: EnvelopeRow): Envelope["expects"] {
  return mayHave(row, "expects") ? parseEnvelope(reading, row).expects : [];
}

/** Returns the branch the work is done on. */
export function branchOf(row: EnvelopeRow): string | undefined {
  return mentions(row, "branch") ? stableFieldsOf(row).branch : undefined;
}

/** Returns the files and resources the work will touch, as globs. */
export function touchesOf(row: EnvelopeRow): readonly string[] {
  return mentions(row, "touches") ? (stableFieldsOf(row).touches ?? []) : [];
}

/** Returns whether accepting it requires a receipt. */
export function needsReceipt(reading: EnvelopeReader, row: EnvelopeRow): boolean {
  return mayHave(row, "receipt") && parseEnvelope(reading, row).receipt === true;
}

/** Returns whether its task waits in the queue. */
export function isQueued(row: EnvelopeRow): boolean {
  return mentions(row, "queued") && stableFieldsOf(row).queued === true;
}

/** Returns the failure that it reports. */
export function reportedFailureIn(row: EnvelopeRow): Envelope["failure"] {
  return mentions(row, "failure") ? stableFieldsOf(row).failure : undefined;
}

/** Returns the references that could not be resolved when it was sent. */
export function gapsOf(reading: EnvelopeReader, row: EnvelopeRow): NonNullable<Envelope["gaps"]> {
  return mayHave(row, "gaps") ? (parseEnvelope(reading, row).gaps ?? []) : [];
}

/** Returns how many handoffs precede it on its line. No parsing: no earlier key of the text has that name. */
export function hopOf({ text }: EnvelopeRow): number {
  const [, hop = "0"] = /"hop":(\d+)/.exec(text) ?? [];
  return Number(hop);
}

/**
 * Returns whether earlier handoffs may have reported something: it is a later hop, or has parents or an
 * origin.
 */
export const continuesLine = (row: EnvelopeRow): boolean =>
  hopOf(row) > 0 || mentions(row, "parents") || mentions(row, "origin");
