/**
 * Sample calls of the operations on handoffs, deliveries, work, channels, tasks, the shared context
 * and failures, one each.
 */
import type { LocalHub } from "../../../src/hub/hub.ts";
import type { Agent, Draft, Work } from "../../../src/index.ts";
import { channelsOperations } from "../../../src/operations/channels.ts";
import { contextOperations } from "../../../src/operations/context.ts";
import { deliveriesOperations } from "../../../src/operations/deliveries.ts";
import { failuresOperations } from "../../../src/operations/failures.ts";
import { handoffsOperations } from "../../../src/operations/handoffs.ts";
import { inboxOperations } from "../../../src/operations/inbox.ts";
import type { OperationContext } from "../../../src/operations/operation.ts";
import { tasksOperations } from "../../../src/operations/tasks.ts";
import { workOperations } from "../../../src/operations/work.ts";
import { type ActingAs, actingOn } from "../../http/acting.ts";
import type { Input } from "./input.ts";

const DEFINED = {
  ...handoffsOperations,
  ...deliveriesOperations,
  ...inboxOperations,
  ...workOperations,
  ...channelsOperations,
  ...tasksOperations,
  ...contextOperations,
  ...failuresOperations,
};

export type DeliveryOperation = keyof typeof DEFINED;
export const DELIVERY_OPERATIONS = Object.keys(DEFINED) as DeliveryOperation[];

/** A hub with a planner (ada), an executor (bob), a coordinator (cleo) and a guest (dan). */
export class DeliveryWorld {
  readonly hub: LocalHub;
  readonly ada: Agent;
  readonly bob: Agent;
  readonly cleo: Agent;
  readonly fact: string;

  private constructor(parts: Pick<DeliveryWorld, "hub" | "ada" | "bob" | "cleo" | "fact">) {
    this.hub = parts.hub;
    this.ada = parts.ada;
    this.bob = parts.bob;
    this.cleo = parts.cleo;
    this.fact = parts.fact;
  }

  /** Sets up an empty hub. */
  static async on(hub: LocalHub): Promise<DeliveryWorld> {
    const session = { instance: "s-1", lease: "session" } as const;
    const ada = await hub.agent("ada", { role: "planner" }, session);
    const bob = await hub.agent("bob", { role: "executor" }, session);
    const cleo = await hub.agent("cleo", { role: "coordinator" }, session);
    await hub.agent("dan", { role: "guest" });
    const fact = await ada.remember({ content: "The API returns JSON.", task: "build" });
    return new DeliveryWorld({ hub, ada, bob, cleo, fact: fact.id });
  }

  as(named: string, as: Omit<ActingAs, "named"> = {}): OperationContext {
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

  /** Sends a handoff to bob, claims it and returns the handle of the offer. */
  async offered(draft: Partial<Draft> = {}): Promise<string> {
    await this.sent(draft);
    const offer = await (await this.as("bob").agent()).claim({}, { wait: false });
    if (offer === undefined) throw new Error("the handoff was sent, but no offer was returned");
    return offer.handle;
  }

  /** Sends a handoff to bob and returns the work he accepted. */
  async working(draft: Partial<Draft> = {}): Promise<Work> {
    await this.sent(draft);
    const work = await this.bob.accept();
    if (work === undefined) throw new Error("the handoff was sent, but accept() returned no work");
    return work;
  }

  async held(draft: Partial<Draft> = {}): Promise<{ handle: string }> {
    return { handle: (await this.working(draft)).handle };
  }

  /** Sends a handoff that fails permanently, and returns its id. Cleo gets a report. */
  async dead(): Promise<string> {
    const work = await this.working({ policy: { attempts: 1 } });
    await work.fail({
      message: "The build fails",
      class: "permanent",
      hints: ["Read the compiler output"],
    });
    return work.id;
  }

  async asked(): Promise<string> {
    const work = await this.working();
    await work.clarify("Which port?");
    return work.id;
  }

  /** Proposes a change of the shared context, and returns the handle of the work that cleo accepted. */
  async proposed(): Promise<{ handle: string }> {
    await this.ada.context.propose(
      { section: "conventions", key: "tabs", rule: "Tabs, not spaces" },
      { reason: "The code already uses tabs" },
    );
    const work = await this.cleo.accept();
    if (work === undefined)
      throw new Error("the change was proposed, but accept() returned no work");
    return { handle: work.handle };
  }

  async decided(): Promise<{ version: number }> {
    return this.cleo.context.decide({
      key: "database",
      question: "Which database?",
      choice: "SQLite",
      reasons: ["No server to run"],
      rejected: [{ option: "MySQL", why: "Needs a server" }],
    });
  }
}

interface DeliverySample {
  /** The agent that calls. Default: ada. */
  readonly as?: string;
  /** Sets up what the call needs, and returns its input. Default: {}. */
  readonly input?: (world: DeliveryWorld) => Input | Promise<Input>;
}

export const DELIVERY_SAMPLES: Readonly<Record<DeliveryOperation, DeliverySample>> = {
  // Sending.
  handoff: { input: (w) => ({ draft: w.draft() }) },
  handoffMany: {
    input: (w) => ({ drafts: [w.draft({ task: "one" }), w.draft({ task: "two" })] }),
  },
  "handoffs.join": {
    input: async (w) => ({
      of: [(await w.sent()).id],
      need: "any",
      draft: { to: "ada", intent: "Merge the results" },
    }),
  },
  "handoffs.lint": { input: (w) => ({ draft: w.draft({ next: [] }) }) },
  "handoffs.preview": { input: (w) => ({ draft: w.draft(), tokens: 1_000 }) },
  "handoffs.lintSent": { input: async (w) => ({ id: (await w.sent()).envelope.id }) },

  // Deliveries.
  "deliveries.get": {
    input: async (w) => {
      const work = await w.working();
      await work.complete({ summary: "Built", confidence: 0.9, outputs: { files: ["a.ts"] } });
      return { id: work.id };
    },
  },
  "deliveries.list": {
    input: async (w) => {
      for (const task of ["one", "two", "three"]) await w.sent({ task });
      return { states: ["ready"], from: "ada", to: "bob", sentAfter: "2020-01-01", limit: 2 };
    },
  },
  "deliveries.watch": {
    input: async (w) => ({ id: (await w.sent()).id, seen: "0123456789abcdef" }),
  },
  "deliveries.accepted": { input: async (w) => ({ id: (await w.working()).id }) },
  "deliveries.completed": { input: async (w) => ({ id: await w.dead(), line: true, waitMs: 10 }) },
  "deliveries.attempts": { input: async (w) => ({ id: await w.dead() }) },
  "deliveries.views": {
    input: async (w) => {
      const work = await w.working();
      await work.view();
      return { id: work.id };
    },
  },
  "deliveries.primer": { input: async (w) => ({ id: (await w.sent()).id }) },
  "deliveries.warnings": {
    input: async (w) => {
      const { id } = await w.sent();
      await w.ada.memories.quarantine(w.fact, "The API returns XML");
      return { id };
    },
  },
  "deliveries.cancel": {
    input: async (w) => ({ id: (await w.sent()).id, reason: "No longer needed" }),
  },
  "tasks.cancelHandoffs": {
    input: async (w) => ({ task: (await w.sent()).task, reason: "No longer needed" }),
  },
  "questions.list": {
    input: async (w) => {
      await w.asked();
      return {};
    },
  },
  "questions.answer": { input: async (w) => ({ id: await w.asked(), text: "8080" }) },
  "deadLetters.list": {
    input: async (w) => {
      await w.dead();
      return { task: "build", limit: 5 };
    },
  },
  "deadLetters.redrive": {
    input: async (w) => ({ id: await w.dead(), next: ["Read the compiler output first"] }),
  },
  "deadLetters.discard": {
    input: async (w) => ({ id: await w.dead(), reason: "No longer needed" }),
  },
  "approvals.approve": {
    as: "bob",
    input: async (w) => ({
      id: (await w.sent({ expects: [{ name: "ok", type: "approval" }] })).id,
      comment: "Looks good",
    }),
  },
  "approvals.reply": {
    as: "bob",
    input: async (w) => ({ id: (await w.sent()).id, text: "Done" }),
  },
  "approvals.reject": {
    as: "bob",
    input: async (w) => ({ id: (await w.sent()).id, reason: "Outside my role" }),
  },
  "approvals.edit": {
    as: "bob",
    input: async (w) => ({ id: (await w.sent()).id, changes: { next: ["Read the API twice"] } }),
  },
  "deliveries.totals": {
    input: async (w) => {
      await w.sent();
      return {};
    },
  },
  "deliveries.runDue": {},

  // Receiving.
  "deliveries.waiting": {
    as: "bob",
    input: async (w) => {
      await w.sent();
      return { limit: 10 };
    },
  },
  inbox: {
    as: "bob",
    input: async (w) => {
      await w.sent();
      return {};
    },
  },
  accept: {
    as: "bob",
    input: async (w) => ({ delivery: (await w.sent({ touches: ["src/**"] })).id, waitMs: 10 }),
  },
  "offer.refresh": { as: "bob", input: async (w) => ({ handle: await w.offered() }) },
  "offer.accept": {
    as: "bob",
    input: async (w) => ({
      handle: await w.offered({ receipt: true }),
      receipt: { goal: "Build it", firstStep: "Read the API", constraints: ["no-xml"] },
    }),
  },
  "offer.decline": {
    as: "bob",
    input: async (w) => ({ handle: await w.offered(), reason: "Outside my role" }),
  },
  "offer.release": { as: "bob", input: async (w) => ({ handle: await w.offered() }) },
  "offer.conflicts": {
    as: "cleo",
    input: async (w) => {
      await (await w.working()).reservations.set(["src/client.ts"]);
      await w.sent({ to: "cleo", task: "other", touches: ["src/**"] });
      const offer = await (await w.as("cleo").agent()).claim({}, { wait: false });
      return { handle: offer?.handle ?? "" };
    },
  },

  // Working.
  resume: { as: "bob", input: (w) => w.held() },
  "work.renew": { as: "bob", input: (w) => w.held() },
  "work.on": {
    as: "bob",
    input: async (w) => {
      const { handle, envelope } = await w.working();
      await w.sent({ next: ["Read the API", "and write it down"] });
      await w.ada.memories.quarantine(w.fact, "The API returns XML");
      return { handle, envelope: envelope.id, waitMs: 10 };
    },
  },
  "deliveries.holder": { input: (w) => w.held() },
  "deliveries.note": {
    as: "bob",
    input: async (w) => ({
      ...(await w.held()),
      note: { content: "The health check returns 200" },
    }),
  },
  "work.view": {
    as: "bob",
    input: async (w) => ({ ...(await w.held()), tokens: 2_000, strategy: "full" }),
  },
  "work.freshness": { as: "bob", input: (w) => w.held() },
  "work.read": {
    as: "bob",
    input: async (w) => ({ ...(await w.held()), id: w.fact, level: "summary" }),
  },
  "work.reservations.set": {
    as: "bob",
    input: async (w) => ({
      ...(await w.held()),
      globs: "src/*.ts",
      mode: "shared",
      note: "Formatting",
    }),
  },
  "work.reservations.clear": {
    as: "bob",
    input: async (w) => {
      const work = await w.working();
      await work.reservations.set("src/*.ts");
      return { handle: work.handle };
    },
  },
  "work.complete": {
    as: "bob",
    input: async (w) => {
      await w.ada.branches.create("run-1/bob");
      const held = await w.held({ branch: "run-1/bob", mergeOnComplete: true });
      return { ...held, result: { summary: "Built", outcome: "good" } };
    },
  },
  "work.fail": {
    as: "bob",
    input: async (w) => ({ ...(await w.held()), failure: { message: "No network" } }),
  },
  "work.decline": {
    as: "bob",
    input: async (w) => ({ ...(await w.held()), reason: "Outside my role" }),
  },
  "work.clarify": {
    as: "bob",
    input: async (w) => ({ ...(await w.held()), question: "Which port?" }),
  },
  "work.release": { as: "bob", input: (w) => w.held() },
  "work.handoff": {
    as: "bob",
    input: async (w) => ({
      ...(await w.held()),
      draft: { to: "cleo", action: "needs_review" },
      completes: { summary: "Built" },
    }),
  },
  "effects.begin": { as: "bob", input: async (w) => ({ ...(await w.held()), key: "deploy" }) },
  "effects.record": {
    as: "bob",
    input: async (w) => {
      const { handle } = await w.working();
      await (await w.as("bob").agent()).effects.begin("deploy", handle);
      return { handle, key: "deploy", result: { url: "/" } };
    },
  },
  "effects.resolve": {
    input: async (w) => {
      await (await w.as("bob").agent()).effects.begin("mail");
      return { key: "mail", result: "sent" };
    },
  },

  // Channels and routes.
  "channels.list": {
    input: async (w) => {
      await w.hub.channels.set("news");
      return {};
    },
  },
  "channels.set": { input: () => ({ name: "news", state: "paused" }) },
  "channels.subscribers": {
    input: async (w) => {
      await w.hub.channels.set("news");
      await w.bob.channels.subscribe("news");
      return { name: "news" };
    },
  },
  "channels.subscribe": {
    as: "bob",
    input: async (w) => {
      await w.hub.channels.set("news");
      await w.cleo.channels.subscribe("news");
      await w.ada.channels.publish("news", { intent: "Version 2 is released" });
      return { name: "news", from: "start" };
    },
  },
  "channels.unsubscribe": {
    as: "bob",
    input: async (w) => {
      await w.hub.channels.set("news");
      await w.bob.channels.subscribe("news");
      return { name: "news" };
    },
  },
  "routes.list": {
    input: async (w) => {
      await w.hub.routes.set("review", { when: { action: "needs_review" }, to: "role:critic" });
      return {};
    },
  },
  "routes.set": { input: () => ({ name: "review", when: { action: "needs_review" }, to: "cleo" }) },
  "routes.delete": {
    input: async (w) => {
      await w.hub.routes.set("review", { to: "cleo" });
      return { name: "review" };
    },
  },

  // Tasks.
  "tasks.get": { input: async (w) => ({ task: (await w.sent()).task }) },
  "tasks.board": {
    input: async (w) => {
      await w.ada.tasks.add({ ...w.draft(), task: "one" });
      await w.ada.tasks.add({ ...w.draft(), task: "two", after: ["one"] });
      return { states: ["open", "blocked"], limit: 10 };
    },
  },
  "tasks.closed": {
    input: async (w) => {
      await w.ada.tasks.add({ ...w.draft(), task: "one" });
      await w.ada.tasks.cancel("one", "No longer needed");
      return { states: ["cancelled"] };
    },
  },
  "tasks.tree": {
    input: async (w) => {
      await w.ada.tasks.add({ ...w.draft(), task: "one", closing: "manual" });
      await w.ada.tasks.add({ ...w.draft(), task: "part", parent: "one" });
      await w.ada.tasks.add({ ...w.draft(), task: "part-detail", parent: "part" });
      return { task: "one" };
    },
  },
  "tasks.line": { input: async (w) => ({ task: (await w.sent()).task }) },
  "tasks.timeline": {
    input: async (w) => {
      await w.dead();
      return { task: "build", children: true, limit: 100 };
    },
  },
  "tasks.add": {
    input: (w) => ({ task: { ...w.draft(), task: "one", closing: "manual", deadlineMs: 60_000 } }),
  },
  "tasks.close": {
    input: async (w) => {
      const work = await w.working();
      await work.complete();
      return { task: "build", as: "failed", reason: "The client does not start" };
    },
  },
  "tasks.reopen": {
    input: async (w) => {
      await (await w.working()).complete();
      await w.ada.tasks.close("build", { reason: "All tests pass" });
      return { task: "build", reason: "A test fails" };
    },
  },
  "tasks.cancel": {
    input: async (w) => {
      await w.ada.tasks.add({ ...w.draft(), task: "one" });
      return { task: "one", reason: "No longer needed" };
    },
  },
  "tasks.ledger": { input: async (w) => ({ task: (await w.sent()).task }) },
  "tasks.releaseItem": {
    input: async (w) => ({
      task: (await w.sent()).task,
      released: { id: "no-xml", reason: "The new client needs XML" },
    }),
  },
  "tasks.reservations": {
    input: async (w) => {
      await (await w.working()).reservations.set(["src/client.ts"]);
      return { touching: ["src/**"], agent: "bob" };
    },
  },

  // The shared context.
  "context.text": {
    input: async (w) => {
      await w.decided();
      return { tokens: 500, sections: ["decisions"] };
    },
  },
  "context.item": {
    input: async (w) => {
      await w.decided();
      return { section: "decisions", key: "database" };
    },
  },
  "context.changes": {
    as: "cleo",
    input: async (w) => {
      await w.decided();
      return {};
    },
  },
  "context.history": {
    input: async (w) => {
      const { version } = await w.decided();
      await w.cleo.context.retire("decisions", "database", {
        basedOn: version,
        reason: "Decided again",
      });
      return { section: "decisions", key: "database" };
    },
  },
  "context.set": {
    as: "cleo",
    input: () => ({
      item: {
        section: "constraints",
        key: "no-xml",
        rule: "No XML",
        why: "The client parses JSON only",
      },
    }),
  },
  "context.retire": {
    as: "cleo",
    input: async (w) => {
      const { version } = await w.decided();
      return { section: "decisions", key: "database", basedOn: version, reason: "Decided again" };
    },
  },
  "context.project": {
    as: "cleo",
    input: () => ({ items: [{ section: "project", key: "branch", content: "main, at 1234567" }] }),
  },
  "context.propose": {
    input: async (w) => {
      await w.decided();
      const change = { section: "decisions", key: "store", question: "Which database?" } as const;
      return { change: { ...change, choice: "MySQL" }, reason: "The team knows it" };
    },
  },
  "context.adopt": { as: "cleo", input: (w) => w.proposed() },

  // Failures.
  "failures.list": {
    input: async (w) => {
      await w.dead();
      return { undecided: true };
    },
  },
  "failures.get": {
    input: async (w) => {
      const id = await w.dead();
      await w.cleo.failures.decide(id, { decision: "retry", reason: "The cause is fixed" });
      const again = await w.bob.accept({ delivery: id });
      if (again === undefined) throw new Error("the delivery was retried, but is not ready");
      await again.fail({ message: "The build fails again", class: "permanent" });
      return { id };
    },
  },
  "failures.decide": {
    as: "cleo",
    input: async (w) => {
      const id = await w.dead();
      const report = await w.cleo.accept();
      const decision = { decision: "reroute", to: "ada", reason: "She wrote the code" } as const;
      return { id, decision, handle: report?.handle };
    },
  },
  "failures.rules": {
    input: async (w) => {
      await w.hub.failures.setRule("timeouts", { when: { type: "timeout" }, then: { retry: {} } });
      return {};
    },
  },
  "failures.setRule": {
    input: () => ({
      name: "never",
      rule: { then: { abort: true }, reason: "Retrying does not help" },
    }),
  },
  "failures.deleteRule": {
    input: async (w) => {
      await w.hub.failures.setRule("never", { then: { abort: true } });
      return { name: "never" };
    },
  },
};
