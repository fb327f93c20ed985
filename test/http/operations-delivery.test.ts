/**
 * The operations of handoffs, deliveries, receiving, working, channels, tasks, the shared context and
 * failures: each is described, called on a real hub, and its answer held against its description.
 */
import { describe, expect, it } from "vitest";
import * as z from "zod";
import type { Access } from "../../src/access/levels.ts";
import type { Acting, Operation } from "../../src/http/operation.ts";
import { channelsOperations } from "../../src/http/operations/channels.ts";
import { contextOperations } from "../../src/http/operations/context.ts";
import { deliveriesOperations } from "../../src/http/operations/deliveries.ts";
import { failuresOperations } from "../../src/http/operations/failures.ts";
import { handoffsOperations } from "../../src/http/operations/handoffs.ts";
import { receivingOperations } from "../../src/http/operations/receiving.ts";
import { tasksOperations } from "../../src/http/operations/tasks.ts";
import { workingOperations } from "../../src/http/operations/working.ts";
import { LocalHub } from "../../src/hub/hub.ts";
import { type Agent, type Draft, isBatonError, type Work } from "../../src/index.ts";
import type { CallName, InputOf, OutputOf } from "../../src/wire/calls.ts";
import { openFresh, openTwo, refusal } from "../behaviour/support.ts";
import { MIGRATED } from "../support/version-two.ts";
import { type ActingAs, actingOn } from "./acting.ts";

const OPERATIONS = {
  ...handoffsOperations,
  ...deliveriesOperations,
  ...receivingOperations,
  ...workingOperations,
  ...channelsOperations,
  ...tasksOperations,
  ...contextOperations,
  ...failuresOperations,
};

type Name = keyof typeof OPERATIONS;
const NAMES = Object.keys(OPERATIONS) as Name[];

const operation = (name: Name): Operation<CallName> =>
  OPERATIONS[name] as unknown as Operation<CallName>;

const asJson = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

/** Calls an operation with what JSON can say, and reads its answer as its description has it. */
async function answerOf(acting: Acting, name: Name, input: unknown): Promise<unknown> {
  const { run, output } = operation(name);
  return output.parse(asJson(await run(acting, asJson(input) as never)));
}

async function call<N extends Name>(
  acting: Acting,
  name: N,
  input: InputOf<N>,
): Promise<OutputOf<N>> {
  return (await answerOf(acting, name, input)) as OutputOf<N>;
}

/** A planner, an executor, somebody who keeps and coordinates, and somebody with no part in anything. */
class World {
  readonly hub: LocalHub;
  readonly ada: Agent;
  readonly bob: Agent;
  readonly cleo: Agent;
  readonly fact: string;

  private constructor(parts: Pick<World, "hub" | "ada" | "bob" | "cleo" | "fact">) {
    this.hub = parts.hub;
    this.ada = parts.ada;
    this.bob = parts.bob;
    this.cleo = parts.cleo;
    this.fact = parts.fact;
  }

  static async open(): Promise<World> {
    const hub = await openFresh("memory");
    if (!(hub instanceof LocalHub)) throw new Error("a hub in this process was opened");
    const session = { instance: "s-1", lease: "session" } as const;
    const ada = await hub.agent("ada", { role: "planner" }, session);
    const bob = await hub.agent("bob", { role: "executor" }, session);
    const cleo = await hub.agent("cleo", { role: "coordinator" }, session);
    await hub.agent("dan", { role: "guest" });
    const fact = await ada.remember({ content: "The API returns JSON.", task: "build" });
    return new World({ hub, ada, bob, cleo, fact: fact.id });
  }

  as(named: string, as: Omit<ActingAs, "named"> = {}): Acting {
    return actingOn(this.hub, { named, ...as });
  }

  draft(draft: Partial<Draft> = {}): Draft {
    return {
      to: "bob",
      task: "build",
      intent: "Build the client",
      next: ["Read the API"],
      constraints: [{ id: "no-xml", level: "must", rule: "No XML" }],
      decisions: ["Which port?"],
      refs: [this.fact],
      artifacts: [{ kind: "file", path: "src/client.ts" }],
      payload: { type: "plan", data: { steps: 2 } },
      ...draft,
    };
  }

  sent(draft: Partial<Draft> = {}) {
    return this.ada.handoff(this.draft(draft));
  }

  /** Bob's offer, by its handle. */
  async offered(draft: Partial<Draft> = {}): Promise<string> {
    await this.sent(draft);
    const offer = await (await this.as("bob").agent()).claim({}, { wait: false });
    if (offer === undefined) throw new Error("it was sent, and is not offered");
    return offer.handle;
  }

  /** Work that Bob has accepted. */
  async working(draft: Partial<Draft> = {}): Promise<Work> {
    await this.sent(draft);
    const work = await this.bob.accept();
    if (work === undefined) throw new Error("it was sent, and cannot be accepted");
    return work;
  }

  async held(draft: Partial<Draft> = {}): Promise<{ handle: string }> {
    return { handle: (await this.working(draft)).handle };
  }

  /** Given up after one try; Cleo was told. */
  async dead(): Promise<string> {
    const work = await this.working({ policy: { attempts: 1 } });
    await work.fail({ message: "It does not build", class: "permanent", hints: ["Look at it"] });
    return work.id;
  }

  async asked(): Promise<string> {
    const work = await this.working();
    await work.clarify("Which port?");
    return work.id;
  }

  /** A change of the context that Cleo is to adopt, as her work. */
  async proposed(): Promise<{ handle: string }> {
    await this.ada.context.propose(
      { section: "conventions", key: "tabs", rule: "Tabs, not spaces" },
      { reason: "Everybody does" },
    );
    const work = await this.cleo.accept();
    if (work === undefined) throw new Error("it was proposed, and cannot be accepted");
    return { handle: work.handle };
  }

  async decided(): Promise<{ version: number }> {
    return this.cleo.context.decide({
      key: "database",
      question: "Which database?",
      choice: "SQLite",
      reasons: ["It is there"],
      rejected: [{ option: "MySQL", why: "Nobody runs one" }],
    });
  }
}

/** How each is called, by whom, and what it must answer. */
interface Sample<N extends Name> {
  readonly as?: string;
  readonly input?: (world: World) => InputOf<N> | Promise<InputOf<N>>;
  readonly says: (answer: OutputOf<N>, world: World) => unknown;
}

/** Claimed and put back: as many tries are left as before. */
const NOT_TRIED = { state: "ready", attempt: 1, maxAttempts: 4 };

const done = (answer: { readonly done: true }): unknown => expect(answer).toEqual({ done: true });
const settled = (answer: object, state: string): unknown =>
  expect(answer).toMatchObject({ kind: "settled", delivery: { state } });

const SAMPLES: { readonly [N in Name]: Sample<N> } = {
  // Handing over.
  handoff: {
    input: (w) => ({ draft: w.draft() }),
    says: async (sent, { hub }) => {
      expect(sent).toMatchObject({ kind: "sent", joined: "new", secrets: [] });
      const [delivery] = sent.deliveries;
      expect((await hub.delivery(delivery?.id ?? "")).envelope.id).toBe(sent.envelope.id);
    },
  },
  joinHandoffs: {
    input: async (w) => ({
      of: [(await w.sent()).id],
      need: "any",
      draft: { to: "ada", intent: "Put it together" },
    }),
    says: ({ envelope }) => expect(envelope.joins).toMatchObject({ need: 1 }),
  },
  lintDraft: {
    input: (w) => ({ draft: w.draft({ next: [] }) }),
    says: ({ ok, findings }) => {
      expect(ok).toBe(true);
      expect(findings.map(({ rule }) => rule)).toContain("no_next_step");
    },
  },
  preview: {
    input: (w) => ({ draft: w.draft(), tokens: 1_000 }),
    says: ({ view, to }) => {
      expect(to).toBe("bob");
      expect(view).toMatchObject({ budget: { tokens: 1_000, from: "call" }, receiver: "bob" });
    },
  },
  lintEnvelope: {
    input: async (w) => ({ id: (await w.sent()).envelope.id }),
    says: ({ ok }) => expect(ok).toBe(true),
  },

  // What became of it.
  showDelivery: {
    input: async (w) => {
      const work = await w.working();
      await work.complete({ summary: "Built", confidence: 0.9, outputs: { files: ["a.ts"] } });
      return { id: work.id };
    },
    says: ({ delivery, result }) => {
      expect(delivery.state).toBe("completed");
      expect(result).toMatchObject({ summary: "Built", outputs: { files: ["a.ts"] } });
    },
  },
  awaitChange: {
    input: async (w) => ({ id: (await w.sent()).id, seen: "an older one" }),
    says: ({ delivery, digest }) => {
      expect(delivery.state).toBe("ready");
      expect(digest).toMatch(/^[0-9a-f]{16}$/);
    },
  },
  awaitAccepted: {
    input: async (w) => ({ id: (await w.working()).id }),
    says: (answer) => expect(answer).toMatchObject({ kind: "accepted" }),
  },
  awaitCompleted: {
    input: async (w) => ({ id: await w.dead(), line: true, waitMs: 10 }),
    says: (answer) =>
      expect(answer).toMatchObject({ kind: "dead", failure: { message: "It does not build" } }),
  },
  attempts: {
    input: async (w) => ({ id: await w.dead() }),
    says: ([attempt]) => expect(attempt).toMatchObject({ outcome: "failed", holder: "bob" }),
  },
  views: {
    input: async (w) => {
      const work = await w.working();
      await work.view();
      return { id: work.id };
    },
    says: ([view]) => expect(view).toMatchObject({ matches: true, receiver: "bob" }),
  },
  primer: {
    input: async (w) => ({ id: (await w.sent()).id }),
    says: ({ text }) => expect(text).toContain("Build the client"),
  },
  deliveryWarnings: {
    input: async (w) => {
      const { id } = await w.sent();
      await w.ada.quarantine(w.fact, "It returns XML");
      return { id };
    },
    says: ([warning], { fact }) => expect(warning).toMatchObject({ memory: fact, by: "ada" }),
  },
  cancelDelivery: {
    input: async (w) => ({ id: (await w.sent()).id, reason: "Not needed" }),
    says: ([delivery]) => expect(delivery?.state).toBe("cancelled"),
  },
  cancelTask: {
    input: async (w) => ({ task: (await w.sent()).task, reason: "Not needed" }),
    says: ([delivery]) => expect(delivery?.state).toBe("cancelled"),
  },
  questions: {
    input: async (w) => {
      await w.asked();
      return {};
    },
    says: ([asked]) => expect(asked?.question).toBe("Which port?"),
  },
  answer: {
    input: async (w) => ({ id: await w.asked(), text: "8080" }),
    says: ({ state }) => expect(state).toBe("ready"),
  },
  dead: {
    input: async (w) => {
      await w.dead();
      return { task: "build", limit: 5 };
    },
    says: ([letter]) => expect(letter?.attempts).toHaveLength(1),
  },
  redrive: {
    input: async (w) => ({ id: await w.dead(), next: ["Look at it first"] }),
    says: ({ state }) => expect(state).toBe("ready"),
  },
  discard: {
    input: async (w) => ({ id: await w.dead(), reason: "Nobody needs it" }),
    says: ({ state }) => expect(state).toBe("cancelled"),
  },
  approve: {
    as: "bob",
    input: async (w) => ({
      id: (await w.sent({ expects: [{ name: "ok", type: "approval" }] })).id,
      comment: "Fine",
    }),
    says: ({ state }) => expect(state).toBe("completed"),
  },
  reply: {
    as: "bob",
    input: async (w) => ({ id: (await w.sent()).id, text: "It is done" }),
    says: ({ state }) => expect(state).toBe("completed"),
  },
  reject: {
    as: "bob",
    input: async (w) => ({ id: (await w.sent()).id, reason: "Not mine" }),
    says: ({ state }) => expect(["declined", "dead"]).toContain(state),
  },
  edit: {
    as: "bob",
    input: async (w) => ({ id: (await w.sent()).id, changes: { next: ["Read it twice"] } }),
    says: ({ envelope }) =>
      expect(envelope).toMatchObject({ next: ["Read it twice"], to: { agent: "ada" } }),
  },

  // Receiving.
  waiting: {
    as: "bob",
    input: async (w) => {
      await w.sent();
      return { limit: 10 };
    },
    says: ([waiting]) => expect(waiting?.envelope.intent).toBe("Build the client"),
  },
  claim: {
    as: "bob",
    input: async (w) => {
      await w.sent();
      return {};
    },
    says: ({ offer }) => expect(offer?.delivery).toMatchObject({ state: "claimed", holder: "bob" }),
  },
  accept: {
    as: "bob",
    input: async (w) => ({ delivery: (await w.sent({ touches: ["src/**"] })).id, waitMs: 10 }),
    says: ({ work }) => expect(work?.delivery).toMatchObject({ state: "accepted", holder: "bob" }),
  },
  refreshOffer: {
    as: "bob",
    input: async (w) => ({ handle: await w.offered() }),
    says: (offer) => expect(offer.delivery.state).toBe("claimed"),
  },
  acceptOffer: {
    as: "bob",
    input: async (w) => ({
      handle: await w.offered({ receipt: true }),
      receipt: { goal: "Build it", firstStep: "Read the API", constraints: ["no-xml"] },
    }),
    says: (work) => expect(work.delivery.state).toBe("accepted"),
  },
  declineOffer: {
    as: "bob",
    input: async (w) => ({ handle: await w.offered(), reason: "Not mine" }),
    says: (answer) => expect(answer.kind).toBe("settled"),
  },
  releaseOffer: {
    as: "bob",
    input: async (w) => ({ handle: await w.offered() }),
    says: async (answer, { bob }) => {
      done(answer);
      expect((await bob.waiting())[0]?.delivery).toMatchObject(NOT_TRIED);
    },
  },
  offerConflicts: {
    as: "cleo",
    input: async (w) => {
      await (await w.working()).reserve(["src/client.ts"]);
      await w.sent({ to: "cleo", task: "other", touches: ["src/**"] });
      const offer = await (await w.as("cleo").agent()).claim({}, { wait: false });
      return { handle: offer?.handle ?? "" };
    },
    says: ([conflict]) => expect(conflict).toMatchObject({ agent: "bob", with: ["src/**"] }),
  },

  // Working.
  resumeWork: {
    as: "bob",
    input: (w) => w.held(),
    says: (work) => expect(work.delivery.holder).toBe("bob"),
  },
  renewWork: {
    as: "bob",
    input: (w) => w.held(),
    says: async ({ leaseUntil, envelope }, { hub }) => {
      const [step] = await hub.line("build");
      expect(envelope).toBe(step?.envelope.id);
      expect(leaseUntil).toBe(step?.deliveries[0]?.leaseUntil);
    },
  },
  awaitWork: {
    as: "bob",
    input: async (w) => {
      const { handle, envelope } = await w.working();
      await w.sent({ next: ["Read the API", "and write it down"] });
      await w.ada.quarantine(w.fact, "It returns XML");
      return { handle, envelope: envelope.id, waitMs: 10 };
    },
    says: ({ lost, extended, warnings }, { fact }) => {
      expect(lost).toBeUndefined();
      expect(extended?.next).toHaveLength(2);
      expect(warnings.map(({ memory }) => memory)).toEqual([fact]);
    },
  },
  holder: {
    input: (w) => w.held(),
    says: (answer) => expect(answer).toEqual({ agent: "bob" }),
  },
  note: {
    as: "bob",
    input: async (w) => ({ ...(await w.held()), note: { content: "It returns 200" } }),
    says: (noted) => expect(noted).toMatchObject({ kind: "noted", memory: { task: "build" } }),
  },
  view: {
    as: "bob",
    input: async (w) => ({ ...(await w.held()), tokens: 2_000, strategy: "full" }),
    says: ({ text, shown }, { fact }) => {
      expect(text).toContain("Build the client");
      expect(shown).toContainEqual(expect.objectContaining({ id: fact, freshness: "fresh" }));
    },
  },
  freshness: {
    as: "bob",
    input: (w) => w.held(),
    says: ({ references, artifacts }, { fact }) => {
      expect(references).toEqual([{ id: fact, freshness: "fresh" }]);
      expect(artifacts).toEqual([{ path: "src/client.ts", freshness: "unchecked" }]);
    },
  },
  readForWork: {
    as: "bob",
    input: async (w) => ({ ...(await w.held()), id: w.fact, level: "summary" }),
    says: (memory) => expect(memory).toMatchObject({ level: "summary", agent: "ada" }),
  },
  reserve: {
    as: "bob",
    input: async (w) => ({ ...(await w.held()), globs: "src/*.ts", mode: "shared", note: "All" }),
    says: ({ reserved }) => expect(reserved).toMatchObject({ globs: ["src/*.ts"], agent: "bob" }),
  },
  unreserve: {
    as: "bob",
    input: async (w) => {
      const work = await w.working();
      await work.reserve("src/*.ts");
      return { handle: work.handle };
    },
    says: async (answer, { hub }) => {
      done(answer);
      expect(await hub.reservations()).toEqual([]);
    },
  },
  complete: {
    as: "bob",
    input: async (w) => {
      const branch = await w.ada.branch("run-1/bob");
      expect(branch.onBranch).toBe("run-1/bob");
      const held = await w.held({ branch: "run-1/bob", mergeOnComplete: true });
      return { ...held, result: { summary: "Built", outcome: "good" } };
    },
    says: (answer) => {
      settled(answer, "completed");
      expect(answer).toMatchObject({ merge: { kind: "merged" } });
    },
  },
  fail: {
    as: "bob",
    input: async (w) => ({ ...(await w.held()), failure: { message: "No network" } }),
    says: (answer) => settled(answer, "scheduled"),
  },
  decline: {
    as: "bob",
    input: async (w) => ({ ...(await w.held()), reason: "Not mine" }),
    says: (answer) => expect(answer.kind).toBe("settled"),
  },
  clarify: {
    as: "bob",
    input: async (w) => ({ ...(await w.held()), question: "Which port?" }),
    says: (answer) => settled(answer, "waiting"),
  },
  release: {
    as: "bob",
    input: (w) => w.held(),
    says: ({ state }) => expect(state).toBe("ready"),
  },
  handOn: {
    as: "bob",
    input: async (w) => ({
      ...(await w.held()),
      draft: { to: "cleo", action: "needs_review" },
      completes: { summary: "Built" },
    }),
    says: async (sent, { hub }) => {
      expect(sent).toMatchObject({ kind: "sent", envelope: { hop: 1, task: "build" } });
      expect((await hub.line("build"))[0]?.deliveries[0]?.state).toBe("completed");
    },
  },
  beginOnce: {
    as: "bob",
    input: async (w) => ({ ...(await w.held()), key: "deploy" }),
    says: async (answer, { hub, bob }) => {
      expect(answer).toEqual({ kind: "begun" });
      const [step] = await hub.line("build");
      const own = await bob.once(`${step?.deliveries[0]?.id}/deploy`, () => 1);
      expect(own).toMatchObject({ kind: "uncertain", by: "bob" });
    },
  },
  recordOnce: {
    as: "bob",
    input: async (w) => {
      const { handle } = await w.working();
      await (await w.as("bob").agent()).beginOnce("deploy", handle);
      return { handle, key: "deploy", result: { url: "/" } };
    },
    says: async (answer, { hub, bob }) => {
      done(answer);
      const [step] = await hub.line("build");
      const again = await bob.once(`${step?.deliveries[0]?.id}/deploy`, () => 1);
      expect(again).toEqual({ kind: "done", result: { url: "/" }, again: true });
    },
  },
  resolveOnce: {
    input: async (w) => {
      await (await w.as("bob").agent()).beginOnce("mail");
      return { key: "mail", result: "sent" };
    },
    says: async (answer, { bob }) => {
      done(answer);
      expect(await bob.once("mail", () => 1)).toMatchObject({ kind: "done", result: "sent" });
    },
  },

  // Channels and routes.
  listChannels: {
    input: async (w) => {
      await w.hub.channel("news");
      return {};
    },
    says: (channels) => expect(channels).toEqual([{ name: "news", state: "open" }]),
  },
  setChannel: {
    input: () => ({ name: "news", state: "paused" }),
    says: async (channel, { hub }) => expect(await hub.channels()).toEqual([channel]),
  },
  subscribers: {
    input: async (w) => {
      await w.hub.channel("news");
      await w.bob.subscribe("news");
      return { name: "news" };
    },
    says: (agents) => expect(agents).toEqual(["bob"]),
  },
  subscribe: {
    as: "bob",
    input: async (w) => {
      await w.hub.channel("news");
      await w.cleo.subscribe("news");
      await w.ada.publish("news", { intent: "It is out" });
      return { name: "news", from: "start" };
    },
    says: (answer) => expect(answer).toEqual({ replayed: 1 }),
  },
  unsubscribe: {
    as: "bob",
    input: async (w) => {
      await w.hub.channel("news");
      await w.bob.subscribe("news");
      return { name: "news" };
    },
    says: async (answer, { hub }) => {
      done(answer);
      expect(await hub.subscribers("news")).toEqual([]);
    },
  },
  listRoutes: {
    input: async (w) => {
      await w.hub.route("review", { when: { action: "needs_review" }, to: "role:critic" });
      return {};
    },
    says: ([route]) => expect(route).toMatchObject({ name: "review", to: "role:critic" }),
  },
  setRoute: {
    input: () => ({ name: "review", when: { action: "needs_review" }, to: "cleo" }),
    says: async (answer, { hub }) => {
      done(answer);
      expect(await hub.routes()).toMatchObject([{ name: "review", to: "cleo" }]);
    },
  },
  dropRoute: {
    input: async (w) => {
      await w.hub.route("review", { to: "cleo" });
      return { name: "review" };
    },
    says: async (answer, { hub }) => {
      done(answer);
      expect(await hub.routes()).toEqual([]);
    },
  },

  // Tasks.
  getTask: {
    input: async (w) => ({ task: (await w.sent()).task }),
    says: (task) => expect(task).toMatchObject({ state: "open", queued: false, to: "bob" }),
  },
  board: {
    input: async (w) => {
      await w.ada.tasks.add({ ...w.draft(), task: "one" });
      await w.ada.tasks.add({ ...w.draft(), task: "two", after: ["one"] });
      return { states: ["open", "blocked"], limit: 10 };
    },
    says: ({ open, blocked }) => {
      expect(open.map(({ task }) => task)).toEqual(["one"]);
      expect(blocked).toMatchObject([{ task: "two", waitsFor: ["one"] }]);
    },
  },
  closedTasks: {
    input: async (w) => {
      await w.ada.tasks.add({ ...w.draft(), task: "one" });
      await w.ada.tasks.cancel("one", "Not needed");
      return { states: ["cancelled"] };
    },
    says: ({ tasks }) => expect(tasks).toMatchObject([{ task: "one", closed: { by: "ada" } }]),
  },
  taskTree: {
    input: async (w) => {
      await w.ada.tasks.add({ ...w.draft(), task: "one", closing: "told" });
      await w.ada.tasks.add({ ...w.draft(), task: "part", parent: "one" });
      await w.ada.tasks.add({ ...w.draft(), task: "part of it", parent: "part" });
      return { task: "one" };
    },
    says: ({ parts }) => expect(parts[0]?.parts[0]?.task).toBe("part of it"),
  },
  line: {
    input: async (w) => ({ task: (await w.sent()).task }),
    says: (steps) => expect(steps).toHaveLength(1),
  },
  timeline: {
    input: async (w) => {
      await w.dead();
      return { task: "build", children: true, limit: 100 };
    },
    says: ({ steps }) => {
      const kinds = steps.map(({ kind }) => kind);
      expect(kinds).toEqual(expect.arrayContaining(["handed_over", "failed", "reported"]));
    },
  },
  addTask: {
    input: (w) => ({ task: { ...w.draft(), task: "one", closing: "told", deadlineMs: 60_000 } }),
    says: ({ task, sent }) => {
      expect(task).toMatchObject({ task: "one", queued: true, closing: "told" });
      expect(sent.deliveries[0]?.deadline).toBe(task.deadline);
    },
  },
  closeTask: {
    input: async (w) => {
      const work = await w.working();
      await work.complete();
      return { task: "build", as: "failed", reason: "It does not run" };
    },
    says: (task) => expect(task).toMatchObject({ state: "failed", closed: { by: "ada" } }),
  },
  reopenTask: {
    input: async (w) => {
      await (await w.working()).complete();
      await w.ada.tasks.close("build", { reason: "It runs" });
      return { task: "build", reason: "It does not" };
    },
    says: ({ state }) => expect(state).toBe("open"),
  },
  cancelWholeTask: {
    input: async (w) => {
      await w.ada.tasks.add({ ...w.draft(), task: "one" });
      return { task: "one", reason: "Not needed" };
    },
    says: ({ state }) => expect(state).toBe("cancelled"),
  },
  ledger: {
    input: async (w) => ({ task: (await w.sent()).task }),
    says: ({ ledger }) => expect(ledger?.constraints).toMatchObject([{ id: "no-xml" }]),
  },
  releaseFromLedger: {
    input: async (w) => ({
      task: (await w.sent()).task,
      released: { id: "no-xml", reason: "It is XML after all" },
    }),
    says: ({ constraints, released }) => {
      expect(constraints).toEqual([]);
      expect(released).toMatchObject([{ id: "no-xml", kind: "constraint" }]);
    },
  },
  reservations: {
    input: async (w) => {
      await (await w.working()).reserve(["src/client.ts"]);
      return { touching: ["src/**"], agent: "bob" };
    },
    says: ([reservation]) => expect(reservation?.globs).toEqual(["src/client.ts"]),
  },

  // The shared context.
  readContext: {
    input: async (w) => {
      await w.decided();
      return { tokens: 500, sections: ["decisions"] };
    },
    says: ({ text, items }) => {
      expect(text).toContain("SQLite");
      expect(items).toMatchObject([{ key: "database", by: "cleo" }]);
    },
  },
  contextItem: {
    input: async (w) => {
      await w.decided();
      return { section: "decisions", key: "database" };
    },
    says: ({ item }) => expect(item).toMatchObject({ choice: "SQLite" }),
  },
  contextChanges: {
    as: "cleo",
    input: async (w) => {
      await w.decided();
      return {};
    },
    says: (changes) => expect(changes).toMatchObject({ since: 0, more: false, version: 1 }),
  },
  contextHistory: {
    input: async (w) => {
      const { version } = await w.decided();
      await w.cleo.context.retire("decisions", "database", { basedOn: version, reason: "Gone" });
      return { section: "decisions", key: "database" };
    },
    says: (changes) => expect(changes.map(({ kind }) => kind)).toEqual(["retired", "set"]),
  },
  setContext: {
    as: "cleo",
    input: () => ({
      item: { section: "constraints", key: "no-xml", rule: "No XML", why: "Nobody reads it" },
    }),
    says: (item) => expect(item).toMatchObject({ key: "no-xml", level: "must", version: 1 }),
  },
  retireContext: {
    as: "cleo",
    input: async (w) => {
      const { version } = await w.decided();
      return { section: "decisions", key: "database", basedOn: version, reason: "Gone" };
    },
    says: ({ version }) => expect(version).toBe(2),
  },
  updateProject: {
    as: "cleo",
    input: () => ({ items: [{ section: "project", key: "branch", content: "main, at 1234567" }] }),
    says: ([item]) => expect(item).toMatchObject({ key: "branch", by: "cleo" }),
  },
  proposeContext: {
    input: async (w) => {
      await w.decided();
      const change = { section: "decisions", key: "store", question: "Which database?" } as const;
      return { change: { ...change, choice: "MySQL" }, reason: "We know it" };
    },
    says: ({ sent, contradictions }) => {
      expect(sent.envelope.to).toEqual({ kind: "role", role: "coordinator" });
      expect(contradictions).toMatchObject([{ key: "database", choice: "SQLite" }]);
    },
  },
  adoptContext: {
    as: "cleo",
    input: (w) => w.proposed(),
    says: (adopted) =>
      expect(adopted).toMatchObject({ kind: "adopted", delivery: { state: "completed" } }),
  },

  // What failed.
  listFailures: {
    input: async (w) => {
      await w.dead();
      return { undecided: true };
    },
    says: ([failure]) => expect(failure).toMatchObject({ task: "build", with: "role:coordinator" }),
  },
  showFailure: {
    input: async (w) => {
      const id = await w.dead();
      await w.cleo.failures.decide(id, { decision: "retry", reason: "Try again", delayMs: 5 });
      const again = await w.bob.accept({ delivery: id, wait: true });
      await again?.fail({ message: "Again", class: "permanent" });
      return { id };
    },
    says: ({ before, advice }) => {
      expect(before).toMatchObject([{ decision: "retry", by: "cleo" }]);
      expect(advice?.source).toBe("default");
    },
  },
  decideFailure: {
    as: "cleo",
    input: async (w) => {
      const id = await w.dead();
      const report = await w.cleo.accept();
      const decision = { decision: "reroute", to: "ada", reason: "She knows" } as const;
      return { id, decision, handle: report?.handle };
    },
    says: (answer) =>
      expect(answer).toMatchObject({
        kind: "decided",
        decision: "reroute",
        delivery: { receiver: "ada", state: "ready" },
      }),
  },
  failureRules: {
    input: async (w) => {
      await w.hub.failures.setRule("timeouts", { when: { type: "timeout" }, then: { retry: {} } });
      return {};
    },
    says: ([rule]) => expect(rule).toMatchObject({ name: "timeouts", then: { retry: {} } }),
  },
  setFailureRule: {
    input: () => ({ name: "never", rule: { then: { abort: true }, reason: "Never again" } }),
    says: async (answer, { hub }) => {
      done(answer);
      expect(await hub.failures.rules()).toMatchObject([{ name: "never", when: {} }]);
    },
  },
  dropFailureRule: {
    input: async (w) => {
      await w.hub.failures.setRule("never", { then: { abort: true } });
      return { name: "never" };
    },
    says: async (answer, { hub }) => {
      done(answer);
      expect(await hub.failures.rules()).toEqual([]);
    },
  },
};

async function called(name: Name) {
  const world = await World.open();
  const { as = "ada", input, says } = SAMPLES[name] as unknown as Sample<"showDelivery">;
  return { world, acting: world.as(as), input: (await input?.(world)) ?? {}, says };
}

describe("operations on handoffs and what comes of them", () => {
  it.each(NAMES)("%s can be described in JSON Schema [OPS-7]", (name) => {
    const { input, output, summary } = operation(name);
    for (const schema of [input, output]) {
      const described = z.toJSONSchema(schema, { io: "input", unrepresentable: "any" });
      expect(described).toMatchObject({ $schema: expect.any(String) });
    }
    expect(summary).toMatch(/^[A-Z].+\.$/);
  });

  it.each(NAMES)(
    "%s takes what it describes, and answers as it describes [OPS-7]",
    async (name) => {
      const { world, acting, input, says } = await called(name);
      expect(operation(name).input.safeParse(input).error).toBeUndefined();
      await says((await answerOf(acting, name, input)) as never, world);
    },
  );

  const ODD = [undefined, null, 0, -1, 1.5, true, "", "\0", "ghost", [], [null], {}, { a: 1 }];
  const UNKNOWN = "nobody-knows-this";

  it.each(NAMES)(
    "%s refuses every odd value with an error of the table, and nothing is stored [OPS-7]",
    async (name) => {
      const { input, rest } = operation(name);
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
          } else at = await called(name); // It was carried out.
          if (field === UNKNOWN && value !== undefined) {
            expect(outcome, how).toMatchObject({ code: expect.stringMatching(/^invalid_/) });
          }
        }
      }
    },
  );

  /** What a call that was refused may not have changed. */
  const stored = async ({ hub }: World) => [
    await hub.indexState(),
    await hub.books(),
    (await hub.events()).length,
  ];
});

describe("a caller that has gone", () => {
  it("leaves the offer it would have got where it was, and no try is counted [OPS-7]", async () => {
    const world = await World.open();
    const gone = new AbortController();
    const acting = world.as("bob", { signal: gone.signal });
    const claiming = call(acting, "claim", { waitMs: 20_000 });
    gone.abort();
    expect(await claiming).toEqual({ offer: null });
    await world.sent();
    expect(await call(acting, "claim", {})).toEqual({ offer: null });
    const [waiting] = await world.bob.waiting();
    expect(waiting?.delivery).toMatchObject(NOT_TRIED);
  });

  it("leaves the work it would have accepted for others [OPS-7]", async () => {
    const world = await World.open();
    await world.sent();
    const acting = world.as("bob", { signal: AbortSignal.abort() });
    expect(await call(acting, "accept", {})).toEqual({ work: null });
    expect((await world.bob.waiting())[0]?.delivery.state).toBe("ready");
  });
});

describe("an answer that is held back", () => {
  it("comes when there is something to say [OPS-7]", async () => {
    const world = await World.open();
    const bob = world.as("bob");
    const claiming = call(bob, "claim", { waitMs: 20_000 });
    const { id } = await world.sent();
    const { offer } = await claiming;
    expect(offer?.delivery.id).toBe(id);

    const ada = world.as("ada");
    const accepted = call(ada, "awaitAccepted", { id, waitMs: 20_000 });
    const seen = await call(ada, "awaitChange", { id });
    const changed = call(ada, "awaitChange", { id, seen: seen.digest, waitMs: 20_000 });
    const { handle } = await call(bob, "acceptOffer", { handle: offer?.handle ?? "" });
    expect(await accepted).toMatchObject({ kind: "accepted" });
    expect((await changed).delivery.state).toBe("accepted");

    const completed = call(ada, "awaitCompleted", { id, waitMs: 20_000 });
    await call(bob, "complete", { handle, result: { summary: "Built" } });
    expect(await completed).toMatchObject({ kind: "completed", result: { summary: "Built" } });
  });

  it("says how things stand when the time is up [OPS-7]", async () => {
    const world = await World.open();
    const { id } = await world.sent();
    const ada = world.as("ada");
    const { digest } = await call(ada, "awaitChange", { id });
    const asBefore = { digest, delivery: { state: "ready" } };
    expect(await call(ada, "awaitChange", { id, seen: digest, waitMs: 5 })).toMatchObject(asBefore);
    const late = { kind: "timeout", delivery: { state: "ready" } };
    expect(await call(ada, "awaitAccepted", { id, waitMs: 5 })).toMatchObject(late);
    expect(await call(ada, "awaitCompleted", { id, waitMs: 5 })).toMatchObject(late);
    const nothing = { task: "another", waitMs: 5 };
    expect(await call(world.as("bob"), "claim", nothing)).toEqual({ offer: null });
    expect(await call(world.as("bob"), "accept", nothing)).toEqual({ work: null });
  });

  it("is held back for 25 seconds at most [OPS-7]", async () => {
    const world = await World.open();
    const { id } = await world.sent();
    for (const name of ["claim", "accept", "awaitChange", "awaitAccepted"] as const) {
      const input = name.startsWith("await") ? { id, waitMs: 25_001 } : { waitMs: 25_001 };
      const error = await refusal(answerOf(world.as("bob"), name, input));
      expect(error).toMatchObject({ code: "limit_exceeded", path: "waitMs" });
    }
  });

  it("does not take a renewed lease for a change [OPS-7]", async () => {
    const world = await World.open();
    const { id, handle } = await world.working();
    const before = await call(world.as("ada"), "awaitChange", { id });
    await call(world.as("bob"), "renewWork", { handle });
    expect((await call(world.as("ada"), "awaitChange", { id })).digest).toBe(before.digest);
  });
});

describe("an offer of a version that cannot be read here", () => {
  it("is put back untried, and holds up nothing that comes after it [OPS-7]", async () => {
    const [older, newer] = await openTwo("memory", {}, { versions: MIGRATED });
    if (!(older instanceof LocalHub)) throw new Error("a hub in this process was opened");
    const ada = await newer.agent("ada", {});
    await newer.agent("bob", {});
    const unread = await ada.handoff({ to: "bob", task: "one", intent: "Say it in 2.0" });
    const bob = actingOn(older, { named: "bob" });
    const code = "unsupported_version";
    expect((await refusal(answerOf(bob, "claim", {}))).code).toBe(code);
    expect((await refusal(answerOf(bob, "claim", { delivery: unread.id }))).code).toBe(code);
    expect(await unread.status()).toMatchObject({ state: "ready", attempt: 2, maxAttempts: 5 });
    const cleo = await older.agent("cleo", {});
    const { id } = await cleo.handoff({ to: "bob", task: "two", intent: "Say it in 1.x" });
    expect((await call(bob, "claim", {})).offer?.delivery.id).toBe(id);
  });
});

describe("news of a piece of work", () => {
  it("comes when the sender adds to it, once [OPS-7]", async () => {
    const world = await World.open();
    const { handle, envelope } = await world.working();
    const bob = world.as("bob");
    const waiting = call(bob, "awaitWork", { handle, envelope: envelope.id, waitMs: 20_000 });
    await world.sent({ next: ["Read the API", "and write it down"] });
    const { extended } = await waiting;
    expect(extended?.next).toHaveLength(2);
    const known = { handle, envelope: extended?.id ?? "" };
    expect(await call(bob, "awaitWork", { ...known, waitMs: 5 })).not.toHaveProperty("extended");
    // Who settles without having been told is told first.
    const settling = { handle, envelope: envelope.id };
    expect(await call(bob, "complete", settling)).toMatchObject({ kind: "extended" });
    expect(await call(bob, "complete", known)).toMatchObject({ kind: "settled" });
  });

  it("comes when something it carries is quarantined, and again when that is lifted [OPS-7]", async () => {
    const world = await World.open();
    const { handle } = await world.working();
    const bob = world.as("bob");
    const { warned } = await call(bob, "awaitWork", { handle });
    const waiting = call(bob, "awaitWork", { handle, warned, waitMs: 20_000 });
    await world.ada.quarantine(world.fact, "It returns XML");
    const told = await waiting;
    expect(told.warnings).toMatchObject([{ memory: world.fact, by: "ada" }]);
    const same = { handle, warned: told.warned, waitMs: 5 };
    expect(await call(bob, "awaitWork", same)).toEqual(told);
    await world.ada.lift(world.fact, "It does not");
    expect(await call(bob, "awaitWork", { ...same, waitMs: 20_000 })).toEqual({
      warnings: [],
      warned,
    });
  });

  it("comes when it is taken back, with the error any other call would be refused with [OPS-7]", async () => {
    const world = await World.open();
    const { handle, id } = await world.working();
    const bob = world.as("bob");
    const waiting = call(bob, "awaitWork", { handle, waitMs: 20_000 });
    await world.ada.cancel({ delivery: id }, "Not needed");
    const { lost } = await waiting;
    const error = await refusal(answerOf(bob, "complete", { handle }));
    expect(lost).toEqual(asJson(error));
    expect((await call(bob, "awaitWork", { handle })).lost).toEqual(lost);
  });
});

describe("work that is not the caller's any more", () => {
  it("can be settled by nobody else, and notes on it are kept [OPS-7]", async () => {
    const world = await World.open();
    const { handle, id } = await world.working();
    expect((await refusal(answerOf(world.as("dan"), "complete", { handle }))).code).toBe(
      "lease_lost",
    );
    await world.ada.cancel({ delivery: id }, "Not needed");
    const note = { handle, note: { content: "It returned 200" } };
    const kept = await call(world.as("bob"), "note", note);
    expect(kept).toMatchObject({ kind: "kept", delivery: { state: "cancelled" } });
  });

  it("lets no effect begin, and one that has happened be told [OPS-7]", async () => {
    const world = await World.open();
    const { handle, id } = await world.working();
    const bob = world.as("bob");
    expect(await call(bob, "beginOnce", { key: "deploy", handle })).toEqual({ kind: "begun" });
    await world.ada.cancel({ delivery: id }, "Not needed");
    await call(bob, "recordOnce", { key: "deploy", handle, result: 1 });
    expect(await world.bob.once(`${id}/deploy`, () => 2)).toMatchObject({ result: 1 });
    const begun = answerOf(bob, "beginOnce", { key: "another", handle });
    expect((await refusal(begun)).code).toBe("cancelled");
  });
});

describe("a person's mistake", () => {
  it("leaves the handoff where it was [OPS-7]", async () => {
    const world = await World.open();
    const { id } = await world.sent();
    const wrong = [
      { constraints: 5 },
      { next: ["\0"] },
      { state: "Fine", to: "a b" },
      { ghost: 1 },
    ];
    for (const changes of wrong) {
      const error = await refusal(answerOf(world.as("bob"), "edit", { id, changes }));
      expect(error.code).toBe("invalid_envelope");
    }
    expect((await world.hub.delivery(id)).delivery).toMatchObject({ state: "ready", attempt: 0 });
  });
});

describe("the key of a call", () => {
  it("hands over once, whatever the hub remembers of the call [OPS-7]", async () => {
    const world = await World.open();
    const acting = world.as("ada", { key: "3f0c1d5e-one" });
    const first = await call(acting, "handoff", { draft: world.draft() });
    const again = await call(acting, "handoff", { draft: world.draft() });
    expect(again).toMatchObject({ joined: "repeated", envelope: { id: first.envelope.id } });
    const added = { task: { ...world.draft(), task: "one" } };
    const other = world.as("ada", { key: "no name: $%&=" });
    const task = await call(other, "addTask", added);
    expect((await call(other, "addTask", added)).sent.envelope.id).toBe(task.sent.envelope.id);
  });

  it("leaves the sender's own key as it is [OPS-7]", async () => {
    const world = await World.open();
    const draft = world.draft({ key: "mine" });
    const first = await call(world.as("ada", { key: "a" }), "handoff", { draft });
    const again = await call(world.as("ada", { key: "b" }), "handoff", { draft });
    expect(again.envelope.id).toBe(first.envelope.id);
  });
});

describe("with the access of an agent", () => {
  /** What is done to a handoff of Ada's. */
  const OWN: { readonly [N in Name]?: (world: World) => Promise<InputOf<N>> } = {
    cancelDelivery: async (w) => ({ id: (await w.sent()).id, reason: "Not needed" }),
    cancelTask: async (w) => ({ task: (await w.sent()).task, reason: "Not needed" }),
    answer: async (w) => ({ id: await w.asked(), text: "8080" }),
    redrive: async (w) => ({ id: await w.dead() }),
    discard: async (w) => ({ id: await w.dead(), reason: "Not needed" }),
  };
  const attempt = async (name: Name, who: string, access: Access): Promise<unknown> => {
    const world = await World.open();
    const input = await OWN[name]?.(world);
    return answerOf(world.as(who, { access }), name, input);
  };

  it.each(Object.keys(OWN) as Name[])(
    "%s is for who sent it, and for coordinators [OPS-5]",
    async (name) => {
      expect(await attempt(name, "ada", "agent")).toBeDefined();
      expect(await attempt(name, "dan", "coordinator")).toBeDefined();
      const error = await refusal(attempt(name, "dan", "agent"));
      expect(error).toMatchObject({ code: "forbidden", details: { needs: "coordinator" } });
    },
  );

  it("who was asked decides about a failure, and nobody else [OPS-5]", async () => {
    const world = await World.open();
    const id = await world.dead();
    const decision = { decision: "abort", reason: "Nobody needs it" } as const;
    const cleo = world.as("cleo", { access: "agent" });
    expect((await refusal(answerOf(cleo, "decideFailure", { id, decision }))).code).toBe(
      "forbidden",
    );
    const report = await world.cleo.accept();
    expect(report?.envelope.failure?.delivery).toBe(id);
    expect(await call(cleo, "decideFailure", { id, decision })).toMatchObject({ kind: "decided" });
  });
});

describe("a secret in what is said", () => {
  const SECRET = `ghp_${"a1B2c3D4e5F6g7H8i9J0".repeat(2).slice(0, 36)}`;

  it("is taken out, and told by kind and place wherever it was said [OPS-6 OPS-7]", async () => {
    const world = await World.open();
    const ada = world.as("ada");
    const bob = world.as("bob");
    const sent = await call(ada, "handoff", { draft: world.draft({ state: `Use ${SECRET}` }) });
    const { work } = await call(bob, "accept", {});
    const handle = work?.handle ?? "";
    const noted = await call(bob, "note", { handle, note: { content: `It is ${SECRET}` } });
    const asked = await call(bob, "clarify", { handle, question: `Is it ${SECRET}?` });
    const answered = await call(ada, "answer", {
      id: sent.deliveries[0]?.id ?? "",
      text: `Yes: ${SECRET}`,
    });
    const item = { section: "conventions", key: "key", rule: `Use ${SECRET}` } as const;
    const written = await call(world.as("cleo"), "setContext", { item });
    for (const answer of [sent, noted, asked, answered, written]) {
      expect(answer).toMatchObject({ secrets: [{ kind: expect.any(String) }] });
      expect(JSON.stringify(answer)).not.toContain(SECRET);
    }
  });
});
