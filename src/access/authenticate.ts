/**
 * Authenticates a token: returns its agent, workspace and access level, or why it was refused. The text
 * contains the name of its workspace, so any hub on the store can check it. The secret is compared first, so
 * only a caller with the right secret learns that a token has expired or was revoked.
 */
import { timingSafeEqual } from "node:crypto";
import type { Access } from "./levels.ts";
import { tokenStateAt } from "./stored-token.ts";
import { type CachedToken, findCachedToken, type TokenSource } from "./token-cache.ts";
import { parseToken } from "./token-text.ts";
import { recordUse } from "./token-use.ts";

/** The bearer of a valid token, and what it may do in its workspace only. */
export interface Bearer {
  readonly kind: "bearer";
  /** The id of the token. */
  readonly token: string;
  readonly workspace: string;
  /** A canonical agent id; `*` for any agent of the workspace. */
  readonly agent: string;
  readonly access: Access;
  /** When it expires, in the store's time; absent if it does not. */
  readonly expiresAt?: number | undefined;
}

/** Why a token was refused. */
export interface AuthenticationRefusal {
  readonly kind: "refused";
  readonly why: "malformed" | "unknown" | "expired" | "revoked" | "disabled";
}

const refusalOf = (why: AuthenticationRefusal["why"]): AuthenticationRefusal => ({
  kind: "refused",
  why,
});

/** Checks a token. Uses cached data that is at most 2 seconds old. */
export async function authenticate(
  registry: TokenSource,
  text: unknown,
): Promise<Bearer | AuthenticationRefusal> {
  const token = parseToken(text);
  if (token === undefined) return refusalOf("malformed");
  const { workspace, id, digest } = token;
  const facts = await findCachedToken(registry, workspace, id);
  if (facts === undefined || !isSame(digest, facts.digest)) return refusalOf("unknown");
  const { kept, isDisabled } = facts;
  const now = storeTimeNow(registry, facts);
  const state = tokenStateAt(now, kept);
  if (state !== "good") return refusalOf(state);
  if (isDisabled) return refusalOf("disabled");
  recordUse(registry, facts, { workspace, id, at: now });
  const { agent, access, expiresAt } = kept;
  const until = expiresAt === undefined ? {} : { expiresAt };
  return { kind: "bearer", token: id, workspace, agent, access, ...until };
}

/** A digest of another length is a damaged row and matches nothing. */
const isSame = (a: Buffer, b: Buffer): boolean => a.length === b.length && timingSafeEqual(a, b);

/** The current time of the store, estimated from the time that passed in this process since it was read. */
const storeTimeNow = ({ clock }: TokenSource, { storeAt, at }: CachedToken): number =>
  storeAt + Math.max(0, clock.now() - at);
