/** The JSON Schemas that the hub publishes: every version of the envelope, and shared context items. */

import { ENVELOPE_VERSIONS, envelopeJsonSchema, type JsonSchema } from "../envelope/json-schema.ts";
import { ENVELOPE_VERSION } from "../envelope/schema.ts";
import { contextJsonSchema } from "../shared-context/items.ts";

const PUBLISHED: Readonly<Record<string, () => JsonSchema>> = {
  "envelope.json": () => envelopeJsonSchema(ENVELOPE_VERSION),
  ...Object.fromEntries(
    ENVELOPE_VERSIONS.map((version) => [
      `envelope-${version}.json`,
      () => envelopeJsonSchema(version),
    ]),
  ),
  "context.json": () => contextJsonSchema() as JsonSchema,
};

/** The file names of the published schemas. */
export const SCHEMA_NAMES: readonly string[] = Object.keys(PUBLISHED);

/** Returns a published schema by file name; undefined if it does not exist. */
export const schemaOf = (name: string): JsonSchema | undefined =>
  Object.hasOwn(PUBLISHED, name) ? PUBLISHED[name]?.() : undefined;
