/** The idempotency cache: a call that repeats the key of the same caller gets the stored answer. */
import { describe, expect, it } from "vitest";
import { IdempotencyCache } from "../../src/http/idempotency-cache.ts";
import { refused } from "../support/refusal.ts";

const asked = { caller: "tok_1", account: "tok_1", key: "k-1", request: '["remember",{}]' };
const reply = (body: string, status = 200) => ({ status, headers: {}, body });

function counting(answer: () => Promise<ReturnType<typeof reply>>) {
  let runs = 0;
  const run = () => {
    runs++;
    return answer();
  };
  return { run, runs: () => runs };
}

describe("the idempotency cache", () => {
  it("runs a call once, and replays its answer with a header [OPS-7]", async () => {
    const replies = new IdempotencyCache();
    const { run, runs } = counting(async () => reply("done"));
    expect(await replies.once(asked, run)).toEqual(reply("done"));
    expect(await replies.once(asked, run)).toEqual({
      ...reply("done"),
      headers: { "idempotency-replayed": "true" },
    });
    expect(runs()).toBe(1);
  });

  it("makes a repeated call wait for the one in progress [OPS-7]", async () => {
    const replies = new IdempotencyCache();
    const answer = Promise.withResolvers<ReturnType<typeof reply>>();
    const { run, runs } = counting(() => answer.promise);
    const both = [replies.once(asked, run), replies.once(asked, run)];
    answer.resolve(reply("once"));
    expect((await Promise.all(both)).map(({ body }) => body)).toEqual(["once", "once"]);
    expect(runs()).toBe(1);
  });

  it("refuses the key for another request, and separates callers [OPS-7]", async () => {
    const replies = new IdempotencyCache();
    const { run, runs } = counting(async () => reply("mine"));
    await replies.once(asked, run);
    await refused(() => replies.once({ ...asked, request: "[]" }, run), {
      code: "idempotency_conflict",
    });
    await replies.once({ ...asked, caller: "tok_2" }, run);
    expect(runs()).toBe(2);
  });

  it("does not keep an answer with retry-after [OPS-7]", async () => {
    const replies = new IdempotencyCache();
    const paused = { ...reply("", 409), headers: { "retry-after": "1" } };
    const { run, runs } = counting(async () => paused);
    await replies.once(asked, run);
    await replies.once(asked, run);
    expect(runs()).toBe(2);
  });

  it.each([500, 503, 429, 408])(
    "does not keep an answer with status %i, which a retry may avoid",
    async (status) => {
      const replies = new IdempotencyCache();
      const { run, runs } = counting(async () => reply("", status));
      await replies.once(asked, run);
      await replies.once(asked, run);
      expect(runs()).toBe(2);
    },
  );

  it("keeps a refusal that a retry would repeat", async () => {
    const replies = new IdempotencyCache();
    const { run, runs } = counting(async () => reply("{}", 422));
    await replies.once(asked, run);
    expect((await replies.once(asked, run)).status).toBe(422);
    expect(runs()).toBe(1);
  });

  it("does not keep a call that threw", async () => {
    const replies = new IdempotencyCache();
    const { run, runs } = counting(async () => {
      throw new Error("gone");
    });
    await expect(replies.once(asked, run)).rejects.toThrow("gone");
    await expect(replies.once(asked, run)).rejects.toThrow("gone");
    expect(runs()).toBe(2);
  });

  it("drops answers after ten minutes, and the oldest ones when it is full", async () => {
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

  it("keeps the answers of other callers when one caller fills it [OPS-5]", async () => {
    const replies = new IdempotencyCache();
    const { run, runs } = counting(async () => reply("x"));
    await replies.once(asked, run);
    const flood = { ...asked, account: "tok_2" };
    for (let i = 0; i < 10_050; i++) {
      await replies.once({ ...flood, caller: `tok_2 as agent-${i}`, key: `k-${i}` }, run);
    }
    expect(await replies.once(asked, run)).toMatchObject({
      headers: { "idempotency-replayed": "true" },
    });
    expect(runs()).toBe(1 + 10_050);
    await replies.once({ ...flood, caller: "tok_2 as agent-0", key: "k-0" }, run);
    expect(runs()).toBe(1 + 10_050 + 1);
  });

  it("keeps a call in progress when another caller fills it [OPS-5]", async () => {
    const replies = new IdempotencyCache();
    const answer = Promise.withResolvers<ReturnType<typeof reply>>();
    const slow = counting(() => answer.promise);
    const first = replies.once(asked, slow.run);
    const fast = counting(async () => reply("x"));
    for (let i = 0; i < 10_050; i++) await replies.once({ ...asked, key: `k${i}` }, fast.run);
    const again = replies.once(asked, slow.run);
    answer.resolve(reply("once"));
    expect((await Promise.all([first, again])).map(({ body }) => body)).toEqual(["once", "once"]);
    expect(slow.runs()).toBe(1);
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
