/** The operations of the hub's OpenAPI description, and requests built from nothing else. */

import { openApi } from "../../../src/http/openapi.ts";
import { queryOf } from "../../../src/operations/wire/request.ts";
import type { Random } from "../../support/random.ts";
import { exampleOf, type Making, type Schema } from "./example.ts";

export type { Schema } from "./example.ts";

interface Parameter {
  readonly name: string;
  readonly in: "path" | "query" | "header";
  readonly required?: boolean;
  readonly schema?: Schema;
  readonly content?: { readonly "application/json": { readonly schema: Schema } };
}

export interface Described {
  readonly name: string;
  readonly method: string;
  /** With `{name}` placeholders. */
  readonly path: string;
  readonly parameters: readonly Parameter[];
  readonly body: Schema | undefined;
  /** The schema of a successful JSON response. */
  readonly answer: Schema | undefined;
}

/** The input of a call, by where it is sent. */
export interface Said {
  readonly path: Readonly<Record<string, unknown>>;
  readonly query: Readonly<Record<string, unknown>>;
  readonly body: Readonly<Record<string, unknown>> | undefined;
}

export interface Asked {
  readonly name: string;
  readonly method: string;
  /** Includes the query string. */
  readonly path: string;
  readonly body: string | undefined;
}

const description = openApi() as {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Record<string, unknown>>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
};

export const resolved = (reference: string): Schema => {
  const schema = description.components.schemas[reference.split("/").at(-1) ?? ""];
  if (schema === undefined) throw new Error(`nothing is described under ${reference}`);
  return schema;
};

export function describedOperations(): Described[] {
  return Object.entries(description.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      name: String(operation["operationId"]),
      method: method.toUpperCase(),
      path,
      parameters: ((operation["parameters"] ?? []) as (Parameter & Schema)[]).filter(
        ({ $ref }) => $ref === undefined,
      ),
      body: jsonIn(operation["requestBody"]),
      answer: jsonIn((operation["responses"] as Record<string, unknown>)["200"]),
    })),
  );
}

function jsonIn(part: unknown): Schema | undefined {
  const { content } = (part ?? {}) as { content?: Record<string, { schema: Schema }> };
  return content?.["application/json"]?.schema;
}

/** Returns the input of a call, generated from its description; `facts` are set as given. */
export function saidIn(
  operation: Described,
  facts: Readonly<Record<string, unknown>>,
  { texts, random }: { readonly texts: readonly string[]; readonly random?: Random },
): Said {
  const making: Making = { resolve: resolved, texts, ...(random === undefined ? {} : { random }) };
  const left = new Map(Object.entries(facts));
  const take = (name: string, schema: Schema): unknown => {
    const value = left.has(name) ? left.get(name) : exampleOf(schema, making);
    left.delete(name);
    return value;
  };
  const parts = (where: Parameter["in"]) =>
    Object.fromEntries(
      operation.parameters
        .filter((each) => each.in === where)
        .filter(({ name, required }) => required || left.has(name) || random?.chance(0.3) === true)
        .map((each) => [each.name, take(each.name, schemaIn(each))]),
    );
  const [path, query] = [parts("path"), parts("query")];
  const body = operation.body && (exampleOf(operation.body, making) as Record<string, unknown>);
  return { path, query, body: body && { ...body, ...Object.fromEntries(left) } };
}

const schemaIn = ({ schema, content }: Parameter): Schema =>
  schema ?? content?.["application/json"].schema ?? {};

export function askedBy({ name, method, path }: Described, said: Said): Asked {
  const filled = path.replace(/\{(\w+)\}/g, (_, part: string) =>
    encodeURIComponent(String(said.path[part])),
  );
  const query = queryOf(said.query);
  return {
    name,
    method,
    path: query === "" ? filled : `${filled}?${query}`,
    body: said.body && JSON.stringify(said.body),
  };
}
