/**
 * Calls as one caller makes them: an input becomes a request (wire/address.ts), with who is calling in
 * its headers, and the answer what the same call gives in the hub's own process. Whatever changes
 * something has a key that was made for this call alone: tried again, it is the same call.
 */
import { randomUUID } from "node:crypto";
import { BatonError } from "../base/errors.ts";
import { layOut } from "../wire/address.ts";
import type { CallName, InputOf, OutputOf } from "../wire/calls.ts";
import { HEADERS, ROUTES } from "../wire/routes.ts";
import { requireFields } from "./besides.ts";
import type { Connection, Outgoing, Sending } from "./connection.ts";
import { linesOf } from "./lines.ts";
import { errorOf, isProblem, unreachable } from "./problem.ts";
import { requireSayable } from "./sayable.ts";

/** Who is calling. */
export interface Caller {
  readonly agent?: string | undefined;
  readonly session?: string | undefined;
  readonly branch?: string | undefined;
  readonly silentMs?: number | undefined;
}

export interface CallOptions extends Sending {
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

  async call<Name extends CallName>(
    name: Name,
    input: InputOf<Name>,
    options: CallOptions = {},
  ): Promise<OutputOf<Name>> {
    const said = input as Readonly<Record<string, unknown>>;
    requireFields(said);
    requireParts(name, said);
    requireSayable(name, said);
    const { method, path, body } = layOut(name, said);
    const { key = randomUUID(), onProgress, ...sending } = options;
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
    const read = (response: Response) => this.#toldOf<OutputOf<Name>>(response, listener);
    return this.connection.send(outgoing, { ...sending, long: true }, read);
  }

  /** A request whose answer is read by whoever sent it. */
  open<T>(outgoing: Outgoing, read: (response: Response) => Promise<T>): Promise<T> {
    const headers = { ...this.#headers, ...outgoing.headers };
    return this.connection.send({ ...outgoing, headers }, { long: true }, read);
  }

  /** An answer that was cut off is as good as none. */
  async #json<T>(response: Response): Promise<T> {
    return parsed<T>(await response.text());
  }

  /** Lines: how far it has come, each time, then the answer or why there is none. */
  async #toldOf<T>(
    response: Response,
    onProgress: ((progress: unknown) => void) | undefined,
  ): Promise<T> {
    if (!response.headers.get("content-type")?.includes(LINES_TYPE)) return this.#json(response);
    for await (const line of linesOf(response)) {
      const said = parsed<Readonly<Record<string, unknown>>>(line);
      if ("answer" in said) return said["answer"] as T;
      const { problem } = said;
      if (isProblem(problem)) throw errorOf(problem);
      if ("progress" in said) onProgress?.(said["progress"]);
    }
    throw unreachable(this.connection.hub, "the connection ended before the answer");
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

/** Not a BatonError: what cannot be read may be read the next time. */
function parsed<T>(text: string): T {
  try {
    return JSON.parse(text) as T;
  } catch (cause) {
    throw new Error("the answer is no JSON", { cause });
  }
}

/** Refused before it is sent: a part of an address cannot be empty, or lead elsewhere. */
function requireParts(name: CallName, input: Readonly<Record<string, unknown>>): void {
  for (const [, part = ""] of ROUTES[name].matchAll(/:(\w+)/g)) {
    const value = input[part];
    if (typeof value === "string" && !["", ".", ".."].includes(value)) continue;
    throw new BatonError("invalid_input", {
      message: `${part}: must be a text that names something.`,
      path: part,
      hint: "Pass a name or an id.",
    });
  }
}
