/** Errors: one class, one table of codes, one JSON form. */
import { describe, expect, it } from "vitest";
import { BatonError, ERROR_CODES, type ErrorCode, isBatonError } from "../../src/index.ts";
import { openFresh, refusal } from "../support/hub/support.ts";

const codes = Object.entries(ERROR_CODES);

describe("the error table", () => {
  it("gives every code its own meaning, in one sentence", () => {
    const meanings = codes.map(([, { meaning }]) => meaning);
    expect(new Set(meanings).size).toBe(codes.length);
    for (const meaning of meanings) expect(meaning).toMatch(/^[A-Z].+\.$/);
    for (const [code] of codes) expect(code).toMatch(/^[a-z]+(_[a-z]+)*$/);
  });

  it("maps every code to a failure in HTTP, JSON-RPC and the command line", () => {
    for (const [code, { http, jsonRpc, exit }] of codes) {
      expect(http, code).toBeGreaterThanOrEqual(400);
      expect(http, code).toBeLessThan(600);
      expect(jsonRpc, code).toBeLessThanOrEqual(-32_000);
      expect(jsonRpc, code).toBeGreaterThanOrEqual(-32_768);
      expect(exit, code).toBeGreaterThanOrEqual(64);
      expect(exit, code).toBeLessThanOrEqual(78);
    }
  });

  it("marks as retryable only errors that the caller did not cause", () => {
    const retryable = codes.filter(([, facts]) => facts.retryable);
    expect(retryable.map(([code]) => code)).toEqual([
      "channel_paused",
      "inbox_full",
      "circuit_open",
      "rate_limited",
      "store_busy",
      "store_full",
      "store_unavailable",
      "hub_unreachable",
      "embedder_unavailable",
      "summarizer_unavailable",
    ]);
    // Temporary conditions outside the hub: a paused channel, a full inbox, too many calls. The
    // others are on the hub's side.
    const others = ["channel_paused", "inbox_full", "rate_limited"];
    for (const [code, { http }] of retryable) {
      expect(http >= 500, code).toBe(!others.includes(code));
    }
  });
});

describe("an error", () => {
  it.each(codes.map(([code]) => code as ErrorCode))("of code %s has one JSON form", (code) => {
    const violation = {
      path: "a[0].b",
      rule: "type",
      message: "a[0].b: is not",
      hint: "Write it.",
    };
    const init = { message: "No.", hint: "Do.", violations: [violation], details: { n: 1 } };
    const error = new BatonError(code, { ...init, cause: new Error("under it") });
    expect(JSON.parse(JSON.stringify(error))).toEqual({
      code,
      message: "No.",
      path: "a[0].b",
      hint: "Do.",
      retryable: ERROR_CODES[code].retryable,
      violations: [violation],
      details: { n: 1 },
    });
    expect(isBatonError(error)).toBe(true);
    expect(error.cause).toMatchObject({ message: "under it" });
    expect(error.name).toBe("BatonError");
  });

  it("is not confused with other values by isBatonError", () => {
    for (const other of [new Error("x"), { code: "store_busy" }, undefined, "store_busy"]) {
      expect(isBatonError(other)).toBe(false);
    }
  });

  it("is store_closed after the hub was closed", async () => {
    for (const store of ["sqlite", "memory"] as const) {
      const hub = await openFresh(store);
      const scout = await hub.agent("scout", {});
      await hub.close();
      await hub.close();
      expect(await refusal(scout.remember({ content: "x" }))).toMatchObject({
        code: "store_closed",
      });
      expect(await refusal(scout.memories.recent())).toMatchObject({ code: "store_closed" });
      expect(await refusal(hub.verify())).toMatchObject({ code: "store_closed" });
    }
  });

  it("about a limit names the limit, its value and the actual value", async () => {
    const hub = await openFresh("memory", { limits: { appendBatch: 2, memoryBytes: 1_000 } });
    const scout = await hub.agent("scout", {});
    const many = Array(3).fill({ content: "x" });
    expect(await refusal(scout.remember(many))).toMatchObject({
      code: "limit_exceeded",
      details: { limit: "appendBatch", max: 2, actual: 3 },
    });
    expect(await refusal(scout.remember({ content: "x".repeat(1_000) }))).toMatchObject({
      code: "limit_exceeded",
      details: { limit: "memoryBytes", max: 1_000 },
    });
    const wrong = openFresh("memory", { limits: { patience: 3 } as never });
    expect(await refusal(wrong)).toMatchObject({ code: "invalid_input", path: "limits.patience" });
  });
});
