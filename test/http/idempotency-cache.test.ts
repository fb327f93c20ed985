/** Idempotency keys: the same key of the same caller is the same call. */
import { describe, expect, it } from "vitest";
import { IdempotencyCache } from "../../src/http/idempotency-cache.ts";
import { refused } from "../support/refusal.ts";

const asked = { caller: "tok_1", key: "k-1", request: '["remember",{}]' };
const reply = (body: string, status = 200) => ({ status, headers: {}, body });

function counting(answer: () => Promise<ReturnType<typeof reply>>) {
  let runs = 0;
  const run = () => {
    runs++;
    return answer();
  };
  return { run, runs: () => runs };
}

describe("replies", () => {
  it("carries a call out once, and gives its answer again, marked [OPS-7]", async () => {
    const replies = new IdempotencyCache();
    const { run, runs } = counting(async () => reply("done"));
    expect(await replies.once(asked, run)).toEqual(reply("done"));
    expect(await replies.once(asked, run)).toEqual({
      ...reply("done"),
      headers: { "idempotency-replayed": "true" },
    });
    expect(runs()).toBe(1);
  });

  it("lets who asks again wait for a call that is under way [OPS-7]", async () => {
    const replies = new IdempotencyCache();
    const answer = Promise.withResolvers<ReturnType<typeof reply>>();
    const { run, runs } = counting(() => answer.promise);
    const both = [replies.once(asked, run), replies.once(asked, run)];
    answer.resolve(reply("once"));
    expect((await Promise.all(both)).map(({ body }) => body)).toEqual(["once", "once"]);
    expect(runs()).toBe(1);
  });

  it("refuses the key for another call, and keeps callers apart [OPS-7]", async () => {
    const replies = new IdempotencyCache();
    const { run, runs } = counting(async () => reply("mine"));
    await replies.once(asked, run);
    await refused(() => replies.once({ ...asked, request: "[]" }, run), {
      code: "idempotency_conflict",
    });
    await replies.once({ ...asked, caller: "tok_2" }, run);
    expect(runs()).toBe(2);
  });

  it("does not keep an answer that says when to try again [OPS-7]", async () => {
    const replies = new IdempotencyCache();
    const paused = { ...reply("", 409), headers: { "retry-after": "1" } };
    const { run, runs } = counting(async () => paused);
    await replies.once(asked, run);
    await replies.once(asked, run);
    expect(runs()).toBe(2);
  });

  it.each([500, 503, 429, 408])(
    "does not keep an answer of %i: another try may go better",
    async (status) => {
      const replies = new IdempotencyCache();
      const { run, runs } = counting(async () => reply("", status));
      await replies.once(asked, run);
      await replies.once(asked, run);
      expect(runs()).toBe(2);
    },
  );

  it("keeps a refusal that would be the same again", async () => {
    const replies = new IdempotencyCache();
    const { run, runs } = counting(async () => reply("{}", 422));
    await replies.once(asked, run);
    expect((await replies.once(asked, run)).status).toBe(422);
    expect(runs()).toBe(1);
  });

  it("does not keep what threw", async () => {
    const replies = new IdempotencyCache();
    const { run, runs } = counting(async () => {
      throw new Error("gone");
    });
    await expect(replies.once(asked, run)).rejects.toThrow("gone");
    await expect(replies.once(asked, run)).rejects.toThrow("gone");
    expect(runs()).toBe(2);
  });

  it("forgets after ten minutes, and the oldest first when there are too many", async () => {
    let now = 0;
    const replies = new IdempotencyCache(() => now);
    const { run, runs } = counting(async () => reply("x"));
    await replies.once(asked, run);
    now += 600_001;
    await replies.once(asked, run);
    expect(runs()).toBe(2);
    for (let i = 0; i < 10_001; i++) await replies.once({ ...asked, key: `more-${i}` }, run);
    await replies.once(asked, run);
    expect(runs()).toBe(2 + 10_001 + 1);
  });

  it.each(["", "x".repeat(256), "two words", "ü"])("refuses the key %j [OPS-7]", async (key) => {
    const replies = new IdempotencyCache();
    const { run, runs } = counting(async () => reply("x"));
    await refused(() => replies.once({ ...asked, key }, run), {
      code: "invalid_input",
      path: "idempotency-key",
    });
    expect(runs()).toBe(0);
  });
});
