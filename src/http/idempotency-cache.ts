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
  readonly reply: Promise<Reply>;
  bytes: number;
}

/** Responses by caller and key. */
export class IdempotencyCache {
  readonly #kept = new Map<string, CacheEntry>();
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
    {
      caller,
      key,
      request,
    }: { readonly caller: string; readonly key: string; readonly request: string },
    run: () => Promise<Reply>,
  ): Promise<Reply> {
    if (key.length > KEY_LENGTH || !/^[\x21-\x7e]+$/.test(key)) throw malformed();
    this.#forgetOld();
    const name = digest(`${caller}\0${key}`);
    const asked = digest(request);
    const before = this.#kept.get(name);
    if (before !== undefined) {
      if (before.request !== asked) throw conflict();
      const reply = await before.reply;
      return { ...reply, headers: { ...reply.headers, [HEADERS.replayed]: "true" } };
    }
    const kept: CacheEntry = { request: asked, at: this.#now(), reply: run(), bytes: 0 };
    this.#kept.set(name, kept);
    return this.#keep(name, kept);
  }

  async #keep(name: string, kept: CacheEntry): Promise<Reply> {
    try {
      const reply = await kept.reply;
      if (isTransient(reply)) this.#drop(name);
      else if (this.#kept.get(name) === kept) {
        kept.bytes = reply.body.length;
        this.#bytes += kept.bytes;
      }
      return reply;
    } catch (error) {
      this.#drop(name);
      throw error;
    }
  }

  #forgetOld(): void {
    const since = this.#now() - ENTRY_TTL_MS;
    for (const [name, { at }] of this.#kept) {
      const isFull = this.#kept.size >= MAX_ENTRIES || this.#bytes > MAX_BYTES;
      if (at >= since && !isFull) return;
      this.#drop(name);
    }
  }

  #drop(name: string): void {
    this.#bytes -= this.#kept.get(name)?.bytes ?? 0;
    this.#kept.delete(name);
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
