/**
 * Authenticates callers of the user who started the hub, on the same machine, without a step for that user.
 * The hub has a token of its own that is valid until it stops (local-files.ts stores it). A browser gets a
 * cookie instead, in exchange for a code that works once; programs that can read the token can make such
 * codes (`baton start` and `baton login` print one as an address).
 */
import { createHash, createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import type { Access } from "../access/levels.ts";

const PREFIX = "baton_local_";
const SECRET_BYTES = 32;
const NONCE_BYTES = 16;

/** Access level of programs that have the token. What only an admin may do needs an issued token. */
const PROGRAM_ACCESS: Access = "coordinator";
/**
 * Access level of browsers. A cookie is sent to every port of its host, so another program on this machine
 * can get hold of it: it must not allow a change.
 */
const BROWSER_ACCESS: Access = "reader";

/** Returns whether a text has the form of a local token, of this hub or another. */
export const isLocalToken = (text: string): boolean => text.startsWith(PREFIX);

/** Returns a code that signs in one browser, once. */
export function loginCode(token: string): string {
  const nonce = randomBytes(NONCE_BYTES).toString("base64url");
  return `${nonce}.${derive(token, `login ${nonce}`)}`;
}

/** A caller on this machine: a program or a browser. */
export interface LocalCaller {
  readonly id: "local" | "browser";
  readonly access: Access;
}

/** The token of one hub, and the browsers that signed in with a code. */
export class LocalAccess {
  readonly token = PREFIX + randomBytes(SECRET_BYTES).toString("base64url");
  readonly #cookie = derive(this.token, "cookie");
  readonly #redeemed = new Set<string>();

  /** Returns the caller of a request by its token, or without one by its cookie; undefined: neither. */
  callerOf(request: Request, token: string | undefined): LocalCaller | undefined {
    if (token === undefined) {
      return this.hasCookie(request) ? { id: "browser", access: BROWSER_ACCESS } : undefined;
    }
    return isSame(token, this.token) ? { id: "local", access: PROGRAM_ACCESS } : undefined;
  }

  /** Returns the request with the token, for callers that proved who they are by reaching the socket. */
  authorize(request: Request): Request {
    if (request.headers.has("authorization")) return request;
    const headers = new Headers(request.headers);
    headers.set("authorization", `Bearer ${this.token}`);
    return new Request(request, { headers });
  }

  /** Returns the Set-Cookie header for a code; undefined if it is invalid or was used before. */
  redeem(request: Request, code: string): string | undefined {
    const [nonce = "", proof = ""] = code.split(".");
    const isValid = isSame(proof, derive(this.token, `login ${nonce}`));
    if (!isValid || this.#redeemed.has(nonce)) return undefined;
    this.#redeemed.add(nonce);
    return `${cookieName(request)}=${this.#cookie}; Path=/; HttpOnly; SameSite=Strict`;
  }

  /** Returns whether a browser signed in and its page is one of this hub, not of another local port. */
  hasCookie({ headers, url }: Request): boolean {
    const site = headers.get("sec-fetch-site");
    if (site !== null && site !== "same-origin" && site !== "none") return false;
    const name = cookieName({ url });
    const cookies = (headers.get("cookie") ?? "").split(/; */).map((each) => each.split("=", 2));
    return cookies.some(([key, value]) => key === name && isSame(value ?? "", this.#cookie));
  }
}

/** Returns the name of the cookie: by port, because all hubs of a machine share its cookies. */
const cookieName = ({ url }: Pick<Request, "url">): string => `baton_${new URL(url).port || "80"}`;

const derive = (token: string, purpose: string): string =>
  createHmac("sha256", token).update(purpose).digest("base64url");

const digest = (text: string): Buffer => createHash("sha256").update(text).digest();

/** Compares in constant time, whatever the lengths. */
const isSame = (a: string, b: string): boolean => timingSafeEqual(digest(a), digest(b));
