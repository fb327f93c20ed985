/**
 * Authenticates the caller of a request: by an issued token, or by what only programs and browsers of the
 * hub's own user on this machine have (local-access.ts).
 * The agent that a call acts as comes from the connection (token, header), never from the input.
 */

import type { Access } from "../access/levels.ts";
import { unauthenticated } from "../access/refusals.ts";
import { ANY_AGENT } from "../access/stored-token.ts";
import { Name } from "../envelope/schema.ts";
import { parseOrThrow } from "../envelope/violations.ts";
import type { LocalHub } from "../hub/hub.ts";
import { HEADERS } from "../operations/wire/headers.ts";
import { isLocalToken, type LocalAccess } from "./local-access.ts";

/** An authenticated caller. */
export interface Caller {
  /** Key for rate limits and idempotency: the token's id, "local", "browser", or "open" without a token. */
  readonly id: string;
  readonly workspace: string;
  readonly access: Access;
  /** The agent it acts as; undefined if it named none. */
  readonly agent: string | undefined;
  /** The agent that its token is bound to; undefined if the token can act as any agent. */
  readonly bound: string | undefined;
}

/** Access level of callers without a token; false: none. */
export type AnonymousAccess = Access | false;

/** How callers without an issued token are treated. */
export interface LocalRules {
  readonly open: AnonymousAccess;
  /** Undefined: the hub accepts issued tokens only. */
  readonly local: LocalAccess | undefined;
}

/** Returns the caller of a request. Throws unauthenticated if the token is missing or invalid. */
export async function callerOf(
  request: Request,
  hub: LocalHub,
  rules: LocalRules,
): Promise<Caller> {
  const named = header(request, HEADERS.agent, "The agent");
  const token = tokenIn(request);
  if (token === undefined || isLocalToken(token)) {
    const { id, access } = localCallerOf(request, token, rules);
    const workspace = header(request, HEADERS.workspace, "The workspace") ?? hub.workspace;
    return { id, workspace, access, agent: named, bound: undefined };
  }
  const bearer = await hub.authenticate(token);
  if (bearer.kind === "refused") throw unauthenticated(bearer.why);
  const { token: id, workspace, access } = bearer;
  const bound = bearer.agent === ANY_AGENT ? undefined : bearer.agent;
  return { id, workspace, access, agent: named ?? bound, bound };
}

function localCallerOf(
  request: Request,
  token: string | undefined,
  { open, local }: LocalRules,
): Pick<Caller, "id" | "access"> {
  const anonymous =
    open === false || token !== undefined ? undefined : { id: "open", access: open };
  const caller = local?.callerOf(request, token) ?? anonymous;
  if (caller === undefined) throw unauthenticated(token === undefined ? "missing" : "unknown");
  if (isForwarded(request)) throw unauthenticated("forwarded");
  return caller;
}

/** Headers set by proxies: with any of them, the caller may not be on this machine. */
const FORWARDED = [
  ...["forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip"],
  ...["cf-connecting-ip", "fly-client-ip", "true-client-ip"],
] as const;

const isForwarded = ({ headers }: Request): boolean => FORWARDED.some((name) => headers.has(name));

function tokenIn(request: Request): string | undefined {
  const value = request.headers.get("authorization");
  if (value === null) return undefined;
  const token = /^Bearer +(\S+)$/i.exec(value)?.[1];
  if (token === undefined) throw unauthenticated("malformed");
  return token;
}

/** Returns a header with a name, percent-decoded: header values are Latin-1, so names are sent encoded. */
export function header(request: Request, name: string, what: string): string | undefined {
  const said = request.headers.get(name);
  if (said === null) return undefined;
  return parseOrThrow(Name, decoded(said), { code: "invalid_input", what, prefix: name });
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // A literal percent sign.
  }
}
