/** Canonical text of a payload type's JSON Schema, in the form that is sent and stored. */
import { canonicalJson } from "../base/canonical-json.ts";
import { BatonError, isBatonError } from "../base/errors.ts";
import type { JsonSchema } from "./json-schema.ts";

/** Returns the canonical text of a schema. Throws `invalid_input` if it is not plain JSON. */
export function schemaText(schema: JsonSchema): string {
  if (typeof schema !== "object" || schema === null || Array.isArray(schema)) {
    throw new BatonError("invalid_input", {
      message: "schema: must be a JSON Schema, as an object.",
      path: "schema",
      hint: 'Pass a schema such as { "type": "object", "required": ["files"] }.',
    });
  }
  try {
    return canonicalJson(schema, "invalid_input", "schema");
  } catch (error) {
    if (!isBatonError(error) || !("~standard" in schema)) throw error;
    throw new BatonError("invalid_input", {
      message: "schema: is a Standard Schema, which contains functions and cannot be stored.",
      path: "schema",
      hint: "Convert it (Zod: z.toJSONSchema(schema)), or register it for this process only with hub.payloadTypes.define().",
      cause: error,
    });
  }
}
