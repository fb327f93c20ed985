/** How a door says no: the same words at each, and nothing of the token in them. */
import { BatonError } from "../base/errors.ts";
import { SYSTEM } from "../memory/agents.ts";
import type { AuthenticationRefusal, Bearer } from "./authenticate.ts";
import { type Access, hasAccess } from "./levels.ts";
import { ANY_AGENT } from "./stored-token.ts";

const REFUSAL_MESSAGES: Readonly<
  Record<AuthenticationRefusal["why"] | "missing", readonly [message: string, hint: string]>
> = {
  missing: [
    "This hub asks for a token.",
    "Ask whoever runs it for one, and set it as BATON_TOKEN (Authorization: Bearer …).",
  ],
  malformed: [
    "That is no token's text.",
    "Copy it whole, from baton_ to its end: a letter is missing or wrong.",
  ],
  unknown: ["The hub does not know the token.", "Ask whoever runs the hub for another."],
  expired: ["The token has expired.", "Ask whoever runs the hub for another."],
  revoked: ["The token was revoked.", "Ask whoever runs the hub for another."],
  disabled: [
    "The agent of the token is disabled.",
    "Ask whoever runs the hub to enable it, or for another token.",
  ],
};

/** The error for a call that nobody is known to make. */
export function unauthenticated(why: AuthenticationRefusal["why"] | "missing"): BatonError {
  const [message, hint] = REFUSAL_MESSAGES[why];
  return new BatonError("unauthenticated", { message, path: "token", hint, details: { why } });
}

/** Throws unless the token's access reaches so far. */
export function requireAccess({ access }: Pick<Bearer, "access">, needs: Access): void {
  if (hasAccess(access, needs)) return;
  throw new BatonError("forbidden", {
    message: `This takes access "${needs}"; the token has "${access}".`,
    path: "token",
    hint: `Ask whoever runs the hub for a token with access "${needs}".`,
    details: { has: access, needs },
  });
}

/** Throws unless the bearer may act as this agent, by its canonical id. As the hub itself, nobody may. */
export function requireActAs({ agent }: Pick<Bearer, "agent">, as: string): void {
  if (as !== SYSTEM && (agent === ANY_AGENT || agent === as)) return;
  throw new BatonError("forbidden", {
    message:
      as === SYSTEM
        ? `"${SYSTEM}" is the hub itself: nobody else acts in its name.`
        : `The token is agent "${agent}"'s: it cannot act as "${as}".`,
    path: "agent",
    hint: `Act as ${agent === ANY_AGENT ? "a registered agent" : `"${agent}"`}, or use a token of the other's.`,
    details: { agent, as },
  });
}
