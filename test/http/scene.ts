/**
 * A workspace in which every call of the HTTP hub finds what it needs: memories, branches, handoffs in
 * every state, offers and work in hand, questions, dead letters, proposals, rules. And for each call what
 * must be said so that it is answered: all else is made up from its description.
 */
import type { LocalAgent } from "../../src/hub/agent.ts";
import type { LocalHub } from "../../src/hub/hub.ts";
import type { Work } from "../../src/index.ts";
import type { CallName } from "../../src/wire/calls.ts";

/** Whose calls they are, unless a call says otherwise. */
export const ACTOR = "ada";
export const SESSION = "s-1";

export interface Scene {
  readonly hub: LocalHub;
  readonly fact: string;
  readonly old: string;
  readonly wrong: string;
  readonly envelope: string;
  /** Deliveries by what they are there for. */
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
  /** Of a constraint on a task's ledger. */
  readonly must: string;
  /** Real ids of every kind, for fields that take one of a kind. */
  readonly ids: readonly string[];
}

/** Fields of a call that must be just so. */
export type Facts = Readonly<Record<string, unknown>>;

/** `word` stands in all that is said, so that it can be found again. */
export async function sceneOn(hub: LocalHub, word = "API"): Promise<Scene> {
  await hub.agent("bob", { role: "executor", owner: "Kim", aliases: ["robert"] });
  await hub.agent(ACTOR, { role: "coordinator" });
  await hub.context.keepers(["coordinator"]);
  const ada = await hub.local(ACTOR, SESSION);
  const bob = await hub.local("bob", SESSION);
  const known = await memories(ada, word);
  const sent = await handoffs(ada, bob, word);
  await rules(hub, ada);
  const { info } = await hub.tokens.add({ agent: "bob", access: "reader", label: "laptop" });
  const ids = [...Object.values(known), ...Object.values(sent), info.id];
  const must = (await ada.ledger("api"))?.constraints[0]?.id ?? "";
  return { hub, ...known, ...sent, token: info.id, must, ids };
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
  await ada.quarantine(wrong.id, "It never did.");
  await ada.pin(fact.id);
  await ada.trace({ kind: "tool", name: "curl", input: "/", output: { status: 200 }, task: "api" });
  const branch = await ada.branch("run-1/ada");
  await branch.remember({ content: `On the branch ${word} is YAML.`, task: "api" });
  await ada.beginOnce("begun");
  await ada.beginOnce("left");
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
  await ada.accept({ task: "dead" }); // Its report: whoever has it decides.
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
  await hub.channel("news");
  await ada.subscribe("news");
  await hub.route("reviews", { when: { action: "needs_review" }, to: "bob" });
  await hub.profile("executor", { tokens: 2_000 });
  await hub.payloadType("patch", { type: "object" });
  await ada.context.set({ section: "constraints", key: "fixtures", rule: "Change none." });
}

/** By call: what it is about, in this scene. */
export function factsOf(scene: Scene): Partial<Record<CallName, Facts>> {
  const { fact, old, wrong, ready, asked, dead, approval, question, offer, work, proposal } = scene;
  const held = { handle: work };
  const named = { name: "bob" };
  return {
    getAgent: { name: "robert" },
    pauseAgent: named,
    resumeAgent: named,
    addToken: { agent: "bob", access: "agent" },
    revokeToken: { id: scene.token },
    readMemory: { id: old },
    relations: { id: old },
    impact: { id: fact },
    pin: { id: old },
    unpin: { id: fact },
    quarantine: { what: [fact] },
    lift: { what: wrong },
    redact: { target: { ids: [fact] } },
    sql: { query: "SELECT id FROM memories WHERE task = ?", params: ["api"] },
    importMarkdown: { text: "## Facts\n\n- The sky is blue.\n" },
    beginBranch: { name: "run-2" },
    findBranch: { name: "run-1/ada" },
    diffBranch: { name: "run-1/ada" },
    mergeBranch: { name: "run-1/ada" },
    abandonBranch: { name: "run-1/ada" },
    handoff: { draft: { to: "bob", intent: "Do it." } },
    joinHandoffs: { of: [ready], draft: { to: "bob", intent: "Then this." } },
    lintDraft: { draft: { to: "bob", intent: "Do it." } },
    preview: { draft: { to: "bob", intent: "Do it." } },
    showDelivery: { id: ready },
    awaitChange: { id: ready },
    awaitAccepted: { id: ready },
    awaitCompleted: { id: ready },
    attempts: { id: dead },
    views: { id: ready },
    primer: { id: ready },
    deliveryWarnings: { id: ready },
    cancelDelivery: { id: ready },
    cancelTask: { task: "api" },
    answer: { id: asked },
    redrive: { id: dead },
    discard: { id: dead },
    approve: { id: approval },
    reply: { id: question },
    reject: { id: question },
    edit: { id: question, changes: { comment: "Not like this.", state: "Changed." } },
    resetBreaker: { receiver: "bob" },
    claim: {},
    accept: {},
    refreshOffer: { handle: offer },
    acceptOffer: { handle: offer },
    declineOffer: { handle: offer },
    releaseOffer: { handle: offer },
    offerConflicts: { handle: offer },
    resumeWork: held,
    renewWork: held,
    awaitWork: held,
    holder: held,
    note: held,
    view: held,
    freshness: held,
    readForWork: { ...held, id: fact },
    reserve: held,
    unreserve: held,
    complete: held,
    fail: { ...held, failure: { message: "It broke." } },
    decline: held,
    clarify: held,
    release: held,
    handOn: { ...held, draft: { to: "bob" } },
    recordOnce: { key: "begun" },
    resolveOnce: { key: "left" },
    subscribers: { name: "news" },
    subscribe: { name: "news" },
    unsubscribe: { name: "news" },
    setRoute: { name: "fixes", to: "bob" },
    dropRoute: { name: "reviews" },
    getTask: { task: "api" },
    taskTree: { task: "api" },
    line: { task: "api" },
    timeline: { task: "api" },
    addTask: { task: { task: "new", to: "bob", intent: "Do it." } },
    closeTask: { task: "finished" },
    reopenTask: { task: "done" },
    cancelWholeTask: { task: "api" },
    ledger: { task: "api" },
    releaseFromLedger: { task: "api", released: { id: scene.must, reason: "It moved." } },
    contextItem: { section: "constraints", key: "fixtures" },
    contextHistory: { section: "constraints", key: "fixtures" },
    retireContext: { section: "constraints", key: "fixtures" },
    setContext: { item: { section: "conventions", key: "tests", rule: "Tests are statements." } },
    updateProject: { items: [{ key: "branch", content: "main" }] },
    proposeContext: { change: { section: "conventions", key: "logs", rule: "Logs are lines." } },
    adoptContext: { handle: proposal },
    showFailure: { id: dead },
    decideFailure: { id: dead, decision: { decision: "abort", reason: "It is over." } },
    setFailureRule: { name: "again", rule: { then: { retry: {} } } },
    dropFailureRule: { name: "again" },
    setReleasers: { roles: ["planner"] },
    setKeepers: { roles: ["coordinator"] },
    setPayloadType: { name: "patch", schema: { type: "object", required: ["files"] } },
    dropPayloadType: { name: "patch" },
    payloadTypeVersions: { name: "patch" },
    setHandoffRules: { rules: { unregistered: "accept" } },
    setProfile: { role: "executor", profile: { tokens: 3_000 } },
    dropProfile: { role: "executor" },
  };
}
