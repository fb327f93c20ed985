/**
 * Payload types of this process: a Standard Schema (Zod, Valibot, ArkType …) per type. Such a schema contains
 * functions, so it stays in the process: it parses what this process sends, with defaults and transforms, and
 * gives it a TypeScript type. Schemas that apply to every process are JSON Schemas stored in the workspace
 * (delivery/settings/payload-types.ts).
 */
import type { z } from "zod";
import { BatonError, type Violation } from "../base/errors.ts";
import type { Payload } from "./schema.ts";
import type { StandardSchemaV1 } from "./standard-schema.ts";
import { formatPath, rejection } from "./violations.ts";

/** A payload: its type and data. */
export type PayloadValue = z.output<typeof Payload>;

/** Path of a payload's data in a handoff; the path of every violation begins with it. */
export const PAYLOAD_DATA = "payload.data";

/** The data as the schema returns it, or the violations. */
type ParseResult =
  | { readonly kind: "valid"; readonly data: unknown }
  | { readonly kind: "invalid"; readonly violations: readonly Violation[] };

/** A registered type: creates payloads that keep their TypeScript type. */
export interface PayloadType<T> {
  readonly name: string;
  /** Returns a payload of this type, for the `payload` of a handoff. */
  of(data: T): { readonly type: string; readonly data: T };
}

/** The payload types registered in this process. */
export class PayloadTypes {
  readonly #schemas = new Map<string, StandardSchemaV1>();

  /** Registers a type in this process. Throws `invalid_input` if the schema is not a Standard Schema. */
  async register<T>(name: string, schema: StandardSchemaV1<unknown, T>): Promise<PayloadType<T>> {
    if (!isStandardSchema(schema)) throw notStandardSchema();
    this.#schemas.set(name, schema);
    return { name, of: (data) => ({ type: name, data }) };
  }

  /** Returns true if a type of that name is registered in this process. */
  has(name: string): boolean {
    return this.#schemas.has(name);
  }

  /**
   * Returns the violations of a value against the schema of that name; none if the type is not registered
   * here.
   */
  async faults(name: string, value: unknown, path: string): Promise<readonly Violation[]> {
    const schema = this.#schemas.get(name);
    if (schema === undefined) return [];
    const parsed = await parse(schema, value, path);
    return parsed.kind === "valid" ? [] : parsed.violations;
  }

  /**
   * Returns the payload as the schema of its type parses it (with defaults). A payload of an unregistered
   * type is returned unchanged. Throws `invalid_payload` with every violation.
   */
  async enforce(payload: PayloadValue): Promise<PayloadValue> {
    const schema = this.#schemas.get(payload.type);
    if (schema === undefined) return payload;
    const parsed = await parse(schema, payload.data, PAYLOAD_DATA);
    if (parsed.kind === "invalid") throw invalidPayload(payload.type, parsed.violations);
    return { data: parsed.data as PayloadValue["data"], type: payload.type };
  }
}

/** Returns the error for a payload that does not match the schema of its type. */
export const invalidPayload = (type: string, violations: readonly Violation[]): BatonError =>
  rejection("invalid_payload", `A payload of type "${type}"`, violations);

function isStandardSchema(schema: unknown): boolean {
  const holds = typeof schema === "object" || typeof schema === "function";
  return holds && schema !== null && "~standard" in (schema as object);
}

function notStandardSchema(): BatonError {
  return new BatonError("invalid_input", {
    message: "schema: must be a Standard Schema (Zod, Valibot, ArkType …).",
    path: "schema",
    hint: "Pass a Standard Schema, or register a JSON Schema for every process with hub.payloadTypes.set(name, schema).",
  });
}

async function parse(schema: StandardSchemaV1, value: unknown, at: string): Promise<ParseResult> {
  const result = await schema["~standard"].validate(value);
  if (result.issues === undefined) return { kind: "valid", data: result.value };
  const violations = result.issues.map((issue) => {
    const keys = (issue.path ?? []).map((part) => (typeof part === "object" ? part.key : part));
    const path = formatPath([at, ...keys]);
    return {
      path,
      rule: "payload_schema",
      message: `${path}: ${issue.message}`,
      hint: "Change the value to match the registered schema.",
    };
  });
  return { kind: "invalid", violations };
}
