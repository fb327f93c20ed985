/**
 * Envelopes as they were sealed, read from their rows: the one place where a stored text becomes an
 * envelope, of whichever version it is. Once, however many look at it.
 */
import { ENVELOPE_MAJOR, type Envelope } from "../envelope/schema.ts";
import type { Form, Frame, Versions } from "../envelope/versions.ts";
import { isBatonError } from "../errors.ts";
import { type EnvelopeRow, parseText } from "./rows.ts";

/** A workspace, as far as reading goes. */
interface Reading {
  readonly versions: Versions;
}

const parsed = new WeakMap<object, { readonly by: Versions; readonly envelope: Envelope }>();

export function parseEnvelope(
  { versions }: Reading,
  row: Pick<EnvelopeRow, "id" | "text">,
): Envelope {
  const known = parsed.get(row);
  if (known?.by === versions) return known.envelope;
  const envelope = versions.read(parseText<Form>(row), row.id);
  parsed.set(row, { by: versions, envelope });
  return envelope;
}

/** Undefined: it is damaged, or of a version that cannot be read here. */
export function readableEnvelope(
  reading: Reading,
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
export const frameOf = (row: EnvelopeRow): Frame => parseText<Frame>(row);

/** How a text ends that has the shape hubs work with: nothing in it but the envelope ends so. */
const OWN_END = new RegExp(`^"version":"${ENVELOPE_MAJOR}\\.\\d+","workspace":"[^"\\\\]*"}$`);

/**
 * False: it says no such thing, and need not be parsed to know that. Only of a text in the shape hubs
 * work with; any other may say the same in other words.
 */
function mayHave({ text }: EnvelopeRow, piece: string): boolean {
  return text.includes(piece) || !OWN_END.test(text.slice(text.lastIndexOf('"version":"')));
}

/** What it expects, without parsing it when that is nothing. */
export function expectedOf(reading: Reading, row: EnvelopeRow): Envelope["expects"] {
  return mayHave(row, '"expects":[{') ? parseEnvelope(reading, row).expects : [];
}

/** The branch the work is done on. Most handoffs name none: no need to parse. */
export function branchOf(row: EnvelopeRow): string | undefined {
  return row.text.includes('"branch":') ? frameOf(row).branch : undefined;
}

/** What its work will touch. Most handoffs do not say: no need to parse. */
export function touchesOf(row: EnvelopeRow): readonly string[] {
  return row.text.includes('"touches":') ? (frameOf(row).touches ?? []) : [];
}

/** Whether accepting it takes a receipt. */
export function needsReceipt(reading: Reading, row: EnvelopeRow): boolean {
  return mayHave(row, '"receipt":true') && parseEnvelope(reading, row).receipt === true;
}

/** Whether its task is in the queue. Most are not: no need to parse. */
export function isQueued(row: EnvelopeRow): boolean {
  return row.text.includes('"queued":true') && frameOf(row).queued === true;
}

/** The failure it reports. Most handoffs report none: no need to parse. */
export function reportedIn(row: EnvelopeRow): Envelope["failure"] {
  return row.text.includes('"failure":{') ? frameOf(row).failure : undefined;
}

/** What it refers to and nobody could find. Most handoffs have no gaps: no need to parse. */
export function gapsOf(reading: Reading, row: EnvelopeRow): NonNullable<Envelope["gaps"]> {
  return mayHave(row, '"gaps":[{') ? (parseEnvelope(reading, row).gaps ?? []) : [];
}

/** Handoffs before it on its line. Without parsing: the canonical text has no key of that name before it. */
export function hopOf({ text }: EnvelopeRow): number {
  const [, hop = "0"] = /"hop":(\d+)/.exec(text) ?? [];
  return Number(hop);
}

/** Whether earlier handoffs may have reported something: it is a later hop, or has parents or an origin. */
export const continuesLine = (row: EnvelopeRow): boolean =>
  hopOf(row) > 0 || row.text.includes('"parents":["') || row.text.includes('"origin":"');
