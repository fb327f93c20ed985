/**
 * Checks the Host and Origin headers before authentication. A web page can make a browser call an address on
 * the same machine (DNS rebinding, forms, images): such a request names another host or origin, and is
 * refused. CORS headers are sent only to origins that are explicitly allowed.
 */
import { clip } from "../base/clip.ts";
import { BatonError } from "../base/errors.ts";

/** The hosts and origins that may call the hub. */
export interface Guard {
  /** Host names that the hub answers to, in addition to the loopback names. */
  readonly hosts: readonly string[];
  /** Origins with pages that may call the hub, in addition to its own: `https://team.example`. */
  readonly origins: readonly string[];
}

const LOOPBACK = ["localhost", "127.0.0.1", "[::1]"];

/** Sent with every response: no caching, framing, content sniffing or referrers. */
export const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  "cache-control": "no-store",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
};

/**
 * Throws forbidden if the host or the origin of a request is not allowed. `isPublic`: whether a path shows
 * nothing of the store.
 */
export function checkHostAndOrigin(
  request: Request,
  { hosts, origins }: Guard,
  isPublic: (path: string) => boolean = () => false,
): void {
  const host = hostNameOf(request);
  if (host === undefined || ![...LOOPBACK, ...hosts].includes(host)) {
    throw new BatonError("forbidden", {
      message: "The Host header names a host that this hub does not allow.",
      path: "host",
      hint: "Use the address that the hub prints at startup, or start it with --allow-host <name>.",
    });
  }
  const origin = request.headers.get("origin");
  const isForeign = origin !== null && !isSameOrigin(origin, request) && !origins.includes(origin);
  if (isForeign || (origin === null && isFromOtherSite(request, isPublic))) {
    throw new BatonError("forbidden", {
      message: "Requests from pages of this origin are not allowed.",
      path: "origin",
      hint: "Start the hub with --allow-origin <origin> to allow it.",
    });
  }
}

/**
 * Returns whether a page of another origin made a browser send this. Pages of another port of this machine are
 * of the same site, but not the hub's; a link on one of them may open a public page.
 */
function isFromOtherSite(request: Request, isPublic: (path: string) => boolean): boolean {
  const { headers, url } = request;
  const site = headers.get("sec-fetch-site");
  if (site === "cross-site") return true;
  if (site !== "same-site") return false;
  const isNavigation =
    headers.get("sec-fetch-mode") === "navigate" && headers.get("sec-fetch-dest") === "document";
  return !(isNavigation && isPublic(new URL(url).pathname));
}

/** Throws `invalid_input` for an origin that cannot be allowed. */
export function checkOrigins(origins: readonly string[]): void {
  for (const origin of origins) {
    if (origin === "null") {
      throw new BatonError("invalid_input", {
        message:
          'Invalid origin "null": browsers send it for sandboxed frames and local files, so it names no page.',
        path: "origins",
        hint: "Serve the page from an origin of its own, and allow that one.",
      });
    }
    if (URL.canParse(origin) && new URL(origin).origin === origin) continue;
    throw new BatonError("invalid_input", {
      message: `Invalid origin "${clip(origin, MAX_ORIGIN_SHOWN)}".`,
      path: "origins",
      hint: "Pass scheme, host and port, without a path: https://team.example.",
    });
  }
}

const MAX_ORIGIN_SHOWN = 100;

/** Returns the host name without its port; undefined if the header is invalid. */
function hostNameOf(request: Request): string | undefined {
  const host = request.headers.get("host") ?? new URL(request.url).host;
  return /^(\[[\da-f:.]+\]|[\w.-]+)(?::\d{1,5})?$/i.exec(host)?.[1]?.toLowerCase();
}

const isSameOrigin = (origin: string, request: Request): boolean => {
  const host = request.headers.get("host") ?? new URL(request.url).host;
  return origin === `http://${host}` || origin === `https://${host}`;
};

/** Returns the CORS headers for a page of an allowed origin; empty for any other caller. */
export function corsHeaders(request: Request, { origins }: Guard): Record<string, string> {
  const origin = request.headers.get("origin");
  if (origin === null || !origins.includes(origin)) return {};
  return {
    "access-control-allow-origin": origin,
    "access-control-expose-headers": "retry-after",
    vary: "origin",
  };
}

/** Returns the response to a CORS preflight request. */
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
