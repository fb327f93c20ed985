/**
 * Payload types: a team registers a schema per type, as any Standard Schema (Zod, Valibot,
 * ArkType …) or as JSON Schema, and the hub enforces it when a handoff is sent.
 */
import type { z } from "zod";
import { BatonError, type Violation } from "../errors.ts";
import type { JsonSchema } from "./json-schema.ts";
import type { Payload } from "./schema.ts";
import type { StandardSchemaV1 } from "./standard-schema.ts";
import { formatPath, rejection } from "./violations.ts";

type PayloadValue = z.output<typeof Payload>;

/** What a check makes of some data: the data as the schema gives it, or what is wrong with it. */
type Checked =
  | { readonly kind: "valid"; readonly data: unknown }
  | { readonly kind: "invalid"; readonly violations: readonly Violation[] };
type Check = (data: unknown) => Checked | Promise<Checked>;

/** Where a payload's data stands in a handoff: how every fault's path begins. */
const DATA = "payload.data";

/** A registered type: makes payloads that carry their TypeScript type along. */
export interface PayloadType<T> {
  readonly name: string;
  /** A payload of this type, for a handoff's `payload`. */
  of(data: T): { readonly type: string; readonly data: T };
}

export class PayloadTypes {
  readonly #checks = new Map<string, Check>();

  /** Registers a type. A schema that is no schema is refused here, not at the first handoff. */
  async register<T>(
    name: string,
    schema: StandardSchemaV1<unknown, T> | JsonSchema,
  ): Promise<PayloadType<T>> {
    const check = isStandardSchema(schema)
      ? standardCheck(schema)
      : await jsonSchemaCheck(name, schema);
    this.#checks.set(name, check);
    return { name, of: (data) => ({ type: name, data }) };
  }

  /** Whether a type of that name is registered here. */
  knows(name: string): boolean {
    return this.#checks.has(name);
  }

  /** What is wrong with a value by the schema of that name; nothing when no such type is registered. */
  async faults(name: string, value: unknown, path: string): Promise<readonly Violation[]> {
    const check = this.#checks.get(name);
    if (check === undefined) return [];
    const checked = await check(value);
    if (checked.kind === "valid") return [];
    return checked.violations.map((fault) => ({
      ...fault,
      path: fault.path.replace(DATA, path),
      message: fault.message.replace(DATA, path),
    }));
  }

  /**
   * The payload as its type's schema gives it (with its defaults), or an error that names every
   * violation. A type nobody registered is let through.
   */
  async enforce(payload: PayloadValue): Promise<PayloadValue> {
    const check = this.#checks.get(payload.type);
    if (check === undefined) return payload;
    const checked = await check(payload.data);
    if (checked.kind === "invalid") {
      throw rejection("invalid_payload", `A payload of type "${payload.type}"`, checked.violations);
    }
    return { data: checked.data as PayloadValue["data"], type: payload.type };
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
    if (result.issues === undefined) return { kind: "valid", data: result.value };
    const violations = result.issues.map((issue) => {
      const keys = (issue.path ?? []).map((part) => (typeof part === "object" ? part.key : part));
      const path = formatPath(["payload", "data", ...keys]);
      return {
        path,
        rule: "payload_schema",
        message: `${path}: ${issue.message}`,
        hint: "Send what the registered schema describes.",
      };
    });
    return { kind: "invalid", violations };
  };
}

/** Ajv is loaded with the first JSON Schema: most programs never need it. */
async function jsonSchemaCheck(name: string, schema: JsonSchema): Promise<Check> {
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
  return (data) => {
    if (validate(data)) return { kind: "valid", data };
    const violations = (validate.errors ?? []).map((error) => {
      const keys = error.instancePath.split("/").slice(1).map(pointerPart);
      const path = formatPath(["payload", "data", ...keys]);
      return {
        path,
        rule: error.keyword,
        message: `${path}: ${error.message ?? "is not valid"}`,
        hint: `The schema says ${JSON.stringify(error.params)}.`,
      };
    });
    return { kind: "invalid", violations };
  };
}

function pointerPart(part: string): string | number {
  return /^\d+$/.test(part) ? Number(part) : part.replaceAll("~1", "/").replaceAll("~0", "~");
}
