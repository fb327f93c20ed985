/**
 * The published JSON Schema (draft 2020-12) of the envelope, generated from the Zod schema. It describes what
 * a reader can rely on: any minor version of its major version is valid, and additional fields are allowed.
 */
import * as z from "zod";
import { ENVELOPE_VERSION, TolerantEnvelopeSchema } from "./schema.ts";

/** A JSON Schema as a plain object. */
export type JsonSchema = Record<string, unknown>;

/** Every released version, newest last. */
export const ENVELOPE_VERSIONS = [ENVELOPE_VERSION] as const;

/** Returns the JSON Schema of a received envelope of that version. */
export function envelopeJsonSchema(version: (typeof ENVELOPE_VERSIONS)[number]): JsonSchema {
  return {
    $id: `https://batonpass.dev/schemas/envelope-${version}.json`,
    ...z.toJSONSchema(TolerantEnvelopeSchema, { io: "output", target: "draft-2020-12" }),
  };
}
