/**
 * The published form of the envelope: JSON Schema (draft 2020-12), generated, never written. It is what a
 * reader may rely on: any minor of its major version fits, and fields it does not name are allowed.
 */
import * as z from "zod";
import { ENVELOPE_VERSION, ReadEnvelope } from "./schema.ts";

export type JsonSchema = Record<string, unknown>;

/** Every version ever shipped, newest last. */
export const ENVELOPE_VERSIONS = ["1.0", "1.1", ENVELOPE_VERSION] as const;
type EnvelopeVersion = (typeof ENVELOPE_VERSIONS)[number];

/** What an envelope of that version looks like when it arrives. */
export function envelopeJsonSchema(version: EnvelopeVersion): JsonSchema {
  const newest = z.toJSONSchema(ReadEnvelope, { io: "output", target: "draft-2020-12" });
  return {
    $id: `https://batonpass.dev/schemas/envelope-${version}.json`,
    ...(asOf(newest, ENVELOPE_VERSIONS.indexOf(version)) as JsonSchema),
  };
}

/** Without the fields that came later; the others say since when they are there. */
function asOf(schema: unknown, version: number): unknown {
  if (Array.isArray(schema)) return schema.map((part) => asOf(part, version));
  if (typeof schema !== "object" || schema === null) return schema;
  const { since, ...rest } = schema as { readonly since?: EnvelopeVersion };
  const parts = Object.entries(rest)
    .filter(([, part]) => isThere(part, version))
    .map(([name, part]) => [name, asOf(part, version)]);
  const said = Object.fromEntries(parts) as JsonSchema;
  if (since === undefined) return said;
  return { ...said, description: `${said["description"]} (since ${since})` };
}

function isThere(part: unknown, version: number): boolean {
  const { since } = (part ?? {}) as { readonly since?: EnvelopeVersion };
  return since === undefined || ENVELOPE_VERSIONS.indexOf(since) <= version;
}
