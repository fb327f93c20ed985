/**
 * Records when a token was last used. A hub writes it at most once in five minutes per token, in the
 * background: authentication neither waits for it nor fails with it. The write is based on the revision that
 * was read, so that it never undoes a revocation; if it loses against another change, the next check after the
 * token is read again repeats it.
 */
import { toEntryText } from "../workspace/entries.ts";
import { TOKEN } from "./stored-token.ts";
import type { CachedToken, TokenSource } from "./token-cache.ts";

/** Stated in docs/SECURITY.md. */
const PRECISION_MS = 5 * 60_000;

/** Cached tokens whose use was recorded since they were read. */
const recorded = new WeakSet<CachedToken>();

/** A token that was used, and when, in the store's time. */
export interface TokenUse {
  readonly workspace: string;
  readonly id: string;
  readonly at: number;
}

/** Records a use unless one was recorded in the last five minutes. */
export function recordUse(
  { store }: TokenSource,
  facts: CachedToken,
  { workspace, id, at }: TokenUse,
): void {
  const { kept, revision } = facts;
  if (kept.lastUsedAt !== undefined && at - kept.lastUsedAt < PRECISION_MS) return;
  if (recorded.has(facts)) return;
  recorded.add(facts);
  const value = toEntryText({ ...kept, lastUsedAt: at });
  const put = { kind: TOKEN, name: id, value, basedOn: revision };
  store.putEntry(workspace, put).catch(() => {}); // A store that cannot be written still authenticates.
}
