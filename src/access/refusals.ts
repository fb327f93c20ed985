/**
 * Errors for refused tokens and missing permissions: the same texts in every interface, never with the token
 * in them.
 */
import { BatonError } from "../base/errors.ts";
import { SYSTEM } from "../memory/system-author.ts";
import type { AuthenticationRefusal, Bearer } from "./authenticate.ts";
import { type Access, hasAccess } from "./levels.ts";
import { ANY_AGENT } from "./stored-token.ts";

type WhyUnauthenticated = AuthenticationRefusal["why"] | "missing" | "forwarded";

const REFUSAL_MESSAGES: Readonly<
  Record<WhyUnauthenticated, readonly [message: string, hint: string]>
> = {
  missing: [
    "This hub requires a token, and the request has none.",
    "Get a token from the administrator of the hub. Send it in the header Authorization: Bearer <token>; the SDK and the command line read it from BATON_TOKEN. Programs of the user who started the hub find a token in the folder ~/.baton/hubs.",
  ],
  forwarded: [
    "The request came through a proxy, and this hub accepts local callers only directly.",
    "Get a token from the administrator of the hub. Send it in the header Authorization: Bearer <token>; the SDK and the command line read it from BATON_TOKEN.",
  ],
  malformed: [
    "The token is malformed.",
    "Copy the whole token, starting with baton_; a character is missing or wrong.",
  ],
  unknown: [
    "The token is unknown to the hub.",
    "Get a new token from the administrator of the hub.",
  ],
  expired: ["The token has expired.", "Get a new token from the administrator of the hub."],
  revoked: ["The token was revoked.", "Get a new token from the administrator of the hub."],
  disabled: [
    "The agent of the token is disabled.",
    "Ask the administrator of the hub to enable the agent, or for another token.",
  ],
};

/** Returns the `unauthenticated` error for a request without a valid token. */
export function unauthenticated(why: WhyUnauthenticated): BatonError {
  const [message, hint] = REFUSAL_MESSAGES[why];
  return new BatonError("unauthenticated", { message, path: "token", hint, details: { why } });
}

/** Throws `forbidden` if the access level of the token is too low. `what`: what requires the level. */
export function requireAccess(
  { access }: Pick<Bearer, "access">,
  needs: Access,
  what = "This",
): void {
  if (hasAccess(access, needs)) return;
  throw new BatonError("forbidden", {
    message: `${what} requires the access level "${needs}"; the token has "${access}".`,
    path: "token",
    hint: `Ask the administrator of the hub for a token with access "${needs}".`,
    details: { has: access, needs },
  });
}

/**
 * Throws `forbidden` if the bearer may not act as this agent, by its canonical id. The hub's own id is never
 * allowed.
 */
export function requireActAs({ agent }: Pick<Bearer, "agent">, as: string): void {
  if (as !== SYSTEM && (agent === ANY_AGENT || agent === as)) return;
  throw new BatonError("forbidden", {
    message:
      as === SYSTEM
        ? `"${SYSTEM}" is reserved for the hub; no caller can act as it.`
        : `The token belongs to agent "${agent}" and cannot act as "${as}".`,
    path: "agent",
    hint: `Act as ${agent === ANY_AGENT ? "a registered agent" : `"${agent}"`}, or use a token of the other agent.`,
    details: { agent, as },
  });
}
