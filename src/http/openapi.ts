/** Generates the OpenAPI 3.1 document of the hub from the operations and streams. */
import * as z from "zod";
import { ERROR_CODES } from "../base/errors.ts";
import { batonVersion } from "../base/version.ts";
import { type OperationExample, operationExamples } from "../operations/examples.ts";
import { CHAPTERS, chapterOf, OPERATIONS, routeOf } from "../operations/index.ts";
import type { Method, Operation } from "../operations/operation.ts";
import { STREAMS, type Stream } from "../operations/streams.ts";
import { HEADERS } from "../operations/wire/headers.ts";
import { hasBody, toRequest } from "../operations/wire/request.ts";

type Json = Record<string, unknown>;

let cachedDescription: Json | undefined;

/** Returns the OpenAPI document; it is generated once. */
export function openApi(): Json {
  cachedDescription ??= describe();
  return cachedDescription;
}

function describe(): Json {
  const components = new Components();
  const paths: Record<string, Json> = {};
  for (const operation of OPERATIONS) {
    const [method, pattern] = routeOf(operation);
    const path = pattern.replace(/:(\w+)/g, "{$1}");
    const described = describeOperation(operation, { method, path }, components);
    paths[path] = { ...paths[path], [method.toLowerCase()]: described };
  }
  for (const [name, stream] of Object.entries(STREAMS)) {
    const [method, path] = routeOf(stream);
    const described = describeStream(name, stream, components);
    paths[path] = { ...paths[path], [method.toLowerCase()]: described };
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "Baton",
      version: batonVersion(),
      description:
        "A durable store for memory and handoffs between AI agents. Every operation is a method of the SDK, with the same name and the same errors.",
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: "/" }],
    security: [{ token: [] }, {}],
    tags: tagsOf(),
    paths,
    components: {
      securitySchemes: {
        token: {
          type: "http",
          scheme: "bearer",
          description:
            "An access token. Create one with `baton token add <agent> --access <level>`.",
        },
      },
      parameters: PARAMETERS,
      responses: {
        Problem: {
          description: "The error as RFC 9457 problem details, with a code, a path and a hint.",
          content: {
            "application/problem+json": { schema: { $ref: "#/components/schemas/Problem" } },
          },
        },
      },
      schemas: { Problem: PROBLEM, ...components.all },
    },
  };
}

/** Collects named schemas, so that each is defined once. */
class Components {
  readonly all: Record<string, unknown> = {};

  /** Returns a JSON Schema with its named parts moved here. Input and output forms can differ. */
  take(schema: z.ZodType, io: "input" | "output"): Json {
    const {
      $defs = {},
      $schema: _,
      ...body
    } = z.toJSONSchema(schema, {
      io,
      unrepresentable: "any",
      target: "draft-2020-12",
      cycles: "ref",
    }) as Json & { $defs?: Record<string, unknown> };
    const names = new Map(
      Object.entries($defs).map(([name, part]) => [name, this.#nameFor(name, part, io)]),
    );
    const renamed = (part: unknown) => rewritten(part, names);
    for (const [name, part] of Object.entries($defs)) {
      this.all[names.get(name) as string] ??= renamed(withoutId(part));
    }
    return renamed(withoutId(body)) as Json;
  }

  #nameFor(name: string, part: unknown, io: "input" | "output"): string {
    const plain = name.replace(/^__schema/, `${io}_part_`);
    if (!name.startsWith("__")) return io === "input" ? `${plain}Input` : plain;
    const text = JSON.stringify(part);
    const known = Object.keys(this.all).find((key) => JSON.stringify(this.all[key]) === text);
    return known ?? `${plain}_${Object.keys(this.all).length}`;
  }
}

function withoutId(part: unknown): unknown {
  if (typeof part !== "object" || part === null) return part;
  const { id: _, $id: __, ...rest } = part as Json;
  return typeof (part as Json)["id"] === "string" ? rest : part;
}

function rewritten(part: unknown, names: ReadonlyMap<string, string>): unknown {
  if (Array.isArray(part)) return part.map((each) => rewritten(each, names));
  if (typeof part !== "object" || part === null) return part;
  return Object.fromEntries(
    Object.entries(expandRecord(part as Json)).map(([key, value]) => {
      if (typeof value !== "string") return [key, rewritten(value, names)];
      if (key === "since") return ["x-since", value]; // A Baton keyword: the version that added the field.
      return [key, key === "$ref" ? referenceTo(value, names) : value];
    }),
  );
}

const referenceTo = (ref: string, names: ReadonlyMap<string, string>): string =>
  ref.replace(
    /^#\/\$defs\/(.+)$/,
    (_, name: string) => `#/components/schemas/${names.get(name) ?? name}`,
  );

/** Turns a record with a fixed set of required keys into an object with these properties. */
function expandRecord(part: Json): Json {
  const { propertyNames, additionalProperties: each, required, ...rest } = part;
  const keys = (propertyNames as Json | undefined)?.["enum"];
  if (!Array.isArray(keys) || !Array.isArray(required)) return part;
  const properties = Object.fromEntries(keys.map((key) => [key, each]));
  return { ...rest, properties, required, additionalProperties: false };
}

function describeOperation(
  operation: Operation,
  { method, path }: { readonly method: Method; readonly path: string },
  components: Components,
): Json {
  const input = components.take(operation.input, "input") as { properties?: Record<string, Json> };
  const { properties = {}, ...whole } = input as Json & { properties?: Record<string, Json> };
  const required = (whole["required"] ?? []) as string[];
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, part]) => part as string);
  const rest = Object.fromEntries(
    Object.entries(properties).filter(([field]) => !inPath.includes(field)),
  );
  const isInBody = hasBody(method);
  const { input: exampleInput, output: exampleOutput } = exampleOf(operation.name);
  const { body: exampleBody } = toRequest(operation, exampleInput);
  return {
    operationId: operation.name,
    summary: operation.summary,
    description: `Requires access "${operation.access}".`,
    tags: [chapterOf(operation.name)],
    parameters: [
      ...inPath.map((field) => ({
        name: field,
        in: "path",
        required: true,
        schema: properties[field] ?? { type: "string" },
        ...exampleIn(exampleInput, field),
      })),
      ...(isInBody
        ? []
        : Object.entries(rest).map(([field, schema]) =>
            queryParameter(field, schema, { required, example: exampleInput }),
          )),
      { $ref: "#/components/parameters/Agent" },
      { $ref: "#/components/parameters/Session" },
      { $ref: "#/components/parameters/Branch" },
      ...(method === "GET" ? [] : [{ $ref: "#/components/parameters/Key" }]),
    ],
    ...(isInBody
      ? {
          requestBody: {
            required: required.some((field) => !inPath.includes(field)),
            content: {
              "application/json": {
                schema: {
                  ...whole,
                  properties: rest,
                  required: required.filter((field) => !inPath.includes(field)),
                },
                example: exampleBody,
              },
            },
          },
        }
      : {}),
    responses: {
      "200": {
        description: "Success.",
        content: {
          "application/json": {
            schema: components.take(operation.output, "output"),
            example: exampleOutput,
          },
        },
      },
      ...REFUSALS,
    },
  };
}

const REFUSALS: Json = {
  "4XX": { $ref: "#/components/responses/Problem" },
  "5XX": { $ref: "#/components/responses/Problem" },
};

function exampleOf(name: string): OperationExample {
  const example = operationExamples()[name];
  if (example === undefined)
    throw new Error(`operation "${name}" has no example: run npm run docs`);
  return example;
}

/** The example of one field, if the example call sets it. */
const exampleIn = (input: Json, field: string): Json =>
  field in input ? { example: input[field] } : {};

interface QueryFields {
  /** Names of the required fields. */
  readonly required?: readonly string[];
  /** The input of the example call. */
  readonly example?: Json;
}

/** Describes a query parameter: text is sent as it is, anything else as JSON. */
function queryParameter(
  name: string,
  schema: Json,
  { required = [], example = {} }: QueryFields = {},
): Json {
  const about = { name, in: "query", required: required.includes(name) };
  const described = { schema, ...exampleIn(example, name) };
  const isText = schema["type"] === "string";
  return { ...about, ...(isText ? described : { content: { "application/json": described } }) };
}

const tagsOf = (): Json[] =>
  Object.entries(CHAPTERS).map(([name, { description }]) => ({ name, description }));

/** Returns the parameters of a stream, without the headers that identify the caller. */
function streamParameters(name: string, stream: Stream, components: Components): Json[] {
  if (name === "events.stream") {
    const schema = { type: "integer", minimum: 0 };
    const description = "Number of the last event received (default: 0).";
    return ["query", "header"].map((where) => ({
      name: where === "query" ? "after" : "Last-Event-ID",
      in: where,
      required: false,
      description,
      schema,
    }));
  }
  if (stream.query === undefined) return [];
  const { properties = {} } = components.take(stream.query, "input") as {
    properties?: Record<string, Json>;
  };
  return Object.entries(properties).map(([field, schema]) => queryParameter(field, schema));
}

function describeStream(name: string, stream: Stream, components: Components): Json {
  const [method] = routeOf(stream);
  return {
    operationId: name,
    summary: stream.summary,
    description: `Requires access "${stream.access}".`,
    tags: [stream.chapter],
    parameters: [
      ...streamParameters(name, stream, components),
      { $ref: "#/components/parameters/Agent" },
      { $ref: "#/components/parameters/Session" },
      { $ref: "#/components/parameters/Branch" },
    ],
    ...(hasBody(method)
      ? {
          requestBody: {
            required: true,
            content: { "application/x-ndjson": { schema: { type: "string" } } },
          },
        }
      : {}),
    responses: {
      "200": { description: "Success.", content: { [stream.type]: { schema: {} } } },
      ...REFUSALS,
    },
  };
}

const headerParameter = (name: string, description: string): Json => ({
  name,
  in: "header",
  required: false,
  description,
  schema: { type: "string" },
});

const PARAMETERS: Readonly<Record<string, Json>> = {
  Agent: headerParameter(
    HEADERS.agent,
    "The agent that acts. Required if the token is not bound to one agent.",
  ),
  Session: headerParameter(
    HEADERS.session,
    "The caller's session. Every call renews the leases of its session.",
  ),
  Branch: headerParameter(
    HEADERS.branch,
    "The branch to read and write (default: the main branch).",
  ),
  Key: headerParameter(
    HEADERS.key,
    "Repeating a call with the same key within ten minutes returns the first response.",
  ),
};

const PROBLEM: Json = {
  type: "object",
  required: ["type", "title", "status", "detail", "code", "message", "path", "hint", "retryable"],
  properties: {
    type: { type: "string", description: "URL of the description of the code." },
    title: { type: "string" },
    status: { type: "integer" },
    detail: { type: "string" },
    code: { type: "string", enum: Object.keys(ERROR_CODES) },
    message: { type: "string" },
    path: { type: "string", description: "The input field that caused the error." },
    hint: { type: "string", description: "How to fix it." },
    retryable: { type: "boolean" },
    violations: { type: "array", items: { type: "object" } },
    details: { type: "object" },
  },
};
