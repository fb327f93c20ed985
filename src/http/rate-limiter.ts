/** How often a caller may call: a bucket that fills at a steady rate and never holds more than a burst. */
import { BatonError } from "../base/errors.ts";

export interface RateLimit {
  /** Calls a second that a caller may make for long. */
  readonly perSecond: number;
  /** Calls it may make at once. */
  readonly burst: number;
}

interface Bucket {
  level: number;
  at: number;
}

/** Callers that are remembered; whoever has not called for longest is forgotten, with a full bucket. */
const MAX_CALLERS = 10_000;

export class RateLimiter {
  readonly #rate: RateLimit;
  readonly #buckets = new Map<string, Bucket>();
  readonly #now: () => number;

  constructor(rate: RateLimit, now: () => number = () => performance.now()) {
    this.#rate = rate;
    this.#now = now;
  }

  /** Throws when this caller has used up what it may. */
  take(caller: string): void {
    const { perSecond, burst } = this.#rate;
    const now = this.#now();
    const bucket = this.#buckets.get(caller) ?? { level: burst, at: now };
    bucket.level = Math.min(burst, bucket.level + ((now - bucket.at) / 1_000) * perSecond);
    bucket.at = now;
    this.#buckets.delete(caller); // Put back at the end: who called last is last.
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
      message: `More than ${perSecond} calls a second (${burst} at once).`,
      path: "",
      hint: "Call less often, or start the hub with a larger --rate-limit.",
      details: { perSecond, burst, retryAfterS: Math.ceil((1 - level) / perSecond) },
    });
  }
}
