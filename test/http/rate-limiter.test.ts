/** How often a caller may call. */
import { describe, expect, it } from "vitest";
import { RateLimiter } from "../../src/http/rate-limiter.ts";
import { caught } from "../support/caught.ts";

describe("the rate of calls", () => {
  it("is a burst, then so many a second, for each caller by itself [OPS-5]", () => {
    let now = 0;
    const limiter = new RateLimiter({ perSecond: 10, burst: 3 }, () => now);
    const takes = (caller: string) => caught(() => limiter.take(caller)) === undefined;
    expect([takes("a"), takes("a"), takes("a"), takes("a")]).toEqual([true, true, true, false]);
    expect(takes("b")).toBe(true);
    now += 100; // One more, and no more than one.
    expect([takes("a"), takes("a")]).toEqual([true, false]);
    now += 60_000; // Never more than a burst, however long it waited.
    expect([takes("a"), takes("a"), takes("a"), takes("a")]).toEqual([true, true, true, false]);
  });

  it("says when to come back [OPS-5]", () => {
    const limiter = new RateLimiter({ perSecond: 0.5, burst: 1 }, () => 0);
    limiter.take("a");
    expect(caught(() => limiter.take("a"))).toMatchObject({
      code: "rate_limited",
      retryable: true,
      details: { retryAfterS: 2 },
    });
  });

  it("remembers no more callers than it may: who has not called for longest is forgotten", () => {
    const limiter = new RateLimiter({ perSecond: 1, burst: 1 }, () => 0);
    limiter.take("first");
    for (let i = 0; i < 10_000; i++) limiter.take(`caller ${i}`);
    expect(caught(() => limiter.take("first"))).toBeUndefined();
    expect(caught(() => limiter.take("caller 9999"))).toMatchObject({ code: "rate_limited" });
  });
});
