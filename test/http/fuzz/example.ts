/**
 * Generates values from a JSON Schema: the smallest valid value, or a larger one at random. Where
 * only certain texts match (ids), it uses one of the scene.
 */
import type { Random } from "../../support/random.ts";

export type Schema = Readonly<Record<string, unknown>>;

export interface Making {
  /** Resolves `#/components/schemas/…`. */
  readonly resolve: (reference: string) => Schema;
  /** Candidates for texts with a pattern. */
  readonly texts: readonly string[];
  /** Without it: the first alternative, and required fields only. */
  readonly random?: Random;
}

/** Maximum depth of optional parts; deep enough for everything that is required. */
const DEPTH = 8;

export function exampleOf(schema: Schema, making: Making, depth = 0): unknown {
  const { $ref, anyOf, oneOf, type } = schema;
  if (typeof $ref === "string") return exampleOf(making.resolve($ref), making, depth);
  if ("const" in schema) return schema["const"];
  if (Array.isArray(schema["enum"])) return chosen(schema["enum"], making);
  const choices = (anyOf ?? oneOf) as Schema[] | undefined;
  if (choices !== undefined) return exampleOf(chosen(choices, making), making, depth + 1);
  switch (Array.isArray(type) ? chosen(type, making) : type) {
    case "string":
      return textOf(schema, making);
    case "integer":
    case "number":
      return numberOf(schema, making);
    case "boolean":
      return making.random?.chance(0.5) ?? true;
    case "null":
      return null;
    case "array":
      return listOf(schema, making, depth);
    case "object":
      return objectOf(schema, making, depth);
    default:
      return "anything";
  }
}

function chosen<Item>(items: readonly Item[], { random }: Making): Item {
  return items[random?.below(items.length) ?? 0] as Item;
}

const WORDS = ["api", "bob", "The port is 8080.", "format", "main", "x"] as const;

function textOf(schema: Schema, making: Making): string {
  const {
    pattern,
    format,
    minLength = 0,
    maxLength = 10_000,
  } = schema as {
    pattern?: string;
    format?: string;
    minLength?: number;
    maxLength?: number;
  };
  if (format === "date-time") return "2026-01-02T03:04:05Z";
  const fits = (text: string) => pattern === undefined || new RegExp(pattern, "u").test(text);
  const known = pattern === undefined ? WORDS : [...WORDS, ...making.texts, "1.0", "0".repeat(64)];
  const fitting = known.filter(fits);
  const text = fitting.length === 0 ? "" : chosen(fitting, making);
  return text.padEnd(minLength, "x").slice(0, maxLength);
}

function numberOf(schema: Schema, { random }: Making): number {
  const {
    minimum,
    exclusiveMinimum,
    maximum = 1_000,
    exclusiveMaximum,
  } = schema as {
    minimum?: number;
    exclusiveMinimum?: number;
    maximum?: number;
    exclusiveMaximum?: number;
  };
  const isWhole = schema["type"] === "integer";
  const least =
    minimum ?? (exclusiveMinimum === undefined ? 0 : exclusiveMinimum + (isWhole ? 1 : 0.1));
  const most = Math.min(exclusiveMaximum ?? maximum, maximum, least + 50);
  const value = least + (random?.next() ?? 0) * (most - least);
  return isWhole ? Math.floor(value) : value;
}

function listOf(schema: Schema, making: Making, depth: number): unknown[] {
  const {
    items,
    prefixItems,
    minItems = 0,
    maxItems = 3,
  } = schema as {
    items?: Schema;
    prefixItems?: Schema[];
    minItems?: number;
    maxItems?: number;
  };
  if (prefixItems !== undefined)
    return prefixItems.map((item) => exampleOf(item, making, depth + 1));
  const more = depth < DEPTH ? (making.random?.below(3) ?? 1) : 0;
  const length = Math.min(maxItems, Math.max(minItems, more));
  return Array.from({ length }, () => exampleOf(items ?? {}, making, depth + 1));
}

function objectOf(schema: Schema, making: Making, depth: number): Record<string, unknown> {
  const {
    properties = {},
    required = [],
    additionalProperties: each,
    propertyNames = { type: "string" },
  } = schema as {
    properties?: Record<string, Schema>;
    required?: readonly string[];
    additionalProperties?: Schema | boolean;
    propertyNames?: Schema;
  };
  const isIn = (name: string): boolean =>
    required.includes(name) || (depth < DEPTH && making.random?.chance(0.25) === true);
  const named = Object.entries(properties).filter(([name]) => isIn(name));
  // A map; its keys are generated too.
  const free = typeof each === "object" && depth < DEPTH ? (making.random?.below(3) ?? 0) : 0;
  const keyed = Array.from({ length: free }, (): [string, Schema] => [
    String(exampleOf(propertyNames, making, depth + 1)),
    each as Schema,
  ]);
  return Object.fromEntries(
    [...keyed, ...named].map(([name, its]) => [name, exampleOf(its, making, depth + 1)]),
  );
}
