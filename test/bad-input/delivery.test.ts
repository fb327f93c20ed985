/**
 * Invalid input to channels, routes, handoffs, joins, dead letters and effects: each call is
 * refused with a code, a path and a hint, and the store does not change.
 */
import { describe, expect, it } from "vitest";
import type { Agent, Hub, Sent, Work } from "../../src/index.ts";
import { openHub } from "../../src/index.ts";
import { type ExpectedRefusal, refused } from "../support/refusal.ts";
import { openTeam, refusedWithoutTrace } from "../support/team.ts";

const NO_DELIVERY = "dlv_01900000-0000-7000-8000-000000000000";
/** Values that are not valid names. */
const INVALID_NAMES = [
  undefined,
  null,
  42,
  true,
  {},
  [],
  "",
  " x ",
  "a\0b",
  "\ud800",
  "x".repeat(129),
];
/** Values that are not valid texts. */
const INVALID_TEXTS = [undefined, null, 42, {}, [], "", "a\0b", "\ud800", "x".repeat(16_001)];
/** Values that are not delivery ids. */
const INVALID_IDS = [
  undefined,
  null,
  42,
  {},
  "",
  "dlv_1",
  "mem_01900000-0000-7000-8000-000000000000",
];

interface Scene {
  readonly file: string;
  readonly hub: Hub;
  readonly planner: Agent;
  readonly coder: Agent;
  readonly sent: Sent<object>;
  readonly work: Work;
  /** Expects `act` to be refused and every row of the store to stay the same. */
  refuses(what: string, act: () => unknown, expected: ExpectedRefusal): Promise<void>;
}

async function scene(): Promise<Scene> {
  const team = await openTeam();
  await team.hub.channels.set("news");
  await team.coder.channels.subscribe("news");
  const sent = await team.planner.handoff({ to: "coder", task: "t", intent: "Go" });
  const work = await team.coder.accept();
  if (work === undefined) throw new Error("nothing to accept");
  const refuses: Scene["refuses"] = async (what, act, expected) => {
    await refusedWithoutTrace(team.file, act, expected).catch((error: Error) =>
      expect.fail(`${what}: ${error.message}`),
    );
  };
  return { ...team, sent, work, refuses };
}

const shown = (value: unknown): string =>
  typeof value === "string" ? JSON.stringify(value.slice(0, 20)) : `${JSON.stringify(value)}`;

describe("channels", () => {
  it("refuses an invalid name in set, subscribers, subscribe and unsubscribe", async () => {
    const { hub, coder, refuses } = await scene();
    for (const name of INVALID_NAMES as never[]) {
      const expected = { code: "invalid_input", path: "channel" } as const;
      await refuses(`channels.set(${shown(name)})`, () => hub.channels.set(name), expected);
      await refuses(
        `channels.subscribers(${shown(name)})`,
        () => hub.channels.subscribers(name),
        expected,
      );
      await refuses(
        `channels.subscribe(${shown(name)})`,
        () => coder.channels.subscribe(name),
        expected,
      );
      await refuses(
        `channels.unsubscribe(${shown(name)})`,
        () => coder.channels.unsubscribe(name),
        expected,
      );
    }
  });

  it("refuses an invalid state", async () => {
    const { hub, refuses } = await scene();
    for (const state of [null, "opened", "", 42, {}] as never[]) {
      const expected = { code: "invalid_input", path: "state" } as const;
      await refuses(`state ${shown(state)}`, () => hub.channels.set("news", state), expected);
    }
  });

  it("refuses to subscribe from an invalid position or with invalid options", async () => {
    const { coder, refuses } = await scene();
    for (const from of [null, "beginning", -1, 1.5, Number.NaN, {}] as never[]) {
      const act = () => coder.channels.subscribe("news", { from });
      await refuses(`from ${shown(from)}`, act, { code: "invalid_input", path: "from" });
    }
    for (const options of [null, 42, "start", { form: "start" }] as never[]) {
      const act = () => coder.channels.subscribe("news", options);
      await refuses(`options ${shown(options)}`, act, { code: "invalid_input" });
    }
  });

  it("refuses to publish with an invalid name, draft or option, or without receivers", async () => {
    const { planner, refuses } = await scene();
    for (const name of INVALID_NAMES as never[]) {
      const act = () => planner.channels.publish(name, { intent: "Hear this" });
      await refuses(`publish(${shown(name)})`, act, { code: "invalid_envelope", path: /^to/ });
    }
    for (const draft of [
      undefined,
      null,
      42,
      {},
      { intent: "" },
      { intent: "x", x: 1 },
    ] as never[]) {
      const act = () => planner.channels.publish("news", draft);
      await refuses(`draft ${shown(draft)}`, act, { code: "invalid_envelope" });
    }
    for (const options of [
      null,
      42,
      "coder",
      { receivers: null },
      { receivers: "coder" },
      { receivers: [42] },
      { receivers: ["no spaces allowed"] },
      { receivers: ["a\0b"] },
      { recievers: ["coder"] },
      { joins: { deliveries: [NO_DELIVERY], need: 1 } },
    ] as never[]) {
      const act = () => planner.channels.publish("news", { intent: "Hear this" }, options);
      await refuses(`options ${shown(options)}`, act, { code: "invalid_input" });
    }
    const none = () => planner.channels.publish("news", { intent: "Hear this" }, { receivers: [] });
    await refuses("no receivers", none, { code: "unknown_channel", path: "to" });
  });
});

describe("routes", () => {
  it("refuses an invalid name, target or condition", async () => {
    const { hub, refuses } = await scene();
    for (const name of INVALID_NAMES as never[]) {
      const expected = { code: "invalid_input", path: "name" } as const;
      await refuses(
        `routes.set(${shown(name)})`,
        () => hub.routes.set(name, { to: "coder" }),
        expected,
      );
      await refuses(`drop ${shown(name)}`, () => hub.routes.delete(name), expected);
    }
    for (const [path, route] of [
      ["", null],
      ["", 42],
      ["to", {}],
      ["to", { to: 42 }],
      ["to", { to: "no spaces allowed" }],
      ["to", { to: "robot:x" }],
      ["when", { to: "coder", when: null }],
      ["when", { to: "coder", when: "completed" }],
      ["when.action", { to: "coder", when: { action: "Not A Slug" } }],
      ["when.from", { to: "coder", when: { from: 42 } }],
      ["when.payload", { to: "coder", when: { payload: "" } }],
      ["when.result", { to: "coder", when: { result: [] } }],
      ["when.task", { to: "coder", when: { task: "a\0b" } }],
      ["when.colour", { to: "coder", when: { colour: "red" } }],
      ["form", { to: "coder", form: "x" }],
    ] as const) {
      const act = () => hub.routes.set("r", route as never);
      await refuses(`route ${shown(route)}`, act, { code: "invalid_input", path });
    }
    expect(await hub.routes.list()).toEqual([]);
  });

  it("refuses a handoff whose route function returns an invalid address or throws", async () => {
    for (const answer of [42, "", "no spaces allowed", "robot:x", {}]) {
      const hub = await openHub("memory:", { route: () => answer as never });
      const agent = await hub.agent("agent", {});
      await refused(() => agent.handoff({ intent: "Go" }), { code: "invalid_input", path: "to" });
      expect((await hub.deliveries.totals()).deliveries).toBe(0);
      await hub.close();
    }
    const hub = await openHub("memory:", {
      route: () => {
        throw new RangeError("my own fault");
      },
    });
    const agent = await hub.agent("agent", {});
    await expect(agent.handoff({ intent: "Go" })).rejects.toThrow("my own fault");
    await hub.close();
  });
});

describe("handoffs", () => {
  it("refuses an invalid or unknown delivery field and names it", async () => {
    const { planner, refuses } = await scene();
    for (const [path, more] of [
      ["delayMs", { delayMs: 0 }],
      ["delayMs", { delayMs: -1 }],
      ["delayMs", { delayMs: 1.5 }],
      ["delayMs", { delayMs: 366 * 24 * 3_600_000 + 1 }],
      ["delayMs", { delayMs: "soon" }],
      ["key", { key: 42 }],
      ["key", { key: "" }],
      ["key", { key: "x".repeat(129) }],
      ["priority", { priority: "very" }],
      ["priority", { priority: 1 }],
      ["receipt", { receipt: "yes" }],
      ["receipt", { receipt: false }],
      ["joins", { joins: { deliveries: [NO_DELIVERY], need: 1 } }],
      ["results", { results: [] }],
      ["path", { path: [] }],
    ] as const) {
      const act = () => planner.handoff({ to: "coder", intent: "Go", ...more } as never);
      await refuses(shown(more), act, { code: "invalid_envelope", path });
    }
  });
});

describe("joins", () => {
  const DRAFT = { to: "coder", task: "merge", intent: "Merge" };

  it("refuses invalid, unknown, too few or too many handoffs, an invalid `need` and an invalid draft", async () => {
    const { planner, sent, refuses } = await scene();
    for (const [path, of] of [
      ["of", []],
      ["of[0]", [""]],
      ["of[0]", ["dlv_1"]],
      ["of[1]", [sent, "mem_01900000-0000-7000-8000-000000000000"]],
      ["of[0]", [{ id: 42 }]],
      ["of", Array(63).fill(NO_DELIVERY)],
    ] as const) {
      const act = () => planner.handoffs.join(of as never, DRAFT);
      await refuses(`of ${shown(of)}`, act, { code: "invalid_input", path });
    }
    for (const need of [0, -1, 1.5, 2, "some", null, Number.NaN] as never[]) {
      const act = () => planner.handoffs.join([sent], { ...DRAFT, need });
      await refuses(`need ${shown(need)}`, act, { code: "invalid_input", path: "need" });
    }
    await refuses("unknown", () => planner.handoffs.join([NO_DELIVERY], DRAFT), {
      code: "unknown_delivery",
      path: "delivery",
    });
    for (const draft of [{}, { to: "coder" }, { ...DRAFT, intent: 42 }] as never[]) {
      const act = () => planner.handoffs.join([sent], draft);
      await refuses(`draft ${shown(draft)}`, act, { code: "invalid_envelope" });
    }
  });
});

describe("cancellation", () => {
  it("refuses an invalid or unknown delivery, an invalid task and an invalid reason", async () => {
    const { planner, sent, refuses } = await scene();
    for (const id of INVALID_IDS as never[]) {
      const act = () => planner.deliveries.cancel(id, "x");
      await refuses(`delivery ${shown(id)}`, act, { code: "invalid_input", path: "delivery" });
    }
    for (const task of INVALID_NAMES as never[]) {
      const act = () => planner.tasks.cancelHandoffs(task, "x");
      await refuses(`task ${shown(task)}`, act, { code: "invalid_input", path: "task" });
    }
    await refuses("unknown", () => planner.deliveries.cancel(NO_DELIVERY, "x"), {
      code: "unknown_delivery",
      path: "delivery",
    });
    for (const reason of INVALID_TEXTS as never[]) {
      const expected = { code: "invalid_input", path: "reason" } as const;
      await refuses(`reason ${shown(reason)}`, () => sent.cancel(reason), expected);
      const byId = () => planner.deliveries.cancel(sent.id, reason);
      await refuses(`reason ${shown(reason)}`, byId, expected);
      const byTask = () => planner.tasks.cancelHandoffs("t", reason);
      await refuses(`reason ${shown(reason)}`, byTask, expected);
      const ofNothing = () => planner.tasks.cancelHandoffs("nothing", reason);
      await refuses(`reason ${shown(reason)}`, ofNothing, expected);
    }
  });
});

describe("questions and answers", () => {
  it("refuses an invalid question; the work can still be settled", async () => {
    const { work, refuses } = await scene();
    for (const question of INVALID_TEXTS as never[]) {
      const expected = { code: "invalid_input", path: /^question/ } as const;
      await refuses(`clarify(${shown(question)})`, () => work.clarify(question), expected);
    }
    expect(await work.clarify("Which one?")).toMatchObject({ kind: "settled" });
  });

  it("refuses an invalid answer, or one to a delivery that is invalid, unknown or has no question", async () => {
    const { planner, sent, work, refuses } = await scene();
    for (const id of INVALID_IDS as never[]) {
      const expected = { code: "invalid_input", path: "delivery" } as const;
      await refuses(
        `questions.answer(${shown(id)})`,
        () => planner.questions.answer(id, "x"),
        expected,
      );
    }
    const unknown = { code: "unknown_delivery", path: "delivery" } as const;
    await refuses("unknown", () => planner.questions.answer(NO_DELIVERY, "x"), unknown);
    const notAsked = { code: "not_open", path: "delivery" } as const;
    await refuses("not asked", () => planner.questions.answer(sent.id, "x"), notAsked);
    await work.clarify("Which one?");
    for (const text of INVALID_TEXTS as never[]) {
      const expected = { code: "invalid_input", path: /^answer/ } as const;
      await refuses(
        `questions.answer(…, ${shown(text)})`,
        () => planner.questions.answer(sent.id, text),
        expected,
      );
    }
    expect(await planner.questions.answer(sent.id, "This one")).toMatchObject({ state: "ready" });
  });
});

describe("dead letters", () => {
  it("refuses to redrive or discard an invalid, unknown or open delivery, or with invalid arguments", async () => {
    const { planner, sent, work, refuses } = await scene();
    const wrong = { code: "invalid_input", path: "delivery" } as const;
    for (const id of INVALID_IDS as never[]) {
      await refuses(
        `deadLetters.redrive(${shown(id)})`,
        () => planner.deadLetters.redrive(id),
        wrong,
      );
      await refuses(
        `deadLetters.discard(${shown(id)})`,
        () => planner.deadLetters.discard(id, "x"),
        wrong,
      );
    }
    const unknown = { code: "unknown_delivery", path: "delivery" } as const;
    await refuses("redrive unknown", () => planner.deadLetters.redrive(NO_DELIVERY), unknown);
    await refuses("discard unknown", () => planner.deadLetters.discard(NO_DELIVERY, "x"), unknown);
    const alive = { code: "not_open", path: "delivery" } as const;
    await refuses("redrive alive", () => planner.deadLetters.redrive(sent.id), alive);
    await refuses("discard alive", () => planner.deadLetters.discard(sent.id, "x"), alive);
    await work.fail({ message: "no", class: "permanent" });
    for (const reason of INVALID_TEXTS as never[]) {
      const expected = { code: "invalid_input", path: /^reason/ } as const;
      await refuses(
        `deadLetters.discard(…, ${shown(reason)})`,
        () => planner.deadLetters.discard(sent.id, reason),
        expected,
      );
    }
    for (const changes of [
      null,
      42,
      "again",
      { x: 1 },
      { to: 42 },
      { next: "no list" },
      { constraints: [{ rule: "" }] },
    ] as never[]) {
      const act = () => planner.deadLetters.redrive(sent.id, changes);
      await refuses(`changes ${shown(changes)}`, act, { code: "invalid_input" });
    }
    for (const [code, changes] of [
      ["unknown_agent", { to: "nobody" }],
      ["unknown_agent", { to: "channel:news" }],
      ["unknown_role", { to: "role:nothing" }],
      ["invalid_envelope", { next: [""] }],
      ["invalid_envelope", { state: "" }],
    ] as const) {
      const act = () => planner.deadLetters.redrive(sent.id, changes as never);
      await refuses(`changes ${shown(changes)}`, act, { code });
    }
    expect(await planner.deadLetters.redrive(sent.id)).toMatchObject({ state: "ready" });
  });

  it("refuses an invalid query", async () => {
    const { hub, refuses } = await scene();
    for (const query of [
      null,
      42,
      { x: 1 },
      { limit: 0 },
      { limit: 1.5 },
      { after: "x" },
      { sender: 42 },
      { receiver: 42 },
      { task: "" },
    ] as never[]) {
      await refuses(`deadLetters.list(${shown(query)})`, () => hub.deadLetters.list(query), {
        code: "invalid_input",
      });
    }
    await refuses("too many", () => hub.deadLetters.list({ limit: 1_001 }), {
      code: "limit_exceeded",
    });
  });
});

describe("effects", () => {
  it("refuses an invalid key, an effect that is not a function, and a result that cannot be stored", async () => {
    const { planner, work, refuses } = await scene();
    for (const key of INVALID_NAMES as never[]) {
      const expected = { code: "invalid_input", path: "key" } as const;
      const run = () => expect.fail("ran");
      await refuses(`effects.run(${shown(key)})`, () => planner.effects.run(key, run), expected);
      await refuses(
        `effects.resolve(${shown(key)})`,
        () => planner.effects.resolve(key, 1),
        expected,
      );
      if (key === "" || typeof key !== "string") {
        await refuses(`work.once(${shown(key)})`, () => work.once(key, run), expected);
      }
    }
    for (const effect of [undefined, null, 42, "f", {}] as never[]) {
      const expected = { code: "invalid_input", path: "effect" } as const;
      await refuses(`effect ${shown(effect)}`, () => planner.effects.run("k", effect), expected);
      await refuses(`effect ${shown(effect)}`, () => work.once("k", effect), expected);
    }
    for (const result of [10n, () => 1, Symbol("s"), Number.NaN, "a\0b"]) {
      const expected = { code: "invalid_input", path: /^result/ } as const;
      await refuses(String(result), () => planner.effects.resolve("k", result), expected);
    }
    expect(await planner.effects.run("k", () => 1)).toMatchObject({ kind: "done", again: false });
  });

  it("refuses a result that cannot be stored and reports the effect as uncertain afterwards", async () => {
    const { planner } = await openTeam();
    const expected = { code: "invalid_input", path: /^result/ } as const;
    await refused(() => planner.effects.run("k", () => 10n), expected);
    expect(await planner.effects.run("k", () => 1)).toMatchObject({ kind: "uncertain" });
  });
});

describe("waiting for a handoff", () => {
  it("refuses invalid options", async () => {
    const { sent, refuses } = await scene();
    for (const options of [
      null,
      42,
      "soon",
      { timeoutMs: -1 },
      { timeoutMs: "1s" },
      { timeoutMs: Number.NaN },
      { signal: {} },
      { timeout: 1 },
    ] as never[]) {
      const expected = { code: "invalid_input" } as const;
      await refuses(`completed(${shown(options)})`, () => sent.completed(options), expected);
      await refuses(`accepted(${shown(options)})`, () => sent.accepted(options), expected);
      await refuses(`changes(${shown(options)})`, () => sent.changes(options).next(), expected);
    }
    const line = { code: "invalid_input", path: "line" } as const;
    await refuses("line", () => sent.completed({ line: "yes" as never }), line);
  });
});

describe("settling work", () => {
  it("refuses to hand on with invalid options; the work can still be handed on", async () => {
    const { work, refuses } = await scene();
    for (const sending of [
      null,
      42,
      { receivers: "coder" },
      { result: "Not A Slug" },
      { joins: { deliveries: [], need: 1 } },
      { x: 1 },
    ] as never[]) {
      const act = () => work.handoff({ to: "planner" }, sending);
      await refuses(`sending ${shown(sending)}`, act, { code: "invalid_input" });
    }
    expect(await work.handoff({ to: "planner" })).toMatchObject({ kind: "sent" });
  });

  it("refuses an invalid outcome or invalid criteria; the work can still be completed", async () => {
    const { work, refuses } = await scene();
    for (const [path, result] of [
      ["result.outcome", { outcome: "Not A Slug" }],
      ["result.outcome", { outcome: 42 }],
      ["result.outcome", { outcome: "" }],
      ["result.criteria", { criteria: ["x"] }],
      ["result.criteria.a", { criteria: { a: "x" } }],
      ["result.criteria.a[0]", { criteria: { a: [""] } }],
      ["result.extra", { extra: 1 }],
    ] as const) {
      const act = () => work.complete(result as never);
      await refuses(shown(result), act, { code: "invalid_input", path });
    }
    expect(await work.complete({ outcome: "fixed" })).toMatchObject({ kind: "settled" });
  });
});

describe("receipts", () => {
  it.each([[null], [42], ["yes"], [[]], [{}], [{ goal: "x" }], [() => 42], [() => ({})]])(
    "refuses %s as a receipt",
    async (receipt) => {
      const { file, planner, coder } = await openTeam();
      await planner.handoff({ to: "coder", task: "t", intent: "Go", receipt: true });
      const expected = { code: "invalid_input", path: /^receipt/ } as const;
      const act = () => coder.accept({ receipt: receipt as never });
      await refusedWithoutTrace(file, act, expected);
      const good = { goal: "x", firstStep: "y" };
      expect(await coder.accept({ receipt: good })).toBeDefined();
    },
  );
});

describe("offers", () => {
  it("refuses to accept with invalid options; the offer stays open", async () => {
    const { file, planner, coder } = await openTeam();
    await planner.handoff({ to: "coder", task: "t", intent: "Go" });
    const { value: offer } = await coder.inbox({ wait: false }).next();
    for (const options of [null, 42, "yes", { receipt: 42 }, { reciept: {} }] as never[]) {
      const act = () => offer?.accept(options);
      await refusedWithoutTrace(file, act, { code: "invalid_input" });
    }
    expect(await offer?.accept()).toBeDefined();
  });
});

describe("agents", () => {
  it("refuses an invalid name in pause, unpause and resetBreaker, and suggests a known one for a typo", async () => {
    const { hub, refuses } = await scene();
    for (const name of INVALID_NAMES as never[]) {
      const expected = { code: "invalid_input", path: "agent" } as const;
      await refuses(`agents.pause(${shown(name)})`, () => hub.agents.pause(name), expected);
      await refuses(`agents.unpause(${shown(name)})`, () => hub.agents.unpause(name), expected);
      const receiver = { code: "invalid_input", path: "receiver" } as const;
      await refuses(
        `agents.resetBreaker(${shown(name)})`,
        () => hub.agents.resetBreaker(name),
        receiver,
      );
    }
    for (const act of [() => hub.agents.pause("codr"), () => hub.agents.unpause("codr")]) {
      await refuses("codr", act, { code: "unknown_agent", path: "agent", hint: /"coder"/ });
    }
  });
});
