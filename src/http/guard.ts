/**
 * Who may talk to the hub at all, before anybody is asked who they are. A page in a browser can be made
 * to call an address on the same machine (DNS rebinding, forms, images): such a call names another host
 * or another origin, and is refused. Nothing is shared with other origins unless they are named.
 */
import { BatonError } from "../base/errors.ts";

export interface Guard {
  /** Host names the hub answers to, besides those of this machine's loopback. */
  readonly hosts: readonly string[];
  /** Origins whose pages may call it, besides its own: `https://team.example`. */
  readonly origins: readonly string[];
}

const LOOPBACK = ["localhost", "127.0.0.1", "[::1]"];

/** On every answer: nothing is cached, framed, sniffed or told to other sites. */
export const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  "cache-control": "no-store",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
};

export function checkHostAndOrigin(request: Request, { hosts, origins }: Guard): void {
  const host = hostNameOf(request);
  if (host === undefined || ![...LOOPBACK, ...hosts].includes(host)) {
    throw new BatonError("forbidden", {
      message: "The hub does not answer to that host name.",
      path: "host",
      hint: "Call it by the address it prints when it starts, or start it with --allow-host <name>.",
    });
  }
  const origin = request.headers.get("origin");
  const isForeign = origin !== null && !isSameOrigin(origin, request) && !origins.includes(origin);
  const isCrossSite = origin === null && request.headers.get("sec-fetch-site") === "cross-site";
  if (isForeign || isCrossSite) {
    throw new BatonError("forbidden", {
      message: "Pages of other origins may not call this hub.",
      path: "origin",
      hint: "Start it with --allow-origin <origin> for a page that may.",
    });
  }
}

/** Without its port. */
function hostNameOf(request: Request): string | undefined {
  const host = request.headers.get("host") ?? new URL(request.url).host;
  return /^(\[[\da-f:.]+\]|[\w.-]+)(?::\d{1,5})?$/i.exec(host)?.[1]?.toLowerCase();
}

const isSameOrigin = (origin: string, request: Request): boolean => {
  const host = request.headers.get("host") ?? new URL(request.url).host;
  return origin === `http://${host}` || origin === `https://${host}`;
};

/** What a page of a named origin needs to read the answer; nothing for everybody else. */
export function corsHeaders(request: Request, { origins }: Guard): Record<string, string> {
  const origin = request.headers.get("origin");
  if (origin === null || !origins.includes(origin)) return {};
  return {
    "access-control-allow-origin": origin,
    "access-control-expose-headers": "retry-after",
    vary: "origin",
  };
}

/** The answer to a browser that asks first. */
export function preflight(request: Request, guard: Guard): Response {
  const sharing = corsHeaders(request, guard);
  const allowed = Object.keys(sharing).length > 0;
  const headers = allowed
    ? {
        ...sharing,
        "access-control-allow-methods": "GET, POST, PUT, PATCH, DELETE",
        "access-control-allow-headers":
          request.headers.get("access-control-request-headers") ?? "content-type",
        "access-control-max-age": "600",
      }
    : {};
  return new Response(null, { status: 204, headers });
}
