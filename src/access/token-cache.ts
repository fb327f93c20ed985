/**
 * Caches token data for up to 2 seconds, so that a call does not need a store query. The cache is per store
 * and keyed by the token's id, which is not secret; the digest is compared on every call. A revoked token, or
 * a token of a disabled agent, is therefore accepted for up to 2 seconds.
 */
import type { EntryRow } from "../store/rows.ts";
import type { Store } from "../store/store.ts";
import type { Workspace } from "../workspace/workspace.ts";
import { ANY_AGENT, type StoredToken, storedTokenOf, TOKEN } from "./stored-token.ts";

/** At most 2 seconds: stated in docs/SECURITY.md. */
const CACHE_TTL_MS = 2_000;
/** The cache size; beyond it, the oldest entry is evicted. */
const MAX_CACHED_TOKENS = 10_000;

/** Token data as it was read. */
export interface CachedToken {
  readonly kept: StoredToken;
  /** The revision of the entry. */
  readonly revision: number;
  readonly digest: Buffer;
  readonly isDisabled: boolean;
  /** The time of the store and of this process when it was read. */
  readonly storeAt: number;
  readonly at: number;
}

interface TokenCacheEntry {
  readonly workspace: string;
  readonly at: number;
  /** Shared by concurrent callers. */
  readonly facts: Promise<CachedToken | undefined>;
}

const caches = new WeakMap<Store, Map<string, TokenCacheEntry>>();

/** What is needed to read tokens of any workspace. */
export type TokenSource = Pick<Workspace, "store" | "clock">;

/** Returns a token, cached or read; undefined if the workspace has no token with that id. */
export function findCachedToken(
  registry: TokenSource,
  workspace: string,
  id: string,
): Promise<CachedToken | undefined> {
  const { store, clock } = registry;
  const known = caches.get(store) ?? new Map<string, TokenCacheEntry>();
  caches.set(store, known);
  const before = known.get(id);
  const at = clock.now();
  // A clock that was set back must not extend the cache time.
  const isFresh = before !== undefined && at >= before.at && at - before.at < CACHE_TTL_MS;
  if (isFresh && before.workspace === workspace) return before.facts;
  const looked = { workspace, at, facts: loadToken(store, { workspace, id, at }) };
  known.delete(id);
  if (known.size >= MAX_CACHED_TOKENS) known.delete(known.keys().next().value as string);
  known.set(id, looked);
  // Only existing tokens are cached: invented ids evict nothing, and errors are not cached.
  const drop = () => known.get(id) === looked && known.delete(id);
  looked.facts.then((facts) => facts ?? drop(), drop);
  return looked.facts;
}

/** Removes a token from the cache, so that the next check reads it again. */
export function evictToken(store: Store, id: string): void {
  caches.get(store)?.delete(id);
}

async function loadToken(
  store: Store,
  { workspace, id, at }: { readonly workspace: string; readonly id: string; readonly at: number },
): Promise<CachedToken | undefined> {
  const entry: EntryRow | undefined = await store.findEntry(workspace, TOKEN, id);
  if (entry === undefined) return undefined;
  const kept = storedTokenOf(entry);
  const [isDisabled, { now }] = await Promise.all([
    isAgentDisabled(store, workspace, kept.agent),
    store.listDue({ workspace, gone: [], limit: 1 }),
  ]);
  const { revision } = entry;
  return { kept, revision, digest: Buffer.from(kept.digest, "hex"), isDisabled, storeAt: now, at };
}

/** Returns true if the agent is disabled or does not exist; its tokens are refused. */
async function isAgentDisabled(store: Store, workspace: string, agent: string): Promise<boolean> {
  if (agent === ANY_AGENT) return false;
  const row = await store.findAgent(workspace, agent);
  return row === undefined || row.status === "disabled";
}
