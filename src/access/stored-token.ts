/** A token as the workspace stores it: an entry under its id, with its digest but not its text. */

import type { EntryRow } from "../store/rows.ts";
import { entryValue } from "../workspace/entries.ts";
import type { Access } from "./levels.ts";

/** The entry kind. */
export const TOKEN = "token";

/** The agent of a token that may act as any agent of the workspace. */
export const ANY_AGENT = "*";

/** The stored value of a token. */
export interface StoredToken {
  readonly access: Access;
  /** A canonical agent id, or `*`. */
  readonly agent: string;
  /** The SHA-256 of the text (token-text.ts), in hex. */
  readonly digest: string;
  /**
   * When it expires; absent if it is valid until revoked. All times are the store's, in milliseconds since
   * 1970.
   */
  readonly expiresAt?: number | undefined;
  readonly issuedAt: number;
  /** The agent that issued it; absent if the interface did not know. */
  readonly issuedBy?: string | undefined;
  /** When it was last used, to within five minutes; absent if it was not used yet. */
  readonly lastUsedAt?: number | undefined;
  /** What it is for, as its owner described it. */
  readonly label?: string | undefined;
  /** Why it was revoked. */
  readonly reason?: string | undefined;
  readonly revokedAt?: number | undefined;
  readonly revokedBy?: string | undefined;
}

/** "good": valid. */
export type TokenState = "good" | "expired" | "revoked";

/** A token without its digest, as `tokens.list()` returns it. */
export interface TokenInfo extends Omit<StoredToken, "digest"> {
  readonly id: string;
  readonly state: TokenState;
}

/** Returns the token of an entry. */
export const storedTokenOf = (entry: EntryRow): StoredToken =>
  entryValue<StoredToken>(entry) as StoredToken;

/** Returns the state of a token at a time. */
export function tokenStateAt(now: number, { revokedAt, expiresAt }: StoredToken): TokenState {
  if (revokedAt !== undefined) return "revoked";
  return expiresAt !== undefined && expiresAt <= now ? "expired" : "good";
}

/** Returns a token without its digest, with its state. */
export function tokenInfo(id: string, kept: StoredToken, now: number): TokenInfo {
  const { digest: _, ...info } = kept;
  return { id, state: tokenStateAt(now, kept), ...info };
}
