/** Token-bucket rate limiter, one bucket per caller: refills at a steady rate up to the burst size. */
import { BatonError } from "../base/errors.ts";

/** A rate limit. */
export interface RateLimit {
  /** Sustained calls per second. */
  readonly perSecond: number;
  /** Calls allowed at once. */
  readonly burst: number;
}

interface Bucket {
  level: number;
  at: number;
}

/** Number of buckets kept; the least recently used one is dropped, so that caller starts with a full one. */
const MAX_CALLERS = 10_000;

/** Limits the calls of each caller. */
export class RateLimiter {
  readonly #rate: RateLimit;
  readonly #buckets = new Map<string, Bucket>();
  readonly #now: () => number;

  constructor(rate: RateLimit, now: () => number = () => performance.now()) {
    this.#rate = rate;
    this.#now = now;
  }

  /** Counts one call. Throws rate_limited if the caller's bucket is empty. */
  take(caller: string): void {
    const { perSecond, burst } = this.#rate;
    const now = this.#now();
    const bucket = this.#buckets.get(caller) ?? { level: burst, at: now };
    bucket.level = Math.min(burst, bucket.level + ((now - bucket.at) / 1_000) * perSecond);
    bucket.at = now;
    this.#buckets.delete(caller); // Moves it to the end: the map is ordered by last call.
    this.#buckets.set(caller, bucket);
    if (this.#buckets.size > MAX_CALLERS) this.#forget();
    if (bucket.level < 1) throw this.#refusal(bucket);
    bucket.level -= 1;
  }

  #forget(): void {
    const [oldest] = this.#buckets.keys();
    if (oldest !== undefined) this.#buckets.delete(oldest);
  }

  #refusal({ level }: Bucket): BatonError {
    const { perSecond, burst } = this.#rate;
    return new BatonError("rate_limited", {
      message: `Rate limit exceeded: ${perSecond} calls per second (${burst} at once).`,
      path: "",
      hint: "Wait for the time in the retry-after header, or start the hub with a larger --rate-limit.",
      details: { perSecond, burst, retryAfterS: Math.ceil((1 - level) / perSecond) },
    });
  }
}
