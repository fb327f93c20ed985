/**
 * Payload types: a team registers a schema per type, as any Standard Schema (Zod, Valibot,
 * ArkType …) or as JSON Schema, and the hub enforces it at the door, on sending and on reading.
 */

import type { z } from "zod";
import { BatonError, type Violation } from "../errors.ts";
import type { JsonSchema } from "./json-schema.ts";
import type { Payload } from "./schema.ts";
import type { StandardSchemaV1 } from "./standard-schema.ts";
import { formatPath, rejection } from "./violations.ts";

type PayloadValue = z.output<typeof Payload>;
type Check = (data: unknown) => Promise<readonly Violation[]>;

/** A registered type: makes payloads that carry their TypeScript type along. */
export interface PayloadType<T> {
  readonly name: string;
  /** A payload of this type, for a handoff's `payload`. */
  of(data: T): { readonly type: string; readonly data: T };
}

export class PayloadTypes {
  readonly #checks = new Map<string, Check>();

  register<T>(name: string, schema: StandardSchemaV1<unknown, T> | JsonSchema): PayloadType<T> {
    this.#checks.set(
      name,
      isStandardSchema(schema) ? standardCheck(schema) : jsonSchemaCheck(name, schema),
    );
    return { name, of: (data) => ({ type: name, data }) };
  }

  /** Throws when the payload breaks its type's schema. A type nobody registered is let through. */
  async enforce(payload: PayloadValue | undefined): Promise<void> {
    if (payload === undefined) return;
    const check = this.#checks.get(payload.type);
    if (check === undefined) return;
    const violations = await check(payload.data);
    if (violations.length === 0) return;
    throw rejection("invalid_payload", `A payload of type "${payload.type}"`, violations);
  }
}

function isStandardSchema<T>(schema: unknown): schema is StandardSchemaV1<unknown, T> {
  return (
    schema !== null &&
    (typeof schema === "object" || typeof schema === "function") &&
    "~standard" in schema
  );
}

function standardCheck(schema: StandardSchemaV1): Check {
  return async (data) => {
    const result = await schema["~standard"].validate(data);
    return (result.issues ?? []).map((issue) => {
      const keys = (issue.path ?? []).map((part) => (typeof part === "object" ? part.key : part));
      const path = formatPath(["payload", "data", ...keys]);
      return {
        path,
        rule: "payload_schema",
        message: `${path}: ${issue.message}`,
        hint: "Send what the registered schema describes.",
      };
    });
  };
}

/** Ajv is loaded when the first JSON Schema is used: most programs never need it. */
function jsonSchemaCheck(name: string, schema: JsonSchema): Check {
  let compiled: Promise<Check> | undefined;
  return async (data) => {
    compiled ??= compileJsonSchema(name, schema);
    return (await compiled)(data);
  };
}

async function compileJsonSchema(name: string, schema: JsonSchema): Promise<Check> {
  const draft7 = typeof schema["$schema"] === "string" && schema["$schema"].includes("draft-07");
  const { Ajv } = draft7
    ? await import("ajv")
    : { Ajv: (await import("ajv/dist/2020.js")).Ajv2020 };
  const ajv = new Ajv({ allErrors: true, strict: false });
  let validate: ReturnType<typeof ajv.compile>;
  try {
    validate = ajv.compile(schema);
  } catch (cause) {
    throw new BatonError("invalid_input", {
      message: `The JSON Schema of payload type "${name}" is not valid: ${(cause as Error).message}.`,
      path: "schema",
      hint: "Check it against draft 2020-12, or name its draft in $schema.",
      cause,
    });
  }
  return async (data) => {
    if (validate(data)) return [];
    return (validate.errors ?? []).map((error) => {
      const keys = error.instancePath.split("/").slice(1).map(pointerPart);
      const path = formatPath(["payload", "data", ...keys]);
      return {
        path,
        rule: error.keyword,
        message: `${path}: ${error.message ?? "is not valid"}`,
        hint: `The schema says ${JSON.stringify(error.params)}.`,
      };
    });
  };
}

function pointerPart(part: string): string | number {
  return /^\d+$/.test(part) ? Number(part) : part.replaceAll("~1", "/").replaceAll("~0", "~");
}
