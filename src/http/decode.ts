/** Decodes the input of a request from its path, query and body. */
import * as z from "zod";
import { clip } from "../base/clip.ts";
import { BatonError, isBatonError } from "../base/errors.ts";
import { nearestNames } from "../base/nearest-names.ts";
import { fieldsAt } from "../envelope/violations.ts";
import { jsonIn } from "../operations/wire/request.ts";
import { checkJsonInput } from "./json-input.ts";

type Input = Record<string, unknown>;

interface OperationInput {
  readonly input: z.ZodObject;
  readonly rest?: true;
}

/** A request with the parameters of its route. */
export interface UndecodedRequest {
  readonly request: Request;
  /** The path parameters, decoded. */
  readonly params: Readonly<Record<string, string>>;
  /** Maximum body size, in bytes. */
  readonly bodyBytes: number;
}

/** Returns the input. Throws invalid_input for unknown or duplicate fields and for an invalid body. */
export async function decode(operation: OperationInput, read: UndecodedRequest): Promise<Input> {
  const { request, params } = read;
  const given =
    request.method === "GET" || request.method === "DELETE"
      ? queryIn(operation.input, new URL(request.url).searchParams)
      : await bodyIn(request, read.bodyBytes);
  for (const name of Object.keys(params)) {
    if (Object.hasOwn(given, name)) throw duplicateField(name);
  }
  checkJsonInput(given);
  const input: Input = { ...given, ...params };
  if (operation.rest === undefined) refuseUnknown(operation.input, input);
  return input;
}

/** Returns the query: values are parsed as JSON if they are JSON, except for fields that take only text. */
export function queryIn(schema: z.ZodObject, query: URLSearchParams): Input {
  const input = new Map<string, unknown>(); // A Map, because a query can contain __proto__.
  for (const [name, text] of query) {
    if (input.has(name)) throw duplicateField(name);
    const json = jsonIn(text);
    const isText =
      json === undefined || (typeof json.value !== "string" && isTextOnly(schema, name));
    input.set(name, isText ? text : json.value);
  }
  return Object.fromEntries(input);
}

/** Whether a field takes only text, cached by its schema. */
const textOnly = new WeakMap<object, boolean>();

/** Decided by the field's JSON Schema: testing values would need a number that every field accepts. */
function isTextOnly(schema: z.ZodObject, name: string): boolean {
  const field = Object.hasOwn(schema.shape, name) ? schema.shape[name] : undefined;
  if (field === undefined) return false;
  const known = textOnly.get(field);
  if (known !== undefined) return known;
  const is = isText(z.toJSONSchema(field, { io: "input", unrepresentable: "any" }));
  textOnly.set(field, is);
  return is;
}

const isText = ({ type, anyOf }: z.core.JSONSchema.BaseSchema): boolean =>
  anyOf === undefined ? type === "string" : anyOf.every(isText);

/** Returns the body as an object; empty without a body. */
export async function bodyIn(request: Request, most: number): Promise<Input> {
  return objectIn(await textOf(request, most));
}

function objectIn(text: string): Input {
  if (text === "") return {};
  const value = parsed(text);
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Input;
  throw new BatonError("invalid_input", {
    message: "The body must be a JSON object.",
    path: "body",
    hint: "Send the input fields as one JSON object.",
  });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new BatonError("invalid_input", {
      message: "The body is not valid JSON.",
      path: "body",
      hint: "Send a JSON object with content-type: application/json.",
      cause: error,
    });
  }
}

/** Returns the body as text. A body over the limit is refused before it is read. */
async function textOf(request: Request, most: number): Promise<string> {
  const said = request.headers.get("content-length");
  if (said !== null && Number(said) > most) throw bodyTooLarge(most);
  // A content-length is trusted: accessing `body` would turn a body that is read at once into a stream.
  if (said === null ? request.body === null : Number(said) === 0) return "";
  if (!/^application\/([\w.-]+\+)?json\b/i.test(request.headers.get("content-type") ?? "")) {
    throw new BatonError("invalid_input", {
      message: "The body must have the content type application/json.",
      path: "content-type",
      hint: "Set the header content-type: application/json.",
    });
  }
  try {
    // Node does not read more than content-length.
    if (said !== null) return UTF8.decode(await request.arrayBuffer());
    return await readStreamText(request.body as ReadableStream<Uint8Array>, most);
  } catch (error) {
    throw isBatonError(error) ? error : unreadable(error);
  }
}

async function readStreamText(body: ReadableStream<Uint8Array>, most: number): Promise<string> {
  const decoder = new TextDecoder("utf-8", { fatal: true }); // Keeps an incomplete character for the next chunk.
  let text = "";
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.byteLength;
    if (bytes > most) throw bodyTooLarge(most);
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

/** Decodes bodies; refuses invalid bytes instead of storing replacement characters. */
const UTF8 = new TextDecoder("utf-8", { fatal: true });

const unreadable = (error: unknown): BatonError =>
  (error as NodeJS.ErrnoException).code === "ERR_ENCODING_INVALID_ENCODED_DATA"
    ? new BatonError("invalid_input", {
        message: "The body is not valid UTF-8.",
        path: "body",
        hint: "Encode the JSON as UTF-8.",
        cause: error,
      })
    : incompleteBody(error);

/** Yields the body in chunks, without a size limit. */
export async function* piecesOf({ body }: Request): AsyncGenerator<Uint8Array, void, undefined> {
  try {
    if (body !== null) yield* body;
  } catch (error) {
    throw incompleteBody(error);
  }
}

/** The sender disconnected or stopped before the end: not a bug in Baton. */
const incompleteBody = (cause: unknown): BatonError =>
  new BatonError("invalid_input", {
    message: "The body ended before it was complete.",
    path: "body",
    hint: "Send the request again.",
    cause,
  });

const bodyTooLarge = (most: number): BatonError =>
  new BatonError("limit_exceeded", {
    message: `The body exceeds ${most} bytes.`,
    path: "body",
    hint: "Split the input over several calls, or start the hub with a larger --body-limit.",
    details: { limit: "bodyBytes", max: most },
  });

const duplicateField = (name: string): BatonError =>
  new BatonError("invalid_input", {
    message: `Field "${name}" is set more than once.`,
    path: name,
    hint: "Set it once, in the path, the query or the body; see /reference.",
  });

/** Characters of an unknown field name that an error repeats. */
const MAX_NAME_SHOWN = 100;

function refuseUnknown(schema: z.ZodObject, input: Input): void {
  for (const name of Object.keys(input)) {
    if (Object.hasOwn(schema.shape, name)) continue;
    const known = Object.keys(schema.shape);
    const [near] = nearestNames(name, known);
    throw new BatonError("invalid_input", {
      message: `Unknown field "${clip(name, MAX_NAME_SHOWN)}".`,
      path: clip(name, MAX_NAME_SHOWN),
      hint:
        near === undefined
          ? (nestedHint(schema, name) ?? `Known fields: ${known.join(", ") || "none"}.`)
          : `Did you mean "${near}"?`,
    });
  }
}

/** Returns the hint for a field that belongs in one of the body's objects: `to` in `draft`. */
function nestedHint({ shape }: z.ZodObject, name: string): string | undefined {
  const outer = Object.entries(shape).find(([, inner]) => fieldsAt(inner, []).includes(name))?.[0];
  return outer && `Send it inside "${outer}": { "${outer}": { "${name}": … } }.`;
}
