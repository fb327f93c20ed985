/** Invalid queries and options: refused with the path of the invalid value. */
import { describe, expect, it } from "vitest";
import { openHub } from "../../src/index.ts";
import { wrongTypes } from "../support/bad-values.ts";
import { refused } from "../support/refusal.ts";
import { openTeam, refusedWithoutTrace } from "../support/team.ts";

const MISSING = "mem_01900000-0000-7000-8000-000000000000";
const NOT_OBJECTS = [null, 42, "text", true, [], () => 1];

describe("memories.recent", () => {
  const GOOD = {
    agent: "coder",
    after: MISSING,
    limit: 3,
    session: "s",
    tag: "t",
    task: "x",
    type: "y",
  };

  it("refuses a field of the wrong type and names the field", async () => {
    const { planner } = await openTeam();
    const { id: after } = await planner.remember({ content: "known" });
    await planner.memories.recent({ ...GOOD, after });
    for (const { title, path, input } of wrongTypes(GOOD)) {
      const expected = { code: "invalid_input", path } as const;
      await refused(() => planner.memories.recent(input), expected).catch((error: Error) =>
        expect.fail(`${title}: ${error.message}`),
      );
    }
  });

  it.each([
    ["limit", { limit: 0 }, "invalid_input"],
    ["limit", { limit: -1 }, "invalid_input"],
    ["limit", { limit: 1.5 }, "invalid_input"],
    ["limit", { limit: 1_001 }, "limit_exceeded"],
    ["after", { after: "7" }, "invalid_input"],
    ["after", { after: MISSING }, "unknown_memory"],
    ["agent", { agent: "two words" }, "invalid_input"],
    ["taks", { taks: "typo" }, "invalid_input"],
  ] as const)("refuses an invalid %s: %j", async (path, query, code) => {
    const { planner } = await openTeam();
    await refused(() => planner.memories.recent(query as never), { code, path });
  });

  it.each(NOT_OBJECTS)("refuses a query that is not an object: %s", async (query) => {
    const { planner } = await openTeam();
    await refused(() => planner.memories.recent(query as never), { code: "invalid_input" });
  });
});

describe("memories.relations", () => {
  it("refuses an invalid query and names the field", async () => {
    const { planner } = await openTeam();
    const { id } = await planner.remember({ content: "x" });
    const good = { at: 1, direction: "in", kinds: ["supports"], limit: 3 };
    await planner.memories.relations(id, good as never);
    for (const { title, path, input } of wrongTypes(good)) {
      const expected = { code: "invalid_input", path: new RegExp(`^${path}\\b`) } as const;
      await refused(() => planner.memories.relations(id, input), expected).catch((error: Error) =>
        expect.fail(`${title}: ${error.message}`),
      );
    }
    await refused(() => planner.memories.relations(id, { limit: 1_001 }), {
      code: "limit_exceeded",
      path: "limit",
    });
    for (const query of NOT_OBJECTS) {
      await refused(() => planner.memories.relations(id, query as never), {
        code: "invalid_input",
      });
    }
  });

  it("refuses an invalid or unknown id, as do read and pin", async () => {
    const { file, planner } = await openTeam();
    for (const id of [
      "",
      "mem_1",
      42,
      null,
      undefined,
      {},
      "env_01900000-0000-7000-8000-000000000000",
    ]) {
      const expected = { code: "invalid_input", path: "id" } as const;
      // Envelopes can be read too, but this one does not exist.
      const isEnvelope = typeof id === "string" && id.startsWith("env_");
      const onReading = isEnvelope ? ({ code: "unknown_envelope", path: "id" } as const) : expected;
      await refused(() => planner.memories.read(id as never), onReading);
      await refused(() => planner.memories.relations(id as never), expected);
      await refusedWithoutTrace(file, () => planner.memories.pin(id as never), expected);
      await refusedWithoutTrace(file, () => planner.memories.unpin(id as never), expected);
    }
    const unknown = { code: "unknown_memory", path: "id" } as const;
    await refused(() => planner.memories.read(MISSING), unknown);
    await refused(() => planner.memories.relations(MISSING), unknown);
    await refusedWithoutTrace(file, () => planner.memories.pin(MISSING), unknown);
  });
});

describe("catchUp", () => {
  it("refuses an invalid query and names the field", async () => {
    const { planner } = await openTeam();
    const good = { agent: "coder", limit: 3, session: "s", tag: "t", task: "x", tokens: 500 };
    await planner.catchUp(good);
    for (const { title, path, input } of wrongTypes(good)) {
      await refused(() => planner.catchUp(input), { code: "invalid_input", path }).catch(
        (error: Error) => expect.fail(`${title}: ${error.message}`),
      );
    }
    await refused(() => planner.catchUp({ tokens: 1 }), { code: "limit_exceeded", path: "tokens" });
    for (const query of NOT_OBJECTS) {
      await refused(() => planner.catchUp(query as never), { code: "invalid_input" });
    }
  });
});

describe("deliveries.waiting", () => {
  it("refuses an invalid query and names the field", async () => {
    const { planner } = await openTeam();
    const good = { limit: 3, task: "x" };
    await planner.deliveries.waiting(good);
    for (const { title, path, input } of wrongTypes(good)) {
      await refused(() => planner.deliveries.waiting(input), { code: "invalid_input", path }).catch(
        (error: Error) => expect.fail(`${title}: ${error.message}`),
      );
    }
    for (const query of [
      { limit: 0 },
      { after: 1.5 },
      { after: { place: 1, id: "x" } },
      { befor: 1 },
    ]) {
      await refused(() => planner.deliveries.waiting(query as never), { code: "invalid_input" });
    }
    await refused(() => planner.deliveries.waiting({ limit: 1_001 }), {
      code: "limit_exceeded",
      path: "limit",
    });
    for (const query of NOT_OBJECTS) {
      await refused(() => planner.deliveries.waiting(query as never), { code: "invalid_input" });
    }
  });
});

describe("resume", () => {
  it.each([
    [""],
    ["dlv_1#1"],
    ["dlv_01900000-0000-7000-8000-000000000000"],
    ["dlv_01900000-0000-7000-8000-000000000000#"],
    ["dlv_01900000-0000-7000-8000-000000000000#0"],
    ["dlv_01900000-0000-7000-8000-000000000000#-1"],
    ["dlv_01900000-0000-7000-8000-000000000000#1.5"],
    ["dlv_01900000-0000-7000-8000-000000000000#99999999999999999"],
    ["env_01900000-0000-7000-8000-000000000000#1"],
    [" dlv_01900000-0000-7000-8000-000000000000#1"],
    [42],
    [null],
    [undefined],
    [{}],
    [Symbol("s")],
  ])("refuses an invalid handle: %s", async (handle) => {
    const { file, coder } = await openTeam();
    await refusedWithoutTrace(file, () => coder.resume(handle as never), {
      code: "invalid_input",
      path: "handle",
      hint: /whole handle/,
    });
  });
});

describe("invalid arguments", () => {
  it.each([
    ["tasks.line", 42],
    ["tasks.line", {}],
    ["tasks.line", null],
    ["deliveries.attempts", {}],
    ["deliveries.attempts", Symbol("s")],
  ] as const)("are refused: %s(%s)", async (question, argument) => {
    const { hub } = await openTeam();
    const ask = question === "tasks.line" ? hub.tasks.line : hub.deliveries.attempts;
    await refused(() => ask(argument as never), { code: "invalid_input" });
  });

  it.each([
    [0, -1],
    [0, 1_001],
    [0, 1.5],
    ["x", 10],
    [0, {}],
  ])("are refused: events.list({ after: %s, limit: %s })", async (after, limit) => {
    const { hub } = await openTeam();
    await refused(() => hub.events.list({ after: after as never, limit: limit as never }), {
      code: limit === 1_001 ? "limit_exceeded" : "invalid_input",
    });
  });

  it.each([
    [{ task: 42 }],
    [{ task: {} }],
    [{ delivery: Symbol("s") }],
    [{ taks: "typo" }],
    [{ wait: "yes" }],
    [{ wait: true, signal: "stop" }],
    [{ wait: true, signal: {} }],
  ])("are refused: accept(%j)", async (which) => {
    const { coder } = await openTeam();
    await refused(() => coder.accept(which as never), { code: "invalid_input" });
  });

  it.each([[null], [{ task: {} }], [{ wait: "no", task: 42 }]])(
    "are refused: inbox(%j)",
    async (options) => {
      const { coder } = await openTeam();
      const inbox = coder.inbox({ ...(options as object), signal: AbortSignal.timeout(20_000) });
      await refused(() => (options === null ? coder.inbox(null as never) : inbox).next(), {
        code: "invalid_input",
      });
    },
  );
});

describe("limits", () => {
  it.each([
    ["leaseMs", 0],
    ["leaseMs", -1],
    ["leaseMs", 1.5],
    ["leaseMs", "60"],
    ["leaseMs", Number.NaN],
    ["leaseMs", null],
    ["pageSize", Number.POSITIVE_INFINITY],
    ["storeBytes", 1.5],
    ["storeBites", 1_000],
  ])("with %s = %s are refused before the store is opened", async (name, value) => {
    const limits = { [name]: value } as never;
    const expected = { code: "invalid_input", path: `limits.${name}` } as const;
    await refused(() => openHub("memory:", { limits }), expected);
    await refused(() => openHub("sqlite:/nowhere/at/all.db", { limits }), expected);
  });

  it.each([
    ["are null", null],
    ["are a number", 42],
    ["have a negative size", { storeBytes: -1 }],
    ["have a name from Object.prototype", { toString: 5 }],
  ])("that %s are refused", async (_, limits) => {
    await refused(() => openHub("memory:", { limits: limits as never }), {
      code: "invalid_input",
      path: /^limits/,
    });
  });
});
