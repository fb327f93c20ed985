/**
 * Calls as one caller makes them: an input becomes a request (wire/address.ts), with who is calling in
 * its headers, and the answer what the same call gives in the hub's own process. Whatever changes
 * something has a key that was made for this call alone: tried again, it is the same call.
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

/** Who is calling. */
export interface Caller {
  readonly agent?: string | undefined;
  readonly session?: string | undefined;
  readonly branch?: string | undefined;
  readonly silentMs?: number | undefined;
}

export interface CallOptions extends SendOptions {
  /** The call's own key, where it may have to be asked for again later. */
  readonly key?: string | undefined;
  /** Told how far it has come. */
  readonly onProgress?: ((progress: never) => void) | undefined;
}

const JSON_TYPE = "application/json";
const LINES_TYPE = "application/x-ndjson";

export class Wire {
  readonly connection: Connection;
  readonly #always: Readonly<Record<string, string>>;
  readonly #headers: Readonly<Record<string, string>>;

  /** `always`: what every request says, whoever calls. */
  constructor(connection: Connection, always: Readonly<Record<string, string>>, caller?: Caller) {
    this.connection = connection;
    this.#always = always;
    this.#headers = { ...always, ...headersOf(caller ?? {}) };
  }

  /** The same connection, with somebody else calling. */
  as(caller: Caller): Wire {
    return new Wire(this.connection, this.#always, caller);
  }

  async call<Output>(name: string, input: object, options: CallOptions = {}): Promise<Output> {
    const operation = operationOf(name);
    const said = input as Readonly<Record<string, unknown>>;
    requireFields(said);
    requirePathParameters(operation, said);
    const faults = jsonFaults(name, said);
    if (faults !== undefined) throw await this.#refusal(faults);
    const { method, path, body } = toRequest(operation, said);
    const { key = newCallKey(), onProgress, ...sending } = options;
    // What takes long tells how far it has come, heard or not: fetch gives up on five silent minutes.
    const asLines = onProgress !== undefined || sending.long === true;
    const outgoing = {
      method,
      path,
      headers: {
        ...this.#headers,
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
    const read = (response: Response) => this.#toldOf<Output>(response, listener);
    return this.connection.send(outgoing, { ...sending, long: true }, read);
  }

  /** Reports everything that is wrong with a draft at once: the hub checks the rest of it. */
  async #refusal({ error, draft }: JsonFaults): Promise<BatonError> {
    if (draft === undefined) return error;
    try {
      await this.call("handoffs.lint", { draft });
    } catch (found) {
      if (isBatonError(found) && found.code === error.code) return mergeFaults(found, error);
    }
    return error;
  }

  /** A request whose answer is read by whoever sent it. */
  open<T>(outgoing: OutgoingRequest, read: (response: Response) => Promise<T>): Promise<T> {
    const headers = { ...this.#headers, ...outgoing.headers };
    return this.connection.send({ ...outgoing, headers }, { long: true }, read);
  }

  /** An answer that was cut off is as good as none. */
  async #json<T>(response: Response): Promise<T> {
    return parseJson<T>(await response.text());
  }

  /** Lines: how far it has come, each time, then the answer or why there is none. */
  async #toldOf<T>(
    response: Response,
    onProgress: ((progress: unknown) => void) | undefined,
  ): Promise<T> {
    if (!response.headers.get("content-type")?.includes(LINES_TYPE)) return this.#json(response);
    for await (const line of linesOf(response)) {
      const said = parseJson<Readonly<Record<string, unknown>>>(line);
      if ("answer" in said) return said["answer"] as T;
      const { problem } = said;
      if (isProblem(problem)) throw errorOf(problem);
      if ("progress" in said) onProgress?.(said["progress"]);
    }
    throw hubUnreachable(this.connection.hub, "the connection ended before the answer");
  }
}

/** Names can have any letters; a header cannot. */
function headersOf({ agent, session, branch, silentMs }: Caller): Record<string, string> {
  const said = {
    [HEADERS.agent]: agent,
    [HEADERS.session]: session,
    [HEADERS.branch]: branch,
    [HEADERS.silence]: silentMs?.toString(),
  };
  return Object.fromEntries(
    Object.entries(said).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, encodeURIComponent(value)]],
    ),
  );
}

function operationOf(name: string): OperationShape {
  const found = OPERATION_TABLE[name];
  if (found === undefined) throw new Error(`there is no operation "${name}"`);
  return found;
}

/** Not a BatonError: what cannot be read may be read the next time. */
function parseJson<T>(text: string): T {
  try {
    return JSON.parse(text) as T;
  } catch (cause) {
    throw new Error("the answer is no JSON", { cause });
  }
}

/** Refused before it is sent: a part of an address cannot be empty, or lead elsewhere. */
function requirePathParameters(
  operation: OperationShape,
  input: Readonly<Record<string, unknown>>,
): void {
  const [, path] = routeOf(operation);
  for (const [, part = ""] of path.matchAll(/:(\w+)/g)) {
    const value = input[part];
    if (typeof value === "string" && !["", ".", ".."].includes(value)) continue;
    throw new BatonError("invalid_input", {
      message: `${part}: must be a text that names something.`,
      path: part,
      hint: "Pass a name or an id.",
    });
  }
}
