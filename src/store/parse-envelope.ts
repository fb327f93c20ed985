/**
 * Envelopes as they were sealed, read from their rows: the one place where a stored text becomes an
 * envelope, of whichever version it is. Once, however many look at it.
 */

import { isBatonError } from "../base/errors.ts";
import { ENVELOPE_MAJOR, type Envelope } from "../envelope/schema.ts";
import type { EnvelopeForm, EnvelopeVersions, StableFields } from "../envelope/versions.ts";
import { type EnvelopeRow, parseText } from "./rows.ts";

/** A workspace, as far as reading goes. */
interface EnvelopeReader {
  readonly versions: EnvelopeVersions;
}

const parsedEnvelopes = new WeakMap<
  object,
  { readonly by: EnvelopeVersions; readonly envelope: Envelope }
>();

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

/** Undefined: it is damaged, or of a version that cannot be read here. */
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

/** What of it is the same in every version, also in those that cannot be read here. */
export const stableFieldsOf = (row: EnvelopeRow): StableFields => parseText<StableFields>(row);

/** How a text ends that has the shape hubs work with: nothing in it but the envelope ends so. */
const CURRENT_MAJOR_END = new RegExp(
  `^"version":"${ENVELOPE_MAJOR}\\.\\d+","workspace":"[^"\\\\]*"}$`,
);

/** Fields that most envelopes leave out, or leave empty. */
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
 * False: the text does not have the field, and need not be parsed to know that. A payload that names it
 * counts too. All fields are looked for at once, since completing work asks for most of them: 2 µs for
 * 4 KB, and 14 one by one.
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

/** The same of what hubs of other versions may say in other words: only their own shape rules it out. */
function mayHave(row: EnvelopeRow, field: RareField): boolean {
  if (mentions(row, field)) return true;
  return !CURRENT_MAJOR_END.test(row.text.slice(row.text.lastIndexOf('"version":"')));
}

/** What it expects, without parsing it when that is nothing. */
export function expectedOutputsOf(reading: EnvelopeReader, row: EnvelopeRow): Envelope["expects"] {
  return mayHave(row, "expects") ? parseEnvelope(reading, row).expects : [];
}

/** The branch the work is done on. */
export function branchOf(row: EnvelopeRow): string | undefined {
  return mentions(row, "branch") ? stableFieldsOf(row).branch : undefined;
}

/** What its work will touch. */
export function touchesOf(row: EnvelopeRow): readonly string[] {
  return mentions(row, "touches") ? (stableFieldsOf(row).touches ?? []) : [];
}

/** Whether accepting it takes a receipt. */
export function needsReceipt(reading: EnvelopeReader, row: EnvelopeRow): boolean {
  return mayHave(row, "receipt") && parseEnvelope(reading, row).receipt === true;
}

/** Whether its task is in the queue. */
export function isQueued(row: EnvelopeRow): boolean {
  return mentions(row, "queued") && stableFieldsOf(row).queued === true;
}

/** The failure it reports. */
export function reportedFailureIn(row: EnvelopeRow): Envelope["failure"] {
  return mentions(row, "failure") ? stableFieldsOf(row).failure : undefined;
}

/** References that could not be resolved when it was sent. */
export function gapsOf(reading: EnvelopeReader, row: EnvelopeRow): NonNullable<Envelope["gaps"]> {
  return mayHave(row, "gaps") ? (parseEnvelope(reading, row).gaps ?? []) : [];
}

/** Handoffs before it on its line. Without parsing: the canonical text has no key of that name before it. */
export function hopOf({ text }: EnvelopeRow): number {
  const [, hop = "0"] = /"hop":(\d+)/.exec(text) ?? [];
  return Number(hop);
}

/** Whether earlier handoffs may have reported something: it is a later hop, or has parents or an origin. */
export const continuesLine = (row: EnvelopeRow): boolean =>
  hopOf(row) > 0 || mentions(row, "parents") || mentions(row, "origin");
