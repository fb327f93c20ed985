/**
 * Who is calling: by the token, and where a hub is open to this machine, by what the caller says. The
 * agent a call acts as comes from the connection (token, header), never from its input.
 */

import type { Access } from "../access/levels.ts";
import { unauthenticated } from "../access/refusals.ts";
import { ANY_AGENT } from "../access/stored-token.ts";
import { Name } from "../envelope/schema.ts";
import { parseOrThrow } from "../envelope/violations.ts";
import type { LocalHub } from "../hub/hub.ts";
import { HEADERS } from "../operations/wire/headers.ts";

export interface Caller {
  /** By what its calls are counted and its answers kept: a token's id, or "open". */
  readonly id: string;
  readonly workspace: string;
  readonly access: Access;
  /** Who it acts as; undefined where it named nobody. */
  readonly agent: string | undefined;
  /** The one agent its token is bound to. */
  readonly bound: string | undefined;
}

/** What a caller without a token may do; false: nothing. */
export type AnonymousAccess = Access | false;

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

/** Said by whatever stands between: then nobody knows that the caller is on this machine. */
const FORWARDED = ["forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-real-ip"] as const;

const isForwarded = ({ headers }: Request): boolean => FORWARDED.some((name) => headers.has(name));

function tokenIn(request: Request): string | undefined {
  const said = request.headers.get("authorization");
  if (said === null) return undefined;
  const token = /^Bearer +(\S+)$/i.exec(said)?.[1];
  if (token === undefined) throw unauthenticated("malformed");
  return token;
}

/** Header values are Latin-1 on the wire: names are sent percent-encoded. */
export function header(request: Request, name: string, what: string): string | undefined {
  const said = request.headers.get(name);
  if (said === null) return undefined;
  return parseOrThrow(Name, decoded(said), { code: "invalid_input", what, prefix: name });
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // A percent sign that stands for itself.
  }
}
