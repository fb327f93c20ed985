/** An envelope as it was sealed, read from its row; once, however many look at it. */
import type { Envelope } from "../envelope/schema.ts";
import { type EnvelopeRow, parseText } from "../store/rows.ts";

const EXPECTS = '"expects":';

/**
 * What it expects, without parsing it when that is nothing. Canonical text has its keys in order, and
 * none before this one holds free-form data: the first of that name is the envelope's own.
 */
export function expectedOf(row: EnvelopeRow): Envelope["expects"] {
  const at = row.text.indexOf(EXPECTS) + EXPECTS.length;
  return row.text.startsWith("[]", at) ? [] : parseEnvelope(row).expects;
}

const parsed = new WeakMap<EnvelopeRow, Envelope>();

export function parseEnvelope(row: EnvelopeRow): Envelope {
  const known = parsed.get(row);
  if (known !== undefined) return known;
  const envelope = parseText<Envelope>(row);
  parsed.set(row, envelope);
  return envelope;
}
