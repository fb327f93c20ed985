/** An envelope as it was sealed, read from its row; once, however many look at it. */
import type { Envelope } from "../envelope/schema.ts";
import { type EnvelopeRow, parseText } from "../store/rows.ts";

const parsed = new WeakMap<EnvelopeRow, Envelope>();

export function parseEnvelope(row: EnvelopeRow): Envelope {
  const known = parsed.get(row);
  if (known !== undefined) return known;
  const envelope = parseText<Envelope>(row);
  parsed.set(row, envelope);
  return envelope;
}
