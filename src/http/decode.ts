/** A request's input: what stands in its address, its query and its body, put together. */
import * as z from "zod";
import { clip } from "../base/clip.ts";
import { BatonError, isBatonError } from "../base/errors.ts";
import { nearestNames } from "../base/nearest-names.ts";
import { jsonIn } from "../operations/wire/request.ts";

type Input = Record<string, unknown>;

interface OperationInput {
  readonly input: z.ZodObject;
  readonly rest?: true;
}

export interface UndecodedRequest {
  readonly request: Request;
  /** The parts of the path that are named, decoded. */
  readonly params: Readonly<Record<string, string>>;
  readonly bodyBytes: number;
}

export async function decode(operation: OperationInput, read: UndecodedRequest): Promise<Input> {
  const { request, params } = read;
  const given =
    request.method === "GET" || request.method === "DELETE"
      ? queryIn(operation.input, new URL(request.url).searchParams)
      : await bodyIn(request, read.bodyBytes);
  for (const name of Object.keys(params)) {
    if (Object.hasOwn(given, name)) throw duplicateField(name);
  }
  const input: Input = { ...given, ...params };
  if (operation.rest === undefined) refuseUnknown(operation.input, input);
  return input;
}

/** JSON where it is JSON, else the text; and always the text where only a text can be meant. */
export function queryIn(schema: z.ZodObject, query: URLSearchParams): Input {
  const input = new Map<string, unknown>(); // A query can name __proto__ too.
  for (const [name, text] of query) {
    if (input.has(name)) throw duplicateField(name);
    const json = jsonIn(text);
    const isText =
      json === undefined || (typeof json.value !== "string" && isTextOnly(schema, name));
    input.set(name, isText ? text : json.value);
  }
  return Object.fromEntries(input);
}

/** By field: what a schema takes does not change. */
const textOnly = new WeakMap<object, boolean>();

/** By what its description says: trying values would need one that every field of numbers takes. */
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

/** The object that a body is; none where there is no body. */
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
    hint: "Send the fields of the call as one object.",
  });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new BatonError("invalid_input", {
      message: "The body is no JSON.",
      path: "body",
      hint: "Send a JSON object with content-type: application/json.",
      cause: error,
    });
  }
}

/** The body as text, never more than may be: what is longer is refused before it is read. */
async function textOf(request: Request, most: number): Promise<string> {
  const said = request.headers.get("content-length");
  if (said !== null && Number(said) > most) throw bodyTooLarge(most);
  // Who says a length is believed: asking for `body` would make a stream of what is read at once.
  if (said === null ? request.body === null : Number(said) === 0) return "";
  if (!/^application\/([\w.-]+\+)?json\b/i.test(request.headers.get("content-type") ?? "")) {
    throw new BatonError("invalid_input", {
      message: "The body must be JSON.",
      path: "content-type",
      hint: "Send it with content-type: application/json.",
    });
  }
  try {
    // Node reads no more than was said.
    if (said !== null) return UTF8.decode(await request.arrayBuffer());
    return await readStreamText(request.body as ReadableStream<Uint8Array>, most);
  } catch (error) {
    throw isBatonError(error) ? error : unreadable(error);
  }
}

async function readStreamText(body: ReadableStream<Uint8Array>, most: number): Promise<string> {
  const decoder = new TextDecoder("utf-8", { fatal: true }); // Keeps half a character for the next chunk.
  let text = "";
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.byteLength;
    if (bytes > most) throw bodyTooLarge(most);
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

/** What a body is read by: bytes that are no text are refused rather than stored as something else. */
const UTF8 = new TextDecoder("utf-8", { fatal: true });

const unreadable = (error: unknown): BatonError =>
  (error as NodeJS.ErrnoException).code === "ERR_ENCODING_INVALID_ENCODED_DATA"
    ? new BatonError("invalid_input", {
        message: "The body is no UTF-8.",
        path: "body",
        hint: "JSON is sent as UTF-8, whatever the text was written in.",
        cause: error,
      })
    : incompleteBody(error);

/** A body piece by piece, however long. */
export async function* piecesOf({ body }: Request): AsyncGenerator<Uint8Array, void, undefined> {
  try {
    if (body !== null) yield* body;
  } catch (error) {
    throw incompleteBody(error);
  }
}

/** Its sender has gone, or has broken off in the middle: no mistake of ours. */
const incompleteBody = (cause: unknown): BatonError =>
  new BatonError("invalid_input", {
    message: "The body ended before it was whole.",
    path: "body",
    hint: "Send it again.",
    cause,
  });

const bodyTooLarge = (most: number): BatonError =>
  new BatonError("limit_exceeded", {
    message: `The body is longer than ${most} bytes.`,
    path: "body",
    hint: "Send less at a time, or start the hub with a larger --body-limit.",
    details: { limit: "bodyBytes", max: most },
  });

const duplicateField = (name: string): BatonError =>
  new BatonError("invalid_input", {
    message: `"${name}" is given twice.`,
    path: name,
    hint: "Give it once: in the path, the query or the body, as the reference says.",
  });

/** Of a name that is said back. */
const MAX_NAME_SHOWN = 100;

function refuseUnknown(schema: z.ZodObject, input: Input): void {
  for (const name of Object.keys(input)) {
    if (Object.hasOwn(schema.shape, name)) continue;
    const known = Object.keys(schema.shape);
    const [near] = nearestNames(name, known);
    throw new BatonError("invalid_input", {
      message: `There is no field "${clip(name, MAX_NAME_SHOWN)}" here.`,
      path: clip(name, MAX_NAME_SHOWN),
      hint:
        near === undefined
          ? `Known fields: ${known.join(", ") || "none"}.`
          : `Did you mean "${near}"?`,
    });
  }
}
