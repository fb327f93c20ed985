/**
 * What an envelope has that this Baton does not know: fields of a later version, or of somebody else. A
 * receiver leaves them alone, and whoever passes the envelope on passes them on as well.
 */
import { type Envelope, EnvelopeSchema, KnownEnvelope } from "./schema.ts";

const KNOWN = new Set(Object.keys(EnvelopeSchema.shape));

/** Its own fields that are not known; what is inside known ones goes where those go. */
export function unknownFields(envelope: Partial<Envelope>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(envelope).filter(([name]) => !KNOWN.has(name)));
}

/** The envelope without anything unknown, at any depth. */
export const knownOf = (envelope: Envelope): Envelope => KnownEnvelope.parse(envelope);

/** Everything unknown in it, at any depth, each with its name. */
export function unknownParts(envelope: Envelope): readonly unknown[] {
  const known = KnownEnvelope.safeParse(envelope);
  return known.success ? partsBeyond(envelope, known.data) : [envelope];
}

function partsBeyond(value: unknown, known: unknown): unknown[] {
  if (typeof value !== "object" || value === null || typeof known !== "object" || known === null) {
    return [];
  }
  return Object.entries(value).flatMap(([name, part]) =>
    name in known
      ? partsBeyond(part, (known as Readonly<Record<string, unknown>>)[name])
      : [{ [name]: part }],
  );
}
