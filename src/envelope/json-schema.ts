/**
 * The published form of the envelope: JSON Schema (draft 2020-12), generated, never written. It is what a
 * reader may rely on: any minor of its major version fits, and fields it does not name are allowed.
 */
import * as z from "zod";
import { ENVELOPE_VERSION, TolerantEnvelopeSchema } from "./schema.ts";

export type JsonSchema = Record<string, unknown>;

/** Every released version, newest last. */
export const ENVELOPE_VERSIONS = [ENVELOPE_VERSION] as const;

/** Returns the schema of an envelope of that version as it arrives. */
export function envelopeJsonSchema(version: (typeof ENVELOPE_VERSIONS)[number]): JsonSchema {
  return {
    $id: `https://batonpass.dev/schemas/envelope-${version}.json`,
    ...z.toJSONSchema(TolerantEnvelopeSchema, { io: "output", target: "draft-2020-12" }),
  };
}
