/** The JSON Schemas the hub publishes: of every version of the envelope, and of shared context items. */

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

export const SCHEMA_NAMES: readonly string[] = Object.keys(PUBLISHED);

export const schemaOf = (name: string): JsonSchema | undefined =>
  Object.hasOwn(PUBLISHED, name) ? PUBLISHED[name]?.() : undefined;
