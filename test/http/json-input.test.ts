/** JSON that the hub refuses as it is: keys that JavaScript drops, and values that are nested too deeply. */
import { describe, expect, it } from "vitest";
import { as, served } from "./support.ts";

const DEEP = 100_000;
const nested = (levels: number): string => `${"[".repeat(levels)}${"]".repeat(levels)}`;

/** Sends a body as it is, since JSON.stringify writes neither of these values. */
async function post(path: string, body: string, headers: Record<string, string> = {}) {
  const { fetch, hub } = await served({ open: "admin" });
  await hub.agent("ada", { role: "coder" });
  const response = await fetch(path, {
    method: "POST",
    headers: { ...as("ada"), "content-type": "application/json", ...headers },
    body,
  });
  return { status: response.status, answer: (await response.json()) as object, hub };
}

const KEYED = { "idempotency-key": "k-1" };

describe("a request", () => {
  it.each([
    [
      "in a memory's data",
      "/v1/memories",
      '{"memories":[{"content":"x","data":{"a":[{"__proto__":1}]}}]}',
    ],
    [
      "with an escape",
      "/v1/memories",
      '{"memories":[{"content":"x","data":{"\\u005f_proto__":1}}]}',
    ],
    [
      "in a payload",
      "/v1/handoffs",
      '{"draft":{"to":"ada","intent":"x","payload":{"type":"t","data":{"__proto__":{}}}}}',
    ],
    ["at the top", "/v1/memories", '{"__proto__":{"memories":[]},"memories":[{"content":"x"}]}'],
  ])("is refused for a key named __proto__ %s [OPS-5]", async (_, path, body) => {
    const { status, answer, hub } = await post(path, body);
    expect(status).toBe(400);
    expect(answer).toMatchObject({
      code: "invalid_input",
      path: expect.stringContaining("__proto__"),
      hint: expect.stringMatching(/\w/),
    });
    expect((await hub.memories.recent()).items).toEqual([]);
  });

  it.each([{}, KEYED])(
    "is refused if its body is nested too deeply, with %j [OPS-5]",
    async (key) => {
      const body = `{"memories":[{"content":"x","data":{"a":${nested(DEEP)}}}]}`;
      const { status, answer } = await post("/v1/memories", body, key);
      expect(status).toBe(400);
      expect(answer).toMatchObject({
        code: "invalid_input",
        path: "memories",
        hint: expect.stringMatching(/Flatten/),
      });
    },
  );

  it("is refused for both in its query, too [OPS-5]", async () => {
    const { fetch } = await served({ open: "admin" });
    for (const value of [nested(DEEP / 100), '{"__proto__":1}']) {
      const response = await fetch(`/v1/memories?limit=${encodeURIComponent(value)}`, {});
      expect(response.status).toBe(400);
      expect(await response.json()).toMatchObject({ code: "invalid_input" });
    }
  });
});
