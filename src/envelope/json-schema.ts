/** The published form of the envelope: JSON Schema (draft 2020-12), generated, never written. */
import * as z from "zod";
import { ENVELOPE_VERSION, EnvelopeSchema } from "./schema.ts";

export type JsonSchema = Record<string, unknown>;

/** Every version ever shipped, newest last. */
export const ENVELOPE_VERSIONS = [ENVELOPE_VERSION] as const;

/** What an envelope of that version looks like when it arrives. */
export function envelopeJsonSchema(version: (typeof ENVELOPE_VERSIONS)[number]): JsonSchema {
  return {
    $id: `https://batonpass.dev/schemas/envelope-${version}.json`,
    ...z.toJSONSchema(EnvelopeSchema, { io: "output", target: "draft-2020-12" }),
  };
}
