/**
 * Calls operations as one caller: turns an input into a request (src/operations/wire/request.ts) with headers
 * that identify the caller, and the response into the value that the same call returns in the hub's process.
 * Every call that changes something has a new idempotency key, so that a retry is the same call.
 */
import { BatonError, isBatonError } from "../../base/errors.ts";
import { OPERATION_TABLE } from "../../operations/table.ts";
import { HEADERS } from "../../operations/wire/headers.ts";
import { toRequest } from "../../operations/wire/request.ts";
import { routeOf } from "../../operations/wire/route.ts";
import type { OperationShape } from "../../operations/wire/shape.ts";
import { newCallKey } from "./call-key.ts";
import { requireFields } from "./call-options.ts";
import type { Connection, OutgoingRequest, SendOptions } from "./connection.ts";
import { type JsonFaults, jsonFaults, mergeFaults } from "./json-faults.ts";
import { linesOf } from "./lines.ts";
import { errorOf, hubUnreachable, isProblem } from "./problem.ts";

/** The caller: agent, session, branch and session timeout. */
export interface Caller {
  readonly agent?: string | undefined;
  readonly session?: string | undefined;
  readonly branch?: string | undefined;
  readonly silentMs?: number | undefined;
}

/** Options of `Wire.call()`. */
export interface CallOptions extends SendOptions {
  /** The idempotency key, if the call may have to be repeated later (default: a new key). */
  readonly key?: string | undefined;
  /** Called with progress. */
  readonly onProgress?: ((progress: never) => void) | undefined;
}

const JSON_TYPE = "application/json";
const LINES_TYPE = "application/x-ndjson";

/** Calls operations as one caller. */
export class Wire {
  readonly connection: Connection;
  readonly #always: Readonly<Record<string, string>>;
  readonly #headers: Readonly<Record<string, string>>;

  /** `always`: headers of every request, for any caller. */
  constructor(connection: Connection, always: Readonly<Record<string, string>>, caller?: Caller) {
    this.connection = connection;
    this.#always = always;
    this.#headers = { ...always, ...headersOf(caller ?? {}) };
  }

  /** Returns a Wire for another caller on the same connection. */
  as(caller: Caller): Wire {
    return new Wire(this.connection, this.#always, caller);
  }

  /** Calls an operation and returns its output. Throws the hub's error. */
  async call<Output>(name: string, input: object, options: CallOptions = {}): Promise<Output> {
    const operation = operationOf(name);
    const fields = input as Readonly<Record<string, unknown>>;
    requireFields(fields);
    requirePathParameters(operation, fields);
    const faults = jsonFaults(name, fields);
    if (faults !== undefined) throw await this.#refusal(faults);
    const { method, path, body } = toRequest(operation, fields);
    const { key = newCallKey(), onProgress, ...sending } = options;
    // Long calls always stream progress: fetch gives up after five minutes without data.
    const asLines = onProgress !== undefined || sending.long === true;
    const outgoing = {
      method,
      path,
      headers: {
        ...this.#headers,
        [HEADERS.client]: "sdk",
        accept: asLines ? LINES_TYPE : JSON_TYPE,
        ...(body === undefined ? {} : { "content-type": JSON_TYPE }),
        ...(method === "GET" ? {} : { [HEADERS.key]: key }),
      },
      body: body === undefined ? undefined : JSON.stringify(body),
    };
    if (!asLines) {
      return this.connection.send(outgoing, sending, (response) => this.#json(response));
    }
    const listener = onProgress as ((progress: unknown) => void) | undefined;
    const read = (response: Response) => this.#readLines<Output>(response, listener);
    return this.connection.send(outgoing, { ...sending, long: true }, read);
  }

  /** Returns an error with all violations of a draft: the hub checks what JSON can represent. */
  async #refusal({ error, draft }: JsonFaults): Promise<BatonError> {
    if (draft === undefined) return error;
    try {
      await this.call("handoffs.lint", { draft });
    } catch (found) {
      if (isBatonError(found) && found.code === error.code) return mergeFaults(found, error);
    }
    return error;
  }

  /** Sends a request and lets the caller read the response, without timeout and retries. */
  open<T>(outgoing: OutgoingRequest, read: (response: Response) => Promise<T>): Promise<T> {
    const headers = { ...this.#headers, [HEADERS.client]: "sdk", ...outgoing.headers };
    return this.connection.send({ ...outgoing, headers }, { long: true }, read);
  }

  /** Parses a response; a truncated one throws, and the call is retried. */
  async #json<T>(response: Response): Promise<T> {
    return parseJson<T>(await response.text());
  }

  /** Reads NDJSON lines: progress, then the answer or the problem. */
  async #readLines<T>(
    response: Response,
    onProgress: ((progress: unknown) => void) | undefined,
  ): Promise<T> {
    if (!response.headers.get("content-type")?.includes(LINES_TYPE)) return this.#json(response);
    for await (const line of linesOf(response)) {
      const message = parseJson<Readonly<Record<string, unknown>>>(line);
      if ("answer" in message) return message["answer"] as T;
      const { problem } = message;
      if (isProblem(problem)) throw errorOf(problem);
      if ("progress" in message) onProgress?.(message["progress"]);
    }
    throw hubUnreachable(this.connection.hub, "the connection ended before the response");
  }
}

/** Returns the headers of a caller, percent-encoded: names can contain characters that headers cannot. */
function headersOf({ agent, session, branch, silentMs }: Caller): Record<string, string> {
  const said = {
    [HEADERS.agent]: agent,
    [HEADERS.session]: session,
    [HEADERS.branch]: branch,
    [HEADERS.sessionMs]: silentMs?.toString(),
  };
  return Object.fromEntries(
    Object.entries(said).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, encodeURIComponent(value)]],
    ),
  );
}

function operationOf(name: string): OperationShape {
  const found = OPERATION_TABLE[name];
  if (found === undefined) throw new Error(`unknown operation "${name}"`);
  return found;
}

/** Throws an Error that is not a BatonError, so that the call is retried. */
function parseJson<T>(text: string): T {
  try {
    return JSON.parse(text) as T;
  } catch (cause) {
    throw new Error("the response is not valid JSON", { cause });
  }
}

/** Throws if a path parameter is empty, "." or "..": it would change the path. */
function requirePathParameters(
  operation: OperationShape,
  input: Readonly<Record<string, unknown>>,
): void {
  const [, path] = routeOf(operation);
  for (const [, part = ""] of path.matchAll(/:(\w+)/g)) {
    const value = input[part];
    if (typeof value === "string" && !["", ".", ".."].includes(value)) continue;
    throw new BatonError("invalid_input", {
      message: `${part}: must be a non-empty text other than "." and "..".`,
      path: part,
      hint: "Pass a name or an id.",
    });
  }
}
