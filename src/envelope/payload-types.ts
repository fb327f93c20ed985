/**
 * Payload types of this process: a Standard Schema (Zod, Valibot, ArkType …) per type. It is a function, so
 * it stays in the process: it parses what is sent from here, with defaults and transforms, and gives it a
 * TypeScript type. What every process must keep to is a JSON Schema in the workspace
 * (delivery/settings/payload-types.ts).
 */
import type { z } from "zod";
import { BatonError, type Violation } from "../base/errors.ts";
import type { Payload } from "./schema.ts";
import type { StandardSchemaV1 } from "./standard-schema.ts";
import { formatPath, rejection } from "./violations.ts";

export type PayloadValue = z.output<typeof Payload>;

/** Where a payload's data stands in a handoff: how the path of every violation begins. */
export const PAYLOAD_DATA = "payload.data";

/** The data as the schema returns it, or what is wrong with it. */
type ParseResult =
  | { readonly kind: "valid"; readonly data: unknown }
  | { readonly kind: "invalid"; readonly violations: readonly Violation[] };

/** A registered type: makes payloads that carry their TypeScript type along. */
export interface PayloadType<T> {
  readonly name: string;
  /** A payload of this type, for a handoff's `payload`. */
  of(data: T): { readonly type: string; readonly data: T };
}

export class PayloadTypes {
  readonly #schemas = new Map<string, StandardSchemaV1>();

  /** Registers a type in this process. */
  async register<T>(name: string, schema: StandardSchemaV1<unknown, T>): Promise<PayloadType<T>> {
    if (!isStandardSchema(schema)) throw notStandardSchema();
    this.#schemas.set(name, schema);
    return { name, of: (data) => ({ type: name, data }) };
  }

  /** Whether a type of that name is registered here. */
  knows(name: string): boolean {
    return this.#schemas.has(name);
  }

  /** Returns what is wrong with a value by the schema of that name; nothing when it is not registered here. */
  async faults(name: string, value: unknown, path: string): Promise<readonly Violation[]> {
    const schema = this.#schemas.get(name);
    if (schema === undefined) return [];
    const parsed = await parse(schema, value, path);
    return parsed.kind === "valid" ? [] : parsed.violations;
  }

  /**
   * Returns the payload as its type's schema makes it (with defaults), or throws with every violation. A type
   * that is not registered here is returned as it is.
   */
  async enforce(payload: PayloadValue): Promise<PayloadValue> {
    const schema = this.#schemas.get(payload.type);
    if (schema === undefined) return payload;
    const parsed = await parse(schema, payload.data, PAYLOAD_DATA);
    if (parsed.kind === "invalid") throw invalidPayload(payload.type, parsed.violations);
    return { data: parsed.data as PayloadValue["data"], type: payload.type };
  }
}

export const invalidPayload = (type: string, violations: readonly Violation[]): BatonError =>
  rejection("invalid_payload", `A payload of type "${type}"`, violations);

function isStandardSchema(schema: unknown): boolean {
  const holds = typeof schema === "object" || typeof schema === "function";
  return holds && schema !== null && "~standard" in (schema as object);
}

function notStandardSchema(): BatonError {
  return new BatonError("invalid_input", {
    message: "schema: is not a Standard Schema (Zod, Valibot, ArkType …).",
    path: "schema",
    hint: "Register a JSON Schema for every process with hub.payloadTypes.set(name, schema).",
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
      hint: "Send what the registered schema describes.",
    };
  });
  return { kind: "invalid", violations };
}
