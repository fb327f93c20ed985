/**
 * Whose token it is. The text names its workspace, so any hub on the store can tell; the secret is
 * compared before anything else is said, so only who has it learns that it has expired.
 */
import { timingSafeEqual } from "node:crypto";
import type { Access } from "./levels.ts";
import { tokenStateAt } from "./stored-token.ts";
import { type CachedToken, findCachedToken, type TokenSource } from "./token-cache.ts";
import { parseToken } from "./token-text.ts";

/** Who comes in with a token, and what it allows: in its workspace, and in no other. */
export interface Bearer {
  readonly kind: "bearer";
  /** The token's id. */
  readonly token: string;
  readonly workspace: string;
  /** A canonical id; `*` for any agent of the workspace. */
  readonly agent: string;
  readonly access: Access;
  readonly expiresAt?: number | undefined;
}

export interface AuthenticationRefusal {
  readonly kind: "refused";
  readonly why: "malformed" | "unknown" | "expired" | "revoked" | "disabled";
}

const refusalOf = (why: AuthenticationRefusal["why"]): AuthenticationRefusal => ({
  kind: "refused",
  why,
});

/** Tells from what was read of the token in the last two seconds at most. */
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
  const state = tokenStateAt(storeTimeNow(registry, facts), kept);
  if (state !== "good") return refusalOf(state);
  if (isDisabled) return refusalOf("disabled");
  const { agent, access, expiresAt } = kept;
  const until = expiresAt === undefined ? {} : { expiresAt };
  return { kind: "bearer", token: id, workspace, agent, access, ...until };
}

/** A digest of another length is a damaged row, and fits nothing. */
const isSame = (a: Buffer, b: Buffer): boolean => a.length === b.length && timingSafeEqual(a, b);

/** What the store's clock shows now, by how far this process's has come since. */
const storeTimeNow = ({ clock }: TokenSource, { storeAt, at }: CachedToken): number =>
  storeAt + Math.max(0, clock.now() - at);
