/**
 * A workspace in which every call of the HTTP API finds what it needs: memories, branches, handoffs
 * in every state, offers, accepted work, questions, dead letters, proposals and rules. For each
 * call it also has the fields that need certain values; all others are generated from the
 * description.
 */
import type { LocalAgent } from "../../src/hub/agent.ts";
import type { LocalHub } from "../../src/hub/hub.ts";
import type { Work } from "../../src/index.ts";
import { generateKey, signRotation } from "../../src/index.ts";

/** The agent and session that make the calls by default. */
export const ACTOR = "ada";
export const SESSION = "s-1";

export interface Scene {
  readonly hub: LocalHub;
  readonly fact: string;
  readonly old: string;
  readonly wrong: string;
  readonly envelope: string;
  /** Deliveries, named by their purpose. */
  readonly ready: string;
  readonly accepted: string;
  readonly asked: string;
  readonly dead: string;
  readonly approval: string;
  readonly question: string;
  readonly offer: string;
  readonly work: string;
  readonly proposal: string;
  readonly token: string;
  /** The id of a constraint on a task's ledger. */
  readonly must: string;
  /** A signed rotation of the key of the agent kay. */
  readonly rotation: { readonly publicKey: string; readonly signature: string };
  /** Existing ids of every kind, for fields that take an id. */
  readonly ids: readonly string[];
}

/** Fields of a call that need certain values. */
export type Facts = Readonly<Record<string, unknown>>;

/** Creates the scene. `word` appears in its texts, so that a test can search for it. */
export async function sceneOn(hub: LocalHub, word = "API"): Promise<Scene> {
  await hub.agent("bob", { role: "executor", owner: "Kim", aliases: ["robert"] });
  await hub.agent(ACTOR, { role: "coordinator" });
  const key = generateKey();
  await hub.agent("kay", { key });
  await hub.settings.update({ keepers: ["coordinator"] });
  const ada = await hub.local(ACTOR, SESSION);
  const bob = await hub.local("bob", SESSION);
  const known = await memories(ada, word);
  const sent = await handoffs(ada, bob, word);
  await rules(hub, ada);
  const { info } = await hub.tokens.add({ agent: "bob", access: "reader", label: "laptop" });
  const ids = [...Object.values(known), ...Object.values(sent), info.id];
  const must = (await ada.tasks.ledger("api"))?.constraints[0]?.id ?? "";
  const of = { workspace: hub.workspace, agent: "kay", key, newKey: generateKey() };
  return { hub, ...known, ...sent, token: info.id, must, ids, rotation: signRotation(of) };
}

async function memories(ada: LocalAgent, word: string) {
  const old = await ada.remember({ content: `The ${word} returns XML.`, task: "api" });
  const fact = await ada.remember({
    content: `The ${word} returns JSON, not XML.`,
    task: "api",
    tags: ["format"],
    relations: [{ kind: "supersedes", to: old.id }],
  });
  const wrong = await ada.remember({ content: `The ${word} runs on port 9.` });
  await ada.memories.quarantine(wrong.id, "It never did.");
  await ada.memories.pin(fact.id);
  await ada.trace({ kind: "tool", name: "curl", input: "/", output: { status: 200 }, task: "api" });
  const branch = await ada.branches.create("run-1/ada");
  await branch.remember({ content: `On the branch ${word} is YAML.`, task: "api" });
  await ada.effects.begin("begun");
  await ada.effects.begin("left");
  return { old: old.id, fact: fact.id, wrong: wrong.id };
}

async function handoffs(ada: LocalAgent, bob: LocalAgent, word: string) {
  const toBob = (task: string) =>
    ada.handoff({ to: "bob", task, intent: `Do ${task} of ${word}.` });
  const toAda = (task: string, more: object = {}) =>
    bob.handoff({ to: ACTOR, task, intent: `Do ${task} of ${word}.`, ...more });
  const open = await ada.handoff({
    to: "bob",
    task: "api",
    intent: `Read the ${word}.`,
    constraints: [{ rule: "Change no fixture.", level: "must" }],
  });
  const asked = await toBob("asked");
  await (await took(bob, asked.id)).clarify(`Which port of ${word}?`);
  const dead = await toBob("dead");
  await (await took(bob, dead.id)).fail({ message: "There is none.", class: "permanent" });
  await ada.accept({ task: "dead" }); // The failure report; its holder decides.
  const done = await toBob("done");
  await (await took(bob, done.id)).complete({ summary: `${word} is done.` });
  await ada.tasks.close("done", { reason: "It is done." });
  const finished = await toBob("finished");
  await (await took(bob, finished.id)).complete({ summary: `${word} is done.` });
  const approval = await toAda("approve", { expects: [{ name: "decision", type: "approval" }] });
  const question = await toAda("question");
  const claimed = await toAda("claimed");
  const offer = await ada.claim({ delivery: claimed.id }, { wait: false });
  const accepted = await toAda("work", { touches: ["src/**"] });
  const work = await took(ada, accepted.id);
  const change = { section: "conventions", key: "names", rule: "Names are nouns." } as const;
  const proposed = await bob.context.propose(change, { reason: "We always do." });
  const proposal = await took(ada, proposed.sent.id);
  return {
    envelope: open.envelope.id,
    ready: open.id,
    accepted: accepted.id,
    asked: asked.id,
    dead: dead.id,
    approval: approval.id,
    question: question.id,
    offer: offer?.handle ?? "",
    work: work.handle,
    proposal: proposal.handle,
  };
}

async function took(agent: LocalAgent, delivery: string): Promise<Work> {
  const work = await agent.accept({ delivery });
  if (work === undefined) throw new Error(`${agent.id} has nothing to accept of ${delivery}`);
  return work;
}

async function rules(hub: LocalHub, ada: LocalAgent): Promise<void> {
  await hub.channels.set("news");
  await ada.channels.subscribe("news");
  await hub.routes.set("reviews", { when: { action: "needs_review" }, to: "bob" });
  await hub.settings.update({ profiles: { executor: { tokens: 2_000 } } });
  await hub.payloadTypes.set("patch", { type: "object" });
  await ada.context.set({ section: "constraints", key: "fixtures", rule: "Change none." });
}

/** Returns the required values of each operation, with the ids of the scene. */
export function factsOf(scene: Scene): Readonly<Record<string, Facts>> {
  const { fact, old, wrong, ready, asked, dead, approval, question, offer, work, proposal } = scene;
  const held = { handle: work };
  const named = { name: "bob" };
  return {
    "agents.get": { name: "robert" },
    "agents.pause": named,
    "agents.unpause": named,
    // Signed, because only an administrator may rotate a key without a signature.
    "agents.rotateKey": { name: "kay", ...scene.rotation, reason: "Yearly." },
    "agents.revokeKey": { name: "kay", reason: "Lost." },
    "agents.keys": { name: "kay" },
    "tokens.add": { agent: "bob", access: "agent" },
    "tokens.revoke": { id: scene.token },
    "memories.read": { id: old },
    "memories.relations": { id: old },
    "memories.impact": { id: fact },
    "memories.pin": { id: old },
    "memories.unpin": { id: fact },
    "memories.quarantine": { what: [fact] },
    "memories.lift": { what: wrong },
    "memories.redact": { target: { ids: [fact] } },
    "memories.allowText": { text: "Rel4821x77Qb90Zeu3", reason: "It is a build number." },
    "memories.sql": { query: "SELECT id FROM memories WHERE task = ?", params: ["api"] },
    "memories.importMarkdown": { text: "## Facts\n\n- The sky is blue.\n" },
    "traces.list": { agent: ACTOR },
    "branches.create": { name: "run-2" },
    "branches.use": { name: "run-1/ada" },
    "branches.diff": { name: "run-1/ada" },
    "branches.merge": { name: "run-1/ada" },
    "branches.abandon": { name: "run-1/ada" },
    handoff: { draft: { to: "bob", intent: "Do it." } },
    handoffMany: { drafts: [{ to: "bob", intent: "Do it." }] },
    "handoffs.join": { of: [ready], draft: { to: "bob", intent: "Then this." } },
    "handoffs.lint": { draft: { to: "bob", intent: "Do it." } },
    "handoffs.preview": { draft: { to: "bob", intent: "Do it." } },
    "deliveries.get": { id: ready },
    "deliveries.watch": { id: ready },
    "deliveries.accepted": { id: ready },
    "deliveries.completed": { id: ready },
    "deliveries.attempts": { id: dead },
    "deliveries.views": { id: ready },
    "deliveries.primer": { id: ready },
    "deliveries.warnings": { id: ready },
    "deliveries.cancel": { id: ready },
    "tasks.cancelHandoffs": { task: "api" },
    "questions.answer": { id: asked },
    "deadLetters.redrive": { id: dead },
    "deadLetters.discard": { id: dead },
    "approvals.approve": { id: approval },
    "approvals.reply": { id: question },
    "approvals.reject": { id: question },
    "approvals.edit": { id: question, changes: { comment: "Not like this.", state: "Changed." } },
    "agents.resetBreaker": { receiver: "bob" },
    inbox: {},
    accept: {},
    "offer.refresh": { handle: offer },
    "offer.accept": { handle: offer },
    "offer.decline": { handle: offer },
    "offer.release": { handle: offer },
    "offer.conflicts": { handle: offer },
    resume: held,
    "work.renew": held,
    "work.on": held,
    "deliveries.holder": held,
    "deliveries.note": held,
    "work.view": held,
    "work.freshness": held,
    "work.read": { ...held, id: fact },
    "work.reservations.set": held,
    "work.reservations.clear": held,
    "work.complete": held,
    "work.fail": { ...held, failure: { message: "It broke." } },
    "work.decline": held,
    "work.clarify": held,
    "work.release": held,
    "work.handoff": { ...held, draft: { to: "bob" } },
    "effects.record": { key: "begun" },
    "effects.resolve": { key: "left" },
    "channels.subscribers": { name: "news" },
    "channels.subscribe": { name: "news" },
    "channels.unsubscribe": { name: "news" },
    "routes.set": { name: "fixes", to: "bob" },
    "routes.delete": { name: "reviews" },
    "tasks.get": { task: "api" },
    "tasks.tree": { task: "api" },
    "tasks.line": { task: "api" },
    "tasks.timeline": { task: "api" },
    "tasks.add": { task: { task: "new", to: "bob", intent: "Do it." } },
    "tasks.close": { task: "finished" },
    "tasks.reopen": { task: "done" },
    "tasks.cancel": { task: "api" },
    "tasks.ledger": { task: "api" },
    "tasks.releaseItem": { task: "api", released: { id: scene.must, reason: "It moved." } },
    "context.item": { section: "constraints", key: "fixtures" },
    "context.history": { section: "constraints", key: "fixtures" },
    "context.retire": { section: "constraints", key: "fixtures" },
    "context.set": {
      item: { section: "conventions", key: "tests", rule: "Tests are statements." },
    },
    "context.project": { items: [{ key: "branch", content: "main" }] },
    "context.propose": { change: { section: "conventions", key: "logs", rule: "Logs are lines." } },
    "context.adopt": { handle: proposal },
    "failures.get": { id: dead },
    "failures.decide": { id: dead, decision: { decision: "abort", reason: "It is over." } },
    "failures.setRule": { name: "again", rule: { then: { retry: {} } } },
    "failures.deleteRule": { name: "again" },
    "settings.update": {
      releasers: ["planner"],
      keepers: ["coordinator"],
      lint: { secret: "warn" },
      handoffs: { unregistered: "accept" },
      profiles: { executor: { tokens: 3_000 } },
    },
    "payloadTypes.set": { name: "patch", schema: { type: "object", required: ["files"] } },
    "payloadTypes.delete": { name: "patch" },
    "payloadTypes.versions": { name: "patch" },
  };
}
