/**
 * Separates fields of an envelope that this version of Baton does not know (from a later version, or added by
 * another program). Receivers ignore them, and envelopes that hand the work on keep them.
 */
import { type Envelope, EnvelopeSchema, KnownFieldsEnvelopeSchema } from "./schema.ts";

const KNOWN_FIELDS = new Set(Object.keys(EnvelopeSchema.shape));

/** Returns the unknown top-level fields; unknown parts of known fields stay in those fields. */
export function unknownFields(envelope: Partial<Envelope>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(envelope).filter(([name]) => !KNOWN_FIELDS.has(name)));
}

/** Returns the envelope without unknown fields, at any depth. */
export const dropUnknownFields = (envelope: Envelope): Envelope =>
  KnownFieldsEnvelopeSchema.parse(envelope);

/** Returns everything unknown in the envelope, at any depth, each as an object with its name. */
export function unknownParts(envelope: Envelope): readonly unknown[] {
  const known = KnownFieldsEnvelopeSchema.safeParse(envelope);
  return known.success ? collectUnknownParts(envelope, known.data) : [envelope];
}

function collectUnknownParts(value: unknown, known: unknown): unknown[] {
  if (typeof value !== "object" || value === null || typeof known !== "object" || known === null) {
    return [];
  }
  return Object.entries(value).flatMap(([name, part]) =>
    name in known
      ? collectUnknownParts(part, (known as Readonly<Record<string, unknown>>)[name])
      : [{ [name]: part }],
  );
}
