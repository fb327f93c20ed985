/**
 * Replays responses by idempotency key: a repeated call of the same caller with the same key gets the first
 * response, or waits for it while the first call is in progress. Kept in this process for ten minutes, within
 * limits, to cover lost responses. Protection across a crash of the hub comes from stored keys: a handoff's
 * key, a memory's id, a work's fence.
 */
import { createHash } from "node:crypto";
import { BatonError } from "../base/errors.ts";
import { HEADERS } from "../operations/wire/headers.ts";

const ENTRY_TTL_MS = 600_000;
const MAX_ENTRIES = 10_000;
const MAX_BYTES = 64 * 1024 * 1024;
const KEY_LENGTH = 255;

/** A response that can be repeated. */
export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

interface CacheEntry {
  readonly request: string;
  readonly at: number;
  readonly account: string;
  readonly reply: Promise<Reply>;
  bytes: number;
}

/** What one account keeps: the names of its entries, oldest first, and the size of their responses. */
interface Account {
  readonly names: Set<string>;
  bytes: number;
}

/** A call with an idempotency key. */
interface KeyedCall {
  readonly caller: string;
  /** Who the entry is counted for: callers with the same token share their part of the cache. */
  readonly account: string;
  readonly key: string;
  readonly request: string;
}

/**
 * Responses by caller and key. If the cache is full, the account with the most entries (or bytes) loses its
 * oldest, so that one caller cannot displace the responses of others. A call in progress is never dropped.
 */
export class IdempotencyCache {
  readonly #entries = new Map<string, CacheEntry>();
  readonly #accounts = new Map<string, Account>();
  readonly #now: () => number;
  #bytes = 0;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /**
   * Runs the call, or returns the response of the earlier call with the same key. Throws idempotency_conflict
   * if the key was used for a different call.
   */
  async once(
    { caller, account, key, request }: KeyedCall,
    run: () => Promise<Reply>,
  ): Promise<Reply> {
    if (key.length > KEY_LENGTH || !/^[\x21-\x7e]+$/.test(key)) throw malformed();
    this.#dropExpired();
    const name = digest(`${caller}\0${key}`);
    const requestDigest = digest(request);
    const before = this.#entries.get(name);
    if (before !== undefined) {
      if (before.request !== requestDigest) throw conflict();
      const reply = await before.reply;
      return { ...reply, headers: { ...reply.headers, [HEADERS.replayed]: "true" } };
    }
    const entry = { request: requestDigest, at: this.#now(), account, reply: run(), bytes: 0 };
    this.#entries.set(name, entry);
    return this.#keep(name, entry);
  }

  async #keep(name: string, entry: CacheEntry): Promise<Reply> {
    try {
      const reply = await entry.reply;
      if (isTransient(reply)) this.#drop(name);
      else if (this.#entries.get(name) === entry) this.#count(name, entry, reply.body.length);
      return reply;
    } catch (error) {
      this.#drop(name);
      throw error;
    }
  }

  #count(name: string, entry: CacheEntry, bytes: number): void {
    const account = this.#accounts.get(entry.account) ?? { names: new Set(), bytes: 0 };
    this.#accounts.set(entry.account, account);
    account.names.add(name);
    account.bytes += bytes;
    this.#bytes += bytes;
    entry.bytes = bytes;
    while (this.#entries.size > MAX_ENTRIES || this.#bytes > MAX_BYTES) {
      const [oldest] = this.#largestAccount().names;
      if (oldest === undefined) return; // Everything left is in progress.
      this.#drop(oldest);
    }
  }

  #largestAccount(): Account {
    const size = ({ names, bytes }: Account) => (this.#bytes > MAX_BYTES ? bytes : names.size);
    return this.#accounts.values().reduce((most, each) => (size(each) > size(most) ? each : most));
  }

  #dropExpired(): void {
    const since = this.#now() - ENTRY_TTL_MS;
    for (const [name, { at }] of this.#entries) {
      if (at >= since) return;
      this.#drop(name);
    }
  }

  #drop(name: string): void {
    const entry = this.#entries.get(name);
    if (entry === undefined) return;
    this.#entries.delete(name);
    const account = this.#accounts.get(entry.account);
    if (!account?.names.delete(name)) return; // It was still in progress, and not counted.
    account.bytes -= entry.bytes;
    this.#bytes -= entry.bytes;
    if (account.names.size === 0) this.#accounts.delete(entry.account);
  }
}

const digest = (text: string): string => createHash("sha256").update(text).digest("base64");

/** A retry may succeed, so the response is not kept. */
const isTransient = ({ status, headers }: Reply): boolean =>
  status >= 500 || status === 429 || status === 408 || "retry-after" in headers;

const malformed = (): BatonError =>
  new BatonError("invalid_input", {
    message: "The idempotency key must have 1 to 255 visible ASCII characters.",
    path: HEADERS.key,
    hint: "Use a new UUID for each operation.",
  });

const conflict = (): BatonError =>
  new BatonError("idempotency_conflict", {
    message: "This idempotency key was already used for a different call.",
    path: HEADERS.key,
    hint: "Use a new key for a new call, and repeat a key only to retry the same call.",
  });
