/**
 * What an envelope has that this Baton does not know: fields of a later version, or of somebody else. A
 * receiver leaves them alone, and whoever passes the envelope on passes them on as well.
 */
import { type Envelope, EnvelopeSchema, KnownFieldsEnvelopeSchema } from "./schema.ts";

const KNOWN_FIELDS = new Set(Object.keys(EnvelopeSchema.shape));

/** Its own fields that are not known; what is inside known ones goes where those go. */
export function unknownFields(envelope: Partial<Envelope>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(envelope).filter(([name]) => !KNOWN_FIELDS.has(name)));
}

/** The envelope without anything unknown, at any depth. */
export const dropUnknownFields = (envelope: Envelope): Envelope =>
  KnownFieldsEnvelopeSchema.parse(envelope);

/** Everything unknown in it, at any depth, each with its name. */
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
