/**
 * Authenticates the caller of a request: by its token or, if the hub is open to this machine, by its headers.
 * The agent that a call acts as comes from the connection (token, header), never from the input.
 */

import type { Access } from "../access/levels.ts";
import { unauthenticated } from "../access/refusals.ts";
import { ANY_AGENT } from "../access/stored-token.ts";
import { Name } from "../envelope/schema.ts";
import { parseOrThrow } from "../envelope/violations.ts";
import type { LocalHub } from "../hub/hub.ts";
import { HEADERS } from "../operations/wire/headers.ts";

/** An authenticated caller. */
export interface Caller {
  /** Key for rate limits and idempotency: the token's id, or "open" without a token. */
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

/** Returns the caller of a request. Throws unauthenticated if the token is missing or invalid. */
export async function callerOf(
  request: Request,
  hub: LocalHub,
  open: AnonymousAccess,
): Promise<Caller> {
  const named = header(request, HEADERS.agent, "The agent");
  const token = tokenIn(request);
  if (token === undefined) {
    if (open === false || isForwarded(request)) throw unauthenticated("missing");
    const workspace = header(request, HEADERS.workspace, "The workspace") ?? hub.workspace;
    return { id: "open", workspace, access: open, agent: named, bound: undefined };
  }
  const bearer = await hub.authenticate(token);
  if (bearer.kind === "refused") throw unauthenticated(bearer.why);
  const { token: id, workspace, access } = bearer;
  const bound = bearer.agent === ANY_AGENT ? undefined : bearer.agent;
  return { id, workspace, access, agent: named ?? bound, bound };
}

/** Headers set by proxies: with any of them, the caller may not be on this machine. */
const FORWARDED = ["forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-real-ip"] as const;

const isForwarded = ({ headers }: Request): boolean => FORWARDED.some((name) => headers.has(name));

function tokenIn(request: Request): string | undefined {
  const said = request.headers.get("authorization");
  if (said === null) return undefined;
  const token = /^Bearer +(\S+)$/i.exec(said)?.[1];
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
