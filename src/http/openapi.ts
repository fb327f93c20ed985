/** The OpenAPI 3.1 description of the hub, made from the table of operations. */
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
        "A durable store for memory and handoffs between AI agents. Every call is one of the SDK's, under the same name and with the same errors.",
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
          description: "A token of an agent: `baton token add <agent> --access <level>`.",
        },
      },
      parameters: PARAMETERS,
      responses: {
        Problem: {
          description: "Why it was refused: RFC 9457, with a code, a path and a hint.",
          content: {
            "application/problem+json": { schema: { $ref: "#/components/schemas/Problem" } },
          },
        },
      },
      schemas: { Problem: PROBLEM, ...components.all },
    },
  };
}

/** Named schemas, once each, wherever they are used. */
class Components {
  readonly all: Record<string, unknown> = {};

  /** A schema with its named parts moved here. What goes in may look different from what comes out. */
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
      if (key === "since") return ["x-since", value]; // Ours: the version that brought a field.
      return [key, key === "$ref" ? referenceTo(value, names) : value];
    }),
  );
}

const referenceTo = (ref: string, names: ReadonlyMap<string, string>): string =>
  ref.replace(
    /^#\/\$defs\/(.+)$/,
    (_, name: string) => `#/components/schemas/${names.get(name) ?? name}`,
  );

/** A table that has every one of its keys, as an object with these fields. */
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
        description: "Done.",
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
  if (example === undefined) throw new Error(`no example of "${name}": run npm run docs`);
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

/** A text as it is; anything else as JSON. */
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

/** What may be given when a stream is opened, besides the caller. */
function streamParameters(name: string, stream: Stream, components: Components): Json[] {
  if (name === "events.stream") {
    const schema = { type: "integer", minimum: 0 };
    const description = "The number of the last event the reader has. Default: 0.";
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
      "200": { description: "Done.", content: { [stream.type]: { schema: {} } } },
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
  Agent: headerParameter(HEADERS.agent, "Who acts, where the token is not one agent's."),
  Session: headerParameter(
    HEADERS.session,
    "The caller's session: its calls keep its leases alive.",
  ),
  Branch: headerParameter(HEADERS.branch, "The branch that is read and written; else the trunk."),
  Key: headerParameter(
    HEADERS.key,
    "The same key again within ten minutes is the same call, and gets the same answer.",
  ),
};

const PROBLEM: Json = {
  type: "object",
  required: ["type", "title", "status", "detail", "code", "message", "path", "hint", "retryable"],
  properties: {
    type: { type: "string", description: "Where the code is described." },
    title: { type: "string" },
    status: { type: "integer" },
    detail: { type: "string" },
    code: { type: "string", enum: Object.keys(ERROR_CODES) },
    message: { type: "string" },
    path: { type: "string", description: "The place in the input that is at fault." },
    hint: { type: "string", description: "What to do about it." },
    retryable: { type: "boolean" },
    violations: { type: "array", items: { type: "object" } },
    details: { type: "object" },
  },
};
