/**
 * What was read of a token is believed for a short while, so that a call costs no look-up of its own.
 * Kept by the token's id, which is no secret, and for each store once: what proves a token is compared
 * again each time. So long, at most, a revoked token, or one of an agent that was disabled, still opens.
 */
import type { EntryRow } from "../store/rows.ts";
import type { Store } from "../store/store.ts";
import type { Workspace } from "../workspace/workspace.ts";
import { ANY_AGENT, type StoredToken, storedTokenOf, TOKEN } from "./stored-token.ts";

/** At most 2 seconds: stated in docs/SECURITY.md. */
const CACHE_TTL_MS = 2_000;
/** Then the one that was read first makes room. */
const MAX_CACHED_TOKENS = 10_000;

export interface CachedToken {
  readonly kept: StoredToken;
  readonly digest: Buffer;
  readonly isDisabled: boolean;
  /** What the store's clock showed, and what this process's did. */
  readonly storeAt: number;
  readonly at: number;
}

interface TokenCacheEntry {
  readonly workspace: string;
  readonly at: number;
  /** Shared by all who ask at the same time. */
  readonly facts: Promise<CachedToken | undefined>;
}

const caches = new WeakMap<Store, Map<string, TokenCacheEntry>>();

/** Where tokens of any workspace are looked up. */
export type TokenSource = Pick<Workspace, "store" | "clock">;

/** What is known of a token; undefined when the workspace has none of that id. */
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
  // A clock that was set back must not make belief last.
  const isFresh = before !== undefined && at >= before.at && at - before.at < CACHE_TTL_MS;
  if (isFresh && before.workspace === workspace) return before.facts;
  const looked = { workspace, at, facts: loadToken(store, { workspace, id, at }) };
  known.delete(id);
  if (known.size >= MAX_CACHED_TOKENS) known.delete(known.keys().next().value as string);
  known.set(id, looked);
  // Only what is there is remembered: made-up ids push nobody out, and trouble is not kept.
  const drop = () => known.get(id) === looked && known.delete(id);
  looked.facts.then((facts) => facts ?? drop(), drop);
  return looked.facts;
}

/** Read again before it is believed the next time. */
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
  return { kept, digest: Buffer.from(kept.digest, "hex"), isDisabled, storeAt: now, at };
}

/** An agent that is disabled, or is none, is let in by no token. */
async function isAgentDisabled(store: Store, workspace: string, agent: string): Promise<boolean> {
  if (agent === ANY_AGENT) return false;
  const row = await store.findAgent(workspace, agent);
  return row === undefined || row.status === "disabled";
}
