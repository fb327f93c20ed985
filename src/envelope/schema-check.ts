/**
 * Compiles the JSON Schemas of payload types to functions that report every violation with its path; the
 * schemas are validated when they are registered. Draft 2020-12, or draft-07 if `$schema` names it. `format`
 * is an annotation, as in the specification; references to other documents are rejected.
 */
import type { ErrorObject } from "ajv";
import { BatonError, isBatonError, trimFullStop, type Violation } from "../base/errors.ts";
import { runWithTimeLimit } from "../base/time-limit.ts";
import type { JsonSchema } from "./json-schema.ts";
import { formatPath, rejection } from "./violations.ts";

/** Returns the violations of `data`; `path` is its path in the caller's input. */
export type SchemaCheck = (data: unknown, path: string) => readonly Violation[];

/** Time limit of one validation in milliseconds. Most take microseconds. */
const VALIDATION_MS = 500;

/** With these keywords, the time of a validation is not bounded by the sizes of schema and data. */
const UNBOUNDED = /"(?:pattern|patternProperties|\$ref|\$dynamicRef|\$recursiveRef|uniqueItems)":/;
/**
 * Size of the schema times size of the data, in characters, up to which no time limit is needed: a few
 * milliseconds.
 */
const MAX_UNTIMED_SIZE = 4_000_000;

/** Reported violations: a large payload can have one for each of its items. */
const MAX_VIOLATIONS = 100;

const OPTIONS = {
  allErrors: true,
  // Inlining a large definition at each reference would make the compiled code many times the size of the
  // schema.
  inlineRefs: false,
  // A misspelt keyword would be ignored, and nothing would be validated.
  strictSchema: true,
  strictNumbers: true,
  strictRequired: false,
  strictTuples: false,
  strictTypes: false,
  validateFormats: false,
} as const;

/**
 * Compiles the schema of a payload type. Throws `invalid_input` with every place where the schema is invalid.
 */
export async function compileSchema(name: string, text: string): Promise<SchemaCheck> {
  const schema = JSON.parse(text) as JsonSchema;
  const validate = compileWithAjv(await validatorFor(schema), name, schema);
  const isBounded = !UNBOUNDED.test(text);
  return (data, path) => {
    const isSmall = isBounded && text.length * JSON.stringify(data).length <= MAX_UNTIMED_SIZE;
    const valid = isSmall ? validate(data) : validateWithTimeLimit(validate, data);
    if (valid === undefined) return [tooSlow(path)];
    return valid ? [] : violationsOf(validate.errors, path);
  };
}

type Validator = Awaited<ReturnType<typeof validatorFor>>;

/** Loads Ajv with the first JSON Schema: most programs never need it. */
async function validatorFor({ $schema }: JsonSchema) {
  const isDraft7 = typeof $schema === "string" && $schema.includes("draft-07");
  const { Ajv } = isDraft7
    ? await import("ajv")
    : { Ajv: (await import("ajv/dist/2020.js")).Ajv2020 };
  return new Ajv(OPTIONS);
}

function compileWithAjv(ajv: Validator, name: string, schema: JsonSchema) {
  const what = `The JSON Schema of payload type "${name}"`;
  try {
    if (!ajv.validateSchema(schema)) {
      throw rejection("invalid_input", what, firstOfEach(violationsOf(ajv.errors, "schema")));
    }
    const validate = ajv.compile(schema);
    // It would return a promise, which counts as valid.
    if ("$async" in validate) throw new Error("$async is not supported");
    return validate;
  } catch (cause) {
    if (isBatonError(cause)) throw cause;
    const why = (cause as Error).message.replace("strict mode: ", "");
    throw new BatonError("invalid_input", {
      message: `${what} is invalid: ${trimFullStop(why)}.`,
      path: "schema",
      hint: "Use keywords of draft 2020-12 (or draft-07, with $schema) and only references within the schema.",
      cause,
    });
  }
}

/**
 * Returns undefined if the validation exceeds the time limit, or if the schema refers to itself endlessly.
 */
function validateWithTimeLimit(
  validate: (data: unknown) => unknown,
  data: unknown,
): boolean | undefined {
  try {
    return runWithTimeLimit(VALIDATION_MS, () => ({ valid: validate(data) === true }))?.valid;
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

const tooSlow = (path: string): Violation => ({
  path,
  rule: "time_limit",
  message: `${path}: could not be validated within ${VALIDATION_MS} ms`,
  hint: "Send less data, or register a schema with simpler patterns and references.",
});

function violationsOf(errors: readonly ErrorObject[] | null | undefined, at: string): Violation[] {
  return (errors ?? [])
    .slice(0, MAX_VIOLATIONS)
    .map(({ instancePath, keyword, message = "is not valid", params }) => {
      const path = formatPath([at, ...instancePath.split("/").slice(1).map(pointerPart)]);
      return {
        path,
        rule: keyword,
        message: `${path}: ${message}`,
        hint: hintFor(keyword, params),
      };
    });
}

function hintFor(keyword: string, params: ErrorObject["params"]): string {
  switch (keyword) {
    case "required":
      return `Add "${params["missingProperty"]}".`;
    case "additionalProperties":
      return `Remove "${params["additionalProperty"]}".`;
    case "enum":
      return `Use one of ${(params["allowedValues"] as unknown[]).map(String).join(", ")}.`;
    case "type":
      return `Pass a value of type ${String(params["type"])}.`;
    default:
      return `The schema requires ${JSON.stringify(params)}.`;
  }
}

function pointerPart(part: string): string | number {
  return /^\d+$/.test(part) ? Number(part) : part.replaceAll("~1", "/").replaceAll("~0", "~");
}

/** A schema is validated against several vocabularies, each of which reports the same path. */
const firstOfEach = (violations: readonly Violation[]): Violation[] =>
  violations.filter(({ path }, i) => violations.findIndex((each) => each.path === path) === i);
