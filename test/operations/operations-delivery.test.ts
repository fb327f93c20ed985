/**
 * The operations on handoffs, deliveries, work, channels, tasks, the shared context and failures:
 * each has a JSON Schema, is called on a real hub, and its output is validated against its schema.
 */
import { describe, expect, it } from "vitest";
import * as z from "zod";
import type { Access } from "../../src/access/levels.ts";
import type { CheckedContext } from "../../src/context/view/gaps.ts";
import type { Delivery } from "../../src/history/delivery.ts";
import { LocalHub } from "../../src/hub/hub.ts";
import type { SerializedOffer, SerializedSent, SerializedWork } from "../../src/hub/serialized.ts";
import { isBatonError, type TaskInfo } from "../../src/index.ts";
import { operationOf } from "../../src/operations/index.ts";
import type { OperationContext } from "../../src/operations/operation.ts";
import { runOperation } from "../../src/operations/run.ts";
import type { WorkUpdates } from "../../src/operations/work-updates.ts";
import { actingOn } from "../http/acting.ts";
import { openFresh, openTwo, refusal } from "../support/hub/support.ts";
import { MIGRATED } from "../support/version-two.ts";
import {
  DELIVERY_OPERATIONS,
  DELIVERY_SAMPLES,
  type DeliveryOperation,
  DeliveryWorld,
} from "./samples/delivery.ts";
import type { Input } from "./samples/input.ts";

type Name = DeliveryOperation;
const NAMES = DELIVERY_OPERATIONS;

const asJson = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

/** Calls an operation with its input as JSON, and parses the output with the operation's schema. */
async function answerOf(acting: OperationContext, name: Name, input: unknown): Promise<unknown> {
  const operation = operationOf(name);
  return operation.output.parse(
    asJson(await runOperation(operation, acting, asJson(input) as Input)),
  );
}

/** Calls an operation and returns its output as a type that the test chooses. */
async function call<Answer>(acting: OperationContext, name: Name, input: Input): Promise<Answer> {
  return (await answerOf(acting, name, input)) as Answer;
}

interface Claim {
  readonly offer: SerializedOffer | null;
}

interface Changed {
  readonly delivery: Delivery;
  readonly digest: string;
}

interface AddedForm {
  readonly task: TaskInfo;
  readonly sent: SerializedSent;
}

/** Opens a hub with the agents that the samples are about. */
async function openWorld(): Promise<DeliveryWorld> {
  const hub = await openFresh("memory");
  if (!(hub instanceof LocalHub)) throw new Error("expected a hub in this process");
  return DeliveryWorld.on(hub);
}

/** Checks the output of a sample call. */
type Check = (answer: unknown, world: DeliveryWorld) => unknown;

/** A delivery that was claimed and released: as many attempts are left as before. */
const NOT_ATTEMPTED = { state: "ready", attempt: 1, maxAttempts: 4 };

const done = (answer: unknown): unknown => expect(answer).toEqual({ done: true });

/** Matches a list that contains an object with these fields. */
const having = (part: object): unknown => expect.arrayContaining([expect.objectContaining(part)]);
const inState =
  (state: string) =>
  (answer: unknown): unknown =>
    expect(answer).toMatchObject({ state });
const settled = (answer: unknown, state: string): unknown =>
  expect(answer).toMatchObject({ kind: "settled", delivery: { state } });

const CHECKS: Readonly<Record<Name, Check>> = {
  // Sending.
  handoff: async (answer, { hub }) => {
    expect(answer).toMatchObject({ kind: "sent", joined: "new", secrets: [] });
    const { deliveries, envelope } = answer as SerializedSent;
    expect((await hub.deliveries.get(deliveries[0]?.id ?? "")).envelope.id).toBe(envelope.id);
  },
  handoffMany: (answer) =>
    expect(answer).toMatchObject([
      { kind: "sent", envelope: { task: "one" } },
      { kind: "sent", envelope: { task: "two" } },
    ]),
  "handoffs.join": (sent) => expect(sent).toMatchObject({ envelope: { joins: { need: 1 } } }),
  "handoffs.lint": (report) =>
    expect(report).toMatchObject({ ok: true, findings: having({ rule: "no_next_step" }) }),
  "handoffs.preview": (answer) =>
    expect(answer).toMatchObject({
      to: "bob",
      view: { budget: { tokens: 1_000, from: "call" }, receiver: "bob" },
    }),
  "handoffs.lintSent": (report) => expect(report).toMatchObject({ ok: true }),

  // Deliveries.
  "deliveries.get": (shown) =>
    expect(shown).toMatchObject({
      delivery: { state: "completed" },
      result: { summary: "Built", outputs: { files: ["a.ts"] } },
    }),
  "deliveries.list": (page) =>
    expect(page).toEqual({
      items: ["three", "two"].map((task) =>
        expect.objectContaining({ envelope: expect.objectContaining({ task }) }),
      ),
      next: expect.stringMatching(/^dlv_/),
    }),
  "deliveries.watch": (answer) =>
    expect(answer).toMatchObject({
      delivery: { state: "ready" },
      digest: expect.stringMatching(/^[0-9a-f]{16}$/),
    }),
  "deliveries.accepted": (answer) => expect(answer).toMatchObject({ kind: "accepted" }),
  "deliveries.completed": (answer) =>
    expect(answer).toMatchObject({ kind: "dead", failure: { message: "The build fails" } }),
  "deliveries.attempts": (attempts) =>
    expect(attempts).toMatchObject([{ outcome: "failed", holder: "bob" }]),
  "deliveries.views": (views) => expect(views).toMatchObject([{ matches: true, receiver: "bob" }]),
  "deliveries.primer": (answer) =>
    expect(answer).toMatchObject({ text: expect.stringContaining("Build the client") }),
  "deliveries.warnings": (warnings, { fact }) =>
    expect(warnings).toMatchObject([{ memory: fact, by: "ada" }]),
  "deliveries.cancel": (deliveries) => expect(deliveries).toMatchObject([{ state: "cancelled" }]),
  "tasks.cancelHandoffs": (deliveries) =>
    expect(deliveries).toMatchObject([{ state: "cancelled" }]),
  "questions.list": (asked) => expect(asked).toMatchObject([{ question: "Which port?" }]),
  "questions.answer": inState("ready"),
  "deadLetters.list": (letters) =>
    expect(letters).toMatchObject({ items: [{ attempts: [expect.anything()] }] }),
  "deadLetters.redrive": inState("ready"),
  "deadLetters.discard": inState("cancelled"),
  "approvals.approve": inState("completed"),
  "approvals.reply": inState("completed"),
  "approvals.reject": (answer) =>
    expect(answer).toMatchObject({ state: expect.stringMatching(/^(declined|dead)$/) }),
  "approvals.edit": (sent) =>
    expect(sent).toMatchObject({
      envelope: { next: ["Read the API twice"], to: { agent: "ada" } },
    }),
  "deliveries.totals": (totals) => expect(totals).toMatchObject({ byState: { ready: 1 } }),
  "deliveries.runDue": done,

  // Receiving.
  "deliveries.waiting": (waiting) =>
    expect(waiting).toMatchObject({ items: [{ envelope: { intent: "Build the client" } }] }),
  inbox: (answer) =>
    expect(answer).toMatchObject({ offer: { delivery: { state: "claimed", holder: "bob" } } }),
  accept: (answer) =>
    expect(answer).toMatchObject({ work: { delivery: { state: "accepted", holder: "bob" } } }),
  "offer.refresh": (offer) => expect(offer).toMatchObject({ delivery: { state: "claimed" } }),
  "offer.accept": (work) => expect(work).toMatchObject({ delivery: { state: "accepted" } }),
  "offer.decline": (answer) => expect(answer).toMatchObject({ kind: "settled" }),
  "offer.release": async (answer, { bob }) => {
    done(answer);
    expect((await bob.deliveries.waiting()).items[0]?.delivery).toMatchObject(NOT_ATTEMPTED);
  },
  "offer.conflicts": (conflicts) =>
    expect(conflicts).toMatchObject([{ agent: "bob", with: ["src/**"] }]),

  // Working.
  resume: (work) => expect(work).toMatchObject({ delivery: { holder: "bob" } }),
  "work.renew": async (answer, { hub }) => {
    const [step] = await hub.tasks.line("build");
    const leaseUntil = step?.deliveries[0]?.leaseUntil;
    expect(leaseUntil).toBeGreaterThan(0);
    expect(answer).toEqual({ envelope: step?.envelope.id, leaseUntil });
  },
  "work.on": (news, { fact }) => {
    expect(news).not.toHaveProperty("lost");
    expect(news).toMatchObject({
      extended: { next: ["Read the API", "and write it down"] },
      warnings: [{ memory: fact }],
    });
  },
  "deliveries.holder": (answer) => expect(answer).toEqual({ agent: "bob" }),
  "deliveries.note": (noted) =>
    expect(noted).toMatchObject({ kind: "noted", memory: { task: "build" } }),
  "work.view": (view, { fact }) =>
    expect(view).toMatchObject({
      text: expect.stringContaining("Build the client"),
      shown: having({ id: fact, freshness: "fresh" }),
    }),
  "work.freshness": (answer, { fact }) => {
    const { references, artifacts } = answer as CheckedContext;
    expect(references).toEqual([{ id: fact, freshness: "fresh" }]);
    expect(artifacts).toEqual([
      { path: "src/client.ts", freshness: "unchecked", reason: "no_digest" },
    ]);
  },
  "work.read": (memory) => expect(memory).toMatchObject({ level: "summary", agent: "ada" }),
  "work.reservations.set": (answer) =>
    expect(answer).toMatchObject({ reserved: { globs: ["src/*.ts"], agent: "bob" } }),
  "work.reservations.clear": async (answer, { hub }) => {
    done(answer);
    expect((await hub.tasks.reservations()).items).toEqual([]);
  },
  "work.complete": (answer) => {
    settled(answer, "completed");
    expect(answer).toMatchObject({ merge: { kind: "merged" } });
  },
  "work.fail": (answer) => settled(answer, "scheduled"),
  "work.decline": (answer) => expect(answer).toMatchObject({ kind: "settled" }),
  "work.clarify": (answer) => settled(answer, "waiting"),
  "work.release": inState("ready"),
  "work.handoff": async (sent, { hub }) => {
    expect(sent).toMatchObject({ kind: "sent", envelope: { hop: 1, task: "build" } });
    expect((await hub.tasks.line("build"))[0]?.deliveries[0]?.state).toBe("completed");
  },
  "effects.begin": async (answer, { hub, bob }) => {
    expect(answer).toEqual({ kind: "begun" });
    const [step] = await hub.tasks.line("build");
    const own = await bob.effects.run(`${step?.deliveries[0]?.id}/deploy`, () => 1);
    expect(own).toMatchObject({ kind: "uncertain", by: "bob" });
  },
  "effects.record": async (answer, { hub, bob }) => {
    done(answer);
    const [step] = await hub.tasks.line("build");
    const again = await bob.effects.run(`${step?.deliveries[0]?.id}/deploy`, () => 1);
    expect(again).toEqual({ kind: "done", result: { url: "/" }, again: true });
  },
  "effects.resolve": async (answer, { bob }) => {
    done(answer);
    expect(await bob.effects.run("mail", () => 1)).toMatchObject({
      kind: "done",
      result: "sent",
    });
  },

  // Channels and routes.
  "channels.list": (channels) => expect(channels).toEqual([{ name: "news", state: "open" }]),
  "channels.set": async (channel, { hub }) => expect(await hub.channels.list()).toEqual([channel]),
  "channels.subscribers": (agents) => expect(agents).toEqual(["bob"]),
  "channels.subscribe": (answer) => expect(answer).toEqual({ replayed: 1 }),
  "channels.unsubscribe": async (answer, { hub }) => {
    done(answer);
    expect(await hub.channels.subscribers("news")).toEqual([]);
  },
  "routes.list": (routes) => expect(routes).toMatchObject([{ name: "review", to: "role:critic" }]),
  "routes.set": async (answer, { hub }) => {
    done(answer);
    expect(await hub.routes.list()).toMatchObject([{ name: "review", to: "cleo" }]);
  },
  "routes.delete": async (answer, { hub }) => {
    done(answer);
    expect(await hub.routes.list()).toEqual([]);
  },

  // Tasks.
  "tasks.get": (task) => expect(task).toMatchObject({ state: "open", queued: false, to: "bob" }),
  "tasks.board": (board) =>
    expect(board).toMatchObject({
      items: [
        { task: "one", state: "open" },
        { task: "two", state: "blocked", waitsFor: ["one"] },
      ],
    }),
  "tasks.closed": (answer) =>
    expect(answer).toMatchObject({ items: [{ task: "one", closed: { by: "ada" } }] }),
  "tasks.tree": (tree) =>
    expect(tree).toMatchObject({ parts: [{ parts: [{ task: "part-detail" }] }] }),
  "tasks.line": (steps) => expect(steps).toHaveLength(1),
  "tasks.timeline": (timeline) => {
    for (const kind of ["handed_over", "failed", "reported"]) {
      expect(timeline).toMatchObject({ items: having({ kind }) });
    }
  },
  "tasks.add": (answer) => {
    const { task, sent } = answer as AddedForm;
    expect(task).toMatchObject({ task: "one", queued: true, closing: "manual" });
    expect(sent.deliveries[0]?.deadline).toBe(task.deadline);
  },
  "tasks.close": (task) => expect(task).toMatchObject({ state: "failed", closed: { by: "ada" } }),
  "tasks.reopen": inState("open"),
  "tasks.cancel": inState("cancelled"),
  "tasks.ledger": (answer) =>
    expect(answer).toMatchObject({ ledger: { constraints: [{ id: "no-xml" }] } }),
  "tasks.releaseItem": (ledger) =>
    expect(ledger).toMatchObject({
      constraints: [],
      released: [{ id: "no-xml", kind: "constraint" }],
    }),
  "tasks.reservations": (reservations) =>
    expect(reservations).toMatchObject({ items: [{ globs: ["src/client.ts"] }] }),

  // The shared context.
  "context.text": (context) =>
    expect(context).toMatchObject({
      text: expect.stringContaining("SQLite"),
      items: [{ key: "database", by: "cleo" }],
    }),
  "context.item": (answer) => expect(answer).toMatchObject({ item: { choice: "SQLite" } }),
  "context.changes": (changes) =>
    expect(changes).toEqual({ items: [expect.objectContaining({ version: 1 })], version: 1 }),
  "context.history": (changes) =>
    expect(changes).toMatchObject({ items: [{ kind: "retired" }, { kind: "set" }] }),
  "context.set": (item) => expect(item).toMatchObject({ key: "no-xml", level: "must", version: 1 }),
  "context.retire": (answer) => expect(answer).toMatchObject({ version: 2 }),
  "context.project": (items) => expect(items).toMatchObject([{ key: "branch", by: "cleo" }]),
  "context.propose": (answer) =>
    expect(answer).toMatchObject({
      sent: { envelope: { to: { kind: "role", role: "coordinator" } } },
      contradictions: [{ key: "database", choice: "SQLite" }],
    }),
  "context.adopt": (adopted) =>
    expect(adopted).toMatchObject({ kind: "adopted", delivery: { state: "completed" } }),

  // Failures.
  "failures.list": (failures) =>
    expect(failures).toMatchObject({ items: [{ task: "build", with: "role:coordinator" }] }),
  "failures.get": (failure) =>
    expect(failure).toMatchObject({
      before: [{ decision: "retry", by: "cleo" }],
      advice: { source: "default" },
    }),
  "failures.decide": (answer) =>
    expect(answer).toMatchObject({
      kind: "decided",
      decision: "reroute",
      delivery: { receiver: "ada", state: "ready" },
    }),
  "failures.rules": (rules) =>
    expect(rules).toMatchObject([{ name: "timeouts", then: { retry: {} } }]),
  "failures.setRule": async (answer, { hub }) => {
    done(answer);
    expect(await hub.failures.rules()).toMatchObject([{ name: "never", when: {} }]);
  },
  "failures.deleteRule": async (answer, { hub }) => {
    done(answer);
    expect(await hub.failures.rules()).toEqual([]);
  },
};

async function called(name: Name) {
  const world = await openWorld();
  const { as = "ada", input } = DELIVERY_SAMPLES[name];
  return { world, acting: world.as(as), input: (await input?.(world)) ?? {} };
}

describe("operations on handoffs and deliveries", () => {
  it.each(NAMES)("%s has a JSON Schema and a summary [OPS-7]", (name) => {
    const { input, output, summary } = operationOf(name);
    for (const schema of [input, output]) {
      const described = z.toJSONSchema(schema, { io: "input", unrepresentable: "any" });
      expect(described).toMatchObject({ $schema: expect.any(String) });
    }
    expect(summary).toMatch(/^[A-Z].+\.$/);
  });

  it.each(NAMES)("%s accepts and returns what its schemas describe [OPS-7]", async (name) => {
    const { world, acting, input } = await called(name);
    expect(operationOf(name).input.safeParse(input).error).toBeUndefined();
    await CHECKS[name](await answerOf(acting, name, input), world);
  });

  const ODD = [undefined, null, 0, -1, 1.5, true, "", "\0", "ghost", [], [null], {}, { a: 1 }];
  const UNKNOWN = "unknown-field";

  it.each(NAMES)(
    "%s refuses unusual values with a BatonError, and a refusal stores nothing [OPS-7]",
    async (name) => {
      const { input, rest } = operationOf(name);
      let at = await called(name);
      for (const field of [...(rest ? [UNKNOWN] : []), ...Object.keys(input.shape)]) {
        for (const value of ODD) {
          const before = await stored(at.world);
          const attempt = { ...at.input, [field]: value };
          const outcome = await answerOf(at.acting, name, attempt).catch((error: unknown) => error);
          const how = `${field}: ${JSON.stringify(value)} ${outcome instanceof Error ? outcome.stack : ""}`;
          if (outcome instanceof Error) {
            expect(isBatonError(outcome), how).toBe(true);
            expect(await stored(at.world), how).toEqual(before);
          } else at = await called(name); // The call succeeded.
          if (field === UNKNOWN && value !== undefined) {
            expect(outcome, how).toMatchObject({ code: expect.stringMatching(/^invalid_/) });
          }
        }
      }
    },
  );

  /** Returns what a refused call must not change. */
  const stored = async ({ hub }: DeliveryWorld) => [
    await hub.index.state(),
    await hub.deliveries.totals(),
    (await hub.events.list()).items.length,
  ];
});

describe("a caller that disconnected", () => {
  it("leaves the offer in the inbox without using up an attempt [OPS-7]", async () => {
    const world = await openWorld();
    const gone = new AbortController();
    const acting = world.as("bob", { signal: gone.signal });
    const claiming = answerOf(acting, "inbox", { waitMs: 20_000 });
    gone.abort();
    expect(await claiming).toEqual({ offer: null });
    await world.sent();
    expect(await answerOf(acting, "inbox", {})).toEqual({ offer: null });
    const [waiting] = (await world.bob.deliveries.waiting()).items;
    expect(waiting?.delivery).toMatchObject(NOT_ATTEMPTED);
  });

  it("leaves the work it would have accepted ready [OPS-7]", async () => {
    const world = await openWorld();
    await world.sent();
    const acting = world.as("bob", { signal: AbortSignal.abort() });
    expect(await answerOf(acting, "accept", {})).toEqual({ work: null });
    expect((await world.bob.deliveries.waiting()).items[0]?.delivery.state).toBe("ready");
  });
});

describe("long polling", () => {
  it("returns as soon as there is a result [OPS-7]", async () => {
    const world = await openWorld();
    const bob = world.as("bob");
    const claiming = call<Claim>(bob, "inbox", { waitMs: 20_000 });
    const { id } = await world.sent();
    const { offer } = await claiming;
    expect(offer?.delivery.id).toBe(id);

    const ada = world.as("ada");
    const accepted = answerOf(ada, "deliveries.accepted", { id, waitMs: 20_000 });
    const seen = await call<Changed>(ada, "deliveries.watch", { id });
    const changed = answerOf(ada, "deliveries.watch", { id, seen: seen.digest, waitMs: 20_000 });
    const { handle } = await call<SerializedWork>(bob, "offer.accept", {
      handle: offer?.handle ?? "",
    });
    expect(await accepted).toMatchObject({ kind: "accepted" });
    expect(await changed).toMatchObject({ delivery: { state: "accepted" } });

    const completed = answerOf(ada, "deliveries.completed", { id, waitMs: 20_000 });
    await answerOf(bob, "work.complete", { handle, result: { summary: "Built" } });
    expect(await completed).toMatchObject({ kind: "completed", result: { summary: "Built" } });
  });

  it("returns the current state on timeout [OPS-7]", async () => {
    const world = await openWorld();
    const { id } = await world.sent();
    const ada = world.as("ada");
    const { digest } = await call<Changed>(ada, "deliveries.watch", { id });
    const asBefore = { digest, delivery: { state: "ready" } };
    expect(await answerOf(ada, "deliveries.watch", { id, seen: digest, waitMs: 5 })).toMatchObject(
      asBefore,
    );
    const late = { kind: "timeout", delivery: { state: "ready" } };
    expect(await answerOf(ada, "deliveries.accepted", { id, waitMs: 5 })).toMatchObject(late);
    expect(await answerOf(ada, "deliveries.completed", { id, waitMs: 5 })).toMatchObject(late);
    const nothing = { task: "another", waitMs: 5 };
    expect(await answerOf(world.as("bob"), "inbox", nothing)).toEqual({ offer: null });
    expect(await answerOf(world.as("bob"), "accept", nothing)).toEqual({ work: null });
  });

  it("is limited to 25 seconds [OPS-7]", async () => {
    const world = await openWorld();
    const { id } = await world.sent();
    for (const name of ["inbox", "accept", "deliveries.watch", "deliveries.accepted"] as const) {
      const input = name.startsWith("deliveries.") ? { id, waitMs: 25_001 } : { waitMs: 25_001 };
      const error = await refusal(answerOf(world.as("bob"), name, input));
      expect(error).toMatchObject({ code: "limit_exceeded", path: "waitMs" });
    }
  });

  it("does not treat a renewed lease as a change [OPS-7]", async () => {
    const world = await openWorld();
    const { id, handle } = await world.working();
    const before = await call<Changed>(world.as("ada"), "deliveries.watch", { id });
    await answerOf(world.as("bob"), "work.renew", { handle });
    expect(await answerOf(world.as("ada"), "deliveries.watch", { id })).toMatchObject({
      digest: before.digest,
    });
  });
});

describe("an offer in an unsupported envelope version", () => {
  it("is returned to the inbox without using up an attempt, and does not block later ones [OPS-7]", async () => {
    const [older, newer] = await openTwo("memory", {}, { versions: MIGRATED });
    if (!(older instanceof LocalHub)) throw new Error("a hub in this process was opened");
    const ada = await newer.agent("ada", {});
    await newer.agent("bob", {});
    const unread = await ada.handoff({ to: "bob", task: "one", intent: "Say it in 2.0" });
    const bob = actingOn(older, { named: "bob" });
    const code = "unsupported_version";
    expect((await refusal(answerOf(bob, "inbox", {}))).code).toBe(code);
    expect((await refusal(answerOf(bob, "inbox", { delivery: unread.id }))).code).toBe(code);
    expect(await unread.status()).toMatchObject({ state: "ready", attempt: 2, maxAttempts: 5 });
    const cleo = await older.agent("cleo", {});
    const { id } = await cleo.handoff({ to: "bob", task: "two", intent: "Say it in 1.x" });
    expect(await answerOf(bob, "inbox", {})).toMatchObject({ offer: { delivery: { id } } });
  });
});

describe("work.on", () => {
  it("reports an extension by the sender once [OPS-7]", async () => {
    const world = await openWorld();
    const { handle, envelope } = await world.working();
    const bob = world.as("bob");
    const waiting = call<WorkUpdates>(bob, "work.on", {
      handle,
      envelope: envelope.id,
      waitMs: 20_000,
    });
    await world.sent({ next: ["Read the API", "and write it down"] });
    const { extended } = await waiting;
    expect(extended?.next).toHaveLength(2);
    const known = { handle, envelope: extended?.id ?? "" };
    expect(await answerOf(bob, "work.on", { ...known, waitMs: 5 })).not.toHaveProperty("extended");
    // Settling without having seen the extension is refused first.
    const settling = { handle, envelope: envelope.id };
    const error = await refusal(answerOf(bob, "work.complete", settling));
    expect(error).toMatchObject({
      code: "work_extended",
      details: { envelope: extended?.id },
    });
    expect(await answerOf(bob, "work.complete", known)).toMatchObject({ kind: "settled" });
  });

  it("reports when a referenced memory is quarantined and when the quarantine is lifted [OPS-7]", async () => {
    const world = await openWorld();
    const { handle } = await world.working();
    const bob = world.as("bob");
    const { warned } = await call<WorkUpdates>(bob, "work.on", { handle });
    const waiting = call<WorkUpdates>(bob, "work.on", { handle, warned, waitMs: 20_000 });
    await world.ada.memories.quarantine(world.fact, "It returns XML");
    const update = await waiting;
    expect(update.warnings).toMatchObject([{ memory: world.fact, by: "ada" }]);
    const same = { handle, warned: update.warned, waitMs: 5 };
    expect(await answerOf(bob, "work.on", same)).toEqual(update);
    await world.ada.memories.lift(world.fact, "It does not");
    expect(await answerOf(bob, "work.on", { ...same, waitMs: 20_000 })).toEqual({
      warnings: [],
      warned,
    });
  });

  it("reports a cancellation with the error that other calls on the work get [OPS-7]", async () => {
    const world = await openWorld();
    const { handle, id } = await world.working();
    const bob = world.as("bob");
    const waiting = call<WorkUpdates>(bob, "work.on", { handle, waitMs: 20_000 });
    await world.ada.deliveries.cancel(id, "Not needed");
    const { lost } = await waiting;
    const error = await refusal(answerOf(bob, "work.complete", { handle }));
    expect(lost).toEqual(asJson(error));
    expect((await call<WorkUpdates>(bob, "work.on", { handle })).lost).toEqual(lost);
  });
});

describe("work that the caller does not hold", () => {
  it("cannot be settled by another agent, and notes on it are kept [OPS-7]", async () => {
    const world = await openWorld();
    const { handle, id } = await world.working();
    expect((await refusal(answerOf(world.as("dan"), "work.complete", { handle }))).code).toBe(
      "lease_lost",
    );
    await world.ada.deliveries.cancel(id, "Not needed");
    const note = { handle, note: { content: "It returned 200" } };
    const kept = await answerOf(world.as("bob"), "deliveries.note", note);
    expect(kept).toMatchObject({ kind: "kept", delivery: { state: "cancelled" } });
  });

  it("cannot begin an effect, but can record the result of one [OPS-7]", async () => {
    const world = await openWorld();
    const { handle, id } = await world.working();
    const bob = world.as("bob");
    expect(await answerOf(bob, "effects.begin", { key: "deploy", handle })).toEqual({
      kind: "begun",
    });
    await world.ada.deliveries.cancel(id, "Not needed");
    await answerOf(bob, "effects.record", { key: "deploy", handle, result: 1 });
    expect(await world.bob.effects.run(`${id}/deploy`, () => 2)).toMatchObject({ result: 1 });
    const begun = answerOf(bob, "effects.begin", { key: "another", handle });
    expect((await refusal(begun)).code).toBe("cancelled");
  });
});

describe("an invalid edit by a person", () => {
  it("leaves the handoff unchanged [OPS-7]", async () => {
    const world = await openWorld();
    const { id } = await world.sent();
    const wrong = [
      { constraints: 5 },
      { next: ["\0"] },
      { state: "Fine", to: "a b" },
      { ghost: 1 },
    ];
    for (const changes of wrong) {
      const error = await refusal(answerOf(world.as("bob"), "approvals.edit", { id, changes }));
      expect(error.code).toBe("invalid_envelope");
    }
    expect((await world.hub.deliveries.get(id)).delivery).toMatchObject({
      state: "ready",
      attempt: 0,
    });
  });
});

describe("the idempotency key of a call", () => {
  it("makes handoff and tasks.add return the original on a repeated call [OPS-7]", async () => {
    const world = await openWorld();
    const acting = world.as("ada", { key: "3f0c1d5e-one" });
    const first = await call<SerializedSent>(acting, "handoff", { draft: world.draft() });
    const again = await answerOf(acting, "handoff", { draft: world.draft() });
    expect(again).toMatchObject({ joined: "repeated", envelope: { id: first.envelope.id } });
    const added = { task: { ...world.draft(), task: "one" } };
    const other = world.as("ada", { key: "no name: $%&=" });
    const task = await call<AddedForm>(other, "tasks.add", added);
    expect(await answerOf(other, "tasks.add", added)).toMatchObject({
      sent: { envelope: { id: task.sent.envelope.id } },
    });
  });

  it("does not replace the key of the draft [OPS-7]", async () => {
    const world = await openWorld();
    const draft = world.draft({ key: "mine" });
    const first = await call<SerializedSent>(world.as("ada", { key: "a" }), "handoff", { draft });
    const again = await call<SerializedSent>(world.as("ada", { key: "b" }), "handoff", { draft });
    expect(again.envelope.id).toBe(first.envelope.id);
  });
});

describe("agent access", () => {
  /** Operations on a handoff that ada sent. */
  const OWN: Readonly<Partial<Record<Name, (world: DeliveryWorld) => Promise<Input>>>> = {
    "deliveries.cancel": async (w) => ({ id: (await w.sent()).id, reason: "Not needed" }),
    "tasks.cancelHandoffs": async (w) => ({ task: (await w.sent()).task, reason: "Not needed" }),
    "questions.answer": async (w) => ({ id: await w.asked(), text: "8080" }),
    "deadLetters.redrive": async (w) => ({ id: await w.dead() }),
    "deadLetters.discard": async (w) => ({ id: await w.dead(), reason: "Not needed" }),
  };
  const attempt = async (name: Name, who: string, access: Access): Promise<unknown> => {
    const world = await openWorld();
    const input = await OWN[name]?.(world);
    return answerOf(world.as(who, { access }), name, input);
  };

  it.each(Object.keys(OWN) as Name[])(
    "allows %s to the sender; others need coordinator access [OPS-5]",
    async (name) => {
      expect(await attempt(name, "ada", "agent")).toBeDefined();
      expect(await attempt(name, "dan", "coordinator")).toBeDefined();
      const error = await refusal(attempt(name, "dan", "agent"));
      expect(error).toMatchObject({ code: "forbidden", details: { needs: "coordinator" } });
    },
  );

  it("allows failures.decide to the agent that accepted the report only [OPS-5]", async () => {
    const world = await openWorld();
    const id = await world.dead();
    const decision = { decision: "abort", reason: "Nobody needs it" } as const;
    const cleo = world.as("cleo", { access: "agent" });
    expect((await refusal(answerOf(cleo, "failures.decide", { id, decision }))).code).toBe(
      "forbidden",
    );
    const report = await world.cleo.accept();
    expect(report?.envelope.failure?.delivery).toBe(id);
    expect(await answerOf(cleo, "failures.decide", { id, decision })).toMatchObject({
      kind: "decided",
    });
  });
});

describe("a secret in the input", () => {
  const SECRET = `ghp_${"a1B2c3D4e5F6g7H8i9J0".repeat(2).slice(0, 36)}`;

  it("is redacted and reported by kind in every operation that stores it [OPS-6 OPS-7]", async () => {
    const world = await openWorld();
    const ada = world.as("ada");
    const bob = world.as("bob");
    const sent = await call<SerializedSent>(ada, "handoff", {
      draft: world.draft({ state: `Use ${SECRET}` }),
    });
    const { work } = await call<{ readonly work: SerializedWork | null }>(bob, "accept", {});
    const handle = work?.handle ?? "";
    const noted = await answerOf(bob, "deliveries.note", {
      handle,
      note: { content: `It is ${SECRET}` },
    });
    const asked = await answerOf(bob, "work.clarify", { handle, question: `Is it ${SECRET}?` });
    const answered = await answerOf(ada, "questions.answer", {
      id: sent.deliveries[0]?.id ?? "",
      text: `Yes: ${SECRET}`,
    });
    const item = { section: "conventions", key: "key", rule: `Use ${SECRET}` } as const;
    const written = await answerOf(world.as("cleo"), "context.set", { item });
    for (const answer of [sent, noted, asked, answered, written]) {
      expect(answer).toMatchObject({ secrets: [{ kind: expect.any(String) }] });
      expect(JSON.stringify(answer)).not.toContain(SECRET);
    }
  });
});
