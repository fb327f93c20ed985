/** The rate limiter: burst, rate, retry time, and the number of callers it tracks. */
import { describe, expect, it } from "vitest";
import { RateLimiter } from "../../src/http/rate-limiter.ts";
import { caught } from "../support/caught.ts";

describe("the rate limiter", () => {
  it("allows each caller a burst, then a fixed rate [OPS-5]", () => {
    let now = 0;
    const limiter = new RateLimiter({ perSecond: 10, burst: 3 }, () => now);
    const takes = (caller: string) => caught(() => limiter.take(caller)) === undefined;
    expect([takes("a"), takes("a"), takes("a"), takes("a")]).toEqual([true, true, true, false]);
    expect(takes("b")).toBe(true);
    now += 100; // Refills exactly one call.
    expect([takes("a"), takes("a")]).toEqual([true, false]);
    now += 60_000; // Never refills more than a burst.
    expect([takes("a"), takes("a"), takes("a"), takes("a")]).toEqual([true, true, true, false]);
  });

  it("says when to retry [OPS-5]", () => {
    const limiter = new RateLimiter({ perSecond: 0.5, burst: 1 }, () => 0);
    limiter.take("a");
    expect(caught(() => limiter.take("a"))).toMatchObject({
      code: "rate_limited",
      retryable: true,
      details: { retryAfterS: 2 },
    });
  });

  it("tracks a limited number of callers, and drops the one that called least recently", () => {
    const limiter = new RateLimiter({ perSecond: 1, burst: 1 }, () => 0);
    limiter.take("first");
    for (let i = 0; i < 10_000; i++) limiter.take(`caller ${i}`);
    expect(caught(() => limiter.take("first"))).toBeUndefined();
    expect(caught(() => limiter.take("caller 9999"))).toMatchObject({ code: "rate_limited" });
  });
});
