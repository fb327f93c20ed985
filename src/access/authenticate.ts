/**
 * Whose token it is. The text names its workspace, so any hub on the store can tell; the secret is
 * compared before anything else is said, so only who has it learns that it has expired.
 */
import { timingSafeEqual } from "node:crypto";
import { type Facts, factsOf, type Registry } from "./believed.ts";
import { stateAt } from "./kept-token.ts";
import type { Access } from "./levels.ts";
import { readToken } from "./token-text.ts";

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

export interface Refused {
  readonly kind: "refused";
  readonly why: "malformed" | "unknown" | "expired" | "revoked" | "disabled";
}

const refused = (why: Refused["why"]): Refused => ({ kind: "refused", why });

/** Tells from what was read of the token in the last two seconds at most. */
export async function authenticate(registry: Registry, text: unknown): Promise<Bearer | Refused> {
  const token = readToken(text);
  if (token === undefined) return refused("malformed");
  const { workspace, id, digest } = token;
  const facts = await factsOf(registry, workspace, id);
  if (facts === undefined || !isSame(digest, facts.digest)) return refused("unknown");
  const { kept, isDisabled } = facts;
  const state = stateAt(storeTimeNow(registry, facts), kept);
  if (state !== "good") return refused(state);
  if (isDisabled) return refused("disabled");
  const { agent, access, expiresAt } = kept;
  const until = expiresAt === undefined ? {} : { expiresAt };
  return { kind: "bearer", token: id, workspace, agent, access, ...until };
}

/** A digest of another length is a damaged row, and fits nothing. */
const isSame = (a: Buffer, b: Buffer): boolean => a.length === b.length && timingSafeEqual(a, b);

/** What the store's clock shows now, by how far this process's has come since. */
const storeTimeNow = ({ clock }: Registry, { storeAt, at }: Facts): number =>
  storeAt + Math.max(0, clock.now() - at);
