/** A token as the workspace keeps it: an entry under its id, with everything but what proves it. */

import type { EntryRow } from "../store/rows.ts";
import { entryValue } from "../workspace/entries.ts";
import type { Access } from "./levels.ts";

/** The kind of the entry. */
export const TOKEN = "token";

/** The agent of a token whose bearer may act as any agent of the workspace. */
export const ANY_AGENT = "*";

export interface StoredToken {
  readonly access: Access;
  /** A canonical id, or `*`. */
  readonly agent: string;
  /** SHA-256 of the text (token-text.ts), in hex. */
  readonly digest: string;
  /** All times are the store's. Without one it is good until it is revoked. */
  readonly expiresAt?: number | undefined;
  readonly issuedAt: number;
  /** Who asked for it, where the door knew. */
  readonly issuedBy?: string | undefined;
  /** What it is for, in its owner's words. */
  readonly label?: string | undefined;
  /** Why it was revoked. */
  readonly reason?: string | undefined;
  readonly revokedAt?: number | undefined;
  readonly revokedBy?: string | undefined;
}

export type TokenState = "good" | "expired" | "revoked";

/** What can be known of a token. */
export interface TokenInfo extends Omit<StoredToken, "digest"> {
  readonly id: string;
  readonly state: TokenState;
}

export const storedTokenOf = (entry: EntryRow): StoredToken =>
  entryValue<StoredToken>(entry) as StoredToken;

export function tokenStateAt(now: number, { revokedAt, expiresAt }: StoredToken): TokenState {
  if (revokedAt !== undefined) return "revoked";
  return expiresAt !== undefined && expiresAt <= now ? "expired" : "good";
}

export function tokenInfo(id: string, kept: StoredToken, now: number): TokenInfo {
  const { digest: _, ...told } = kept;
  return { id, state: tokenStateAt(now, kept), ...told };
}
