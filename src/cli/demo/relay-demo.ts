/**
 * The demo, told step by step. Everything shown is read back from the store: what the executor sees
 * is the envelope it received, not the one that was written.
 */
import { relative } from "node:path";
import { BatonError } from "../../base/errors.ts";
import type { Agent } from "../../hub/agent.ts";
import type { Hub } from "../../hub/hub.ts";
import type { Work } from "../../hub/work.ts";
import { addressOf, openStore, type StoreChoice } from "../store.ts";
import { bad, bold, dim, good, oneLine, plural, printLine } from "../terminal.ts";
import { type CrashingExecutor, startCrashingExecutor } from "./crashing-executor.ts";
import {
  DO_NOT_REDO,
  INTENT,
  MUST,
  NEXT,
  NOTE,
  PLAN,
  REVIEW,
  SHORT_LEASE_MS,
  VERDICT,
} from "./demo-texts.ts";

const LABEL = 13;
const DEMO_TAG = "baton-demo";

interface DemoContext {
  readonly hub: Hub;
  readonly store: string;
  readonly task: string;
  readonly planner: Agent;
  readonly executor: Agent;
  readonly critic: Agent;
}

export async function runDemo(choice: StoreChoice): Promise<void> {
  const store = await addressOf(choice);
  refuseUnshared(store);
  using doomed = startCrashingExecutor();
  await using hub = await openStore({ ...choice, store });
  const planner = await hub.agent("planner", { role: "planner" });
  const executor = await hub.agent("executor", { role: "executor" });
  const critic = await hub.agent("critic", { role: "critic" });
  const { task, plan } = await plannedTask(planner);
  const stage = { hub, store, task, planner, executor, critic };
  printLine(`${bold(task)} in ${placeOf(hub)}. What the agents say is scripted; all else is real.`);

  await planAndHandOver(stage, plan);
  await workAndDie(stage, doomed);
  await takeOverAndHandOn(stage, plan);
  await review(stage);
  await lookBack(stage);
  printNextSteps(task);
}

/** One of the agents is another process. */
function refuseUnshared(store: string): void {
  if (store !== "memory:") return;
  throw new BatonError("store_unsupported", {
    message: "The demo's agents are several processes; they cannot share a store in memory.",
    path: "--store",
    hint: "Leave --store out, or name a file: --store sqlite:<path>.",
  });
}

/** Where the store is, the short way when that is shorter to read. */
function placeOf(hub: Hub): string {
  const file = hub.store.replace(/^sqlite /, "");
  const near = relative(process.cwd(), file);
  return near.startsWith("..") ? file : near;
}

/** A fresh name each time: the plan is written under the next number, unless somebody was quicker. */
async function plannedTask(planner: Agent): Promise<{ task: string; plan: string }> {
  const [last] = (await planner.memories.recent({ tag: DEMO_TAG, type: "plan", limit: 1 })).items;
  for (let n = Number(/\d+$/.exec(last?.task ?? "")?.[0] ?? 0) + 1; ; n++) {
    const task = `auth-refactor-${n}`;
    const plan = await planner.remember({ type: "plan", task, tags: [DEMO_TAG], content: PLAN });
    const written = (await planner.memories.recent({ tag: DEMO_TAG, type: "plan", task })).items;
    if (written.at(-1)?.id === plan.id) return { task, plan: plan.id };
  }
}

async function planAndHandOver({ planner, task }: DemoContext, plan: string): Promise<void> {
  heading(1, "The planner writes its plan down and hands the task over.");
  field("remembers", (await planner.memories.read(plan)).content);
  const started = performance.now();
  const sent = await planner.handoff({
    to: "executor",
    task,
    intent: INTENT,
    next: NEXT,
    constraints: [MUST],
    doNotRedo: [DO_NOT_REDO],
    refs: [plan],
  });
  const took = (performance.now() - started).toFixed(1);
  field("hands over", `planner → executor, sealed by the hash ${sent.digest.slice(0, 12)}…`);
  field("stored", `memory, envelope and delivery in one transaction, on disk after ${took} ms`);
}

async function workAndDie(
  { hub, store, task, executor }: DemoContext,
  doomed: CrashingExecutor,
): Promise<void> {
  heading(2, "An executor takes it, in a process of its own, and is killed at work.");
  const { pid, attempt } = await doomed.work({ store, workspace: hub.workspace, task });
  field("accepts", `process ${pid}, attempt ${attempt}, a lease of ${SHORT_LEASE_MS / 1000} s`);
  field("notes", (await notesOn(executor, task)).join("; "));
  await doomed.kill();
  field("killed", "SIGKILL: no goodbye, nothing cleaned up");
}

async function takeOverAndHandOn({ executor, task }: DemoContext, plan: string): Promise<void> {
  const killedAt = performance.now();
  heading(3, "Another executor starts from nothing. Its inbox offers the same work again:");
  for await (const offer of executor.inbox({ task })) {
    await using work = await offer.accept();
    const waited = ((performance.now() - killedAt) / 1000).toFixed(1);
    field("accepts", `attempt ${work.delivery.attempt}, ${waited} s after the kill`);
    field(
      "primer",
      `${Buffer.byteLength(work.primer)} bytes, ready to paste into any model. In it:`,
    );
    field("intent", work.envelope.intent);
    field("next", work.envelope.next.join("; "));
    field("must", mustOf(work), bold);
    field("do not redo", work.envelope.doNotRedo.join("; "));
    field("refers to", (await work.read(plan)).content);
    field("left behind", (await notesOn(executor, task)).join("; "));
    const { memory: note } = await work.note(NOTE);
    await work.handoff({
      to: "critic",
      action: "needs_review",
      done: [NOTE],
      next: [REVIEW],
      constraints: work.envelope.constraints,
      refs: [note.id],
    });
    field("hands on", "executor → critic: its part ends and the next begins, in one transaction");
    return;
  }
}

async function review({ critic, task }: DemoContext): Promise<void> {
  heading(4, "The critic gets it two hops from the plan, and completes it.");
  const work = await critic.accept({ task });
  if (work === undefined) throw new Error(`nothing waits for the critic on ${task}`);
  field("must", mustOf(work), bold);
  field("done so far", work.envelope.done.join("; "));
  await work.complete({ summary: VERDICT });
  field("completes", VERDICT);
}

async function lookBack({ hub, planner, task }: DemoContext): Promise<void> {
  printLine();
  printLine(bold("What the store can show afterwards"));
  // Without the envelope that a reconstructed one has replaced.
  const line = (await hub.tasks.line(task)).filter(({ deliveries }) => deliveries.length > 0);
  const receivers = line.map(({ envelope: { to } }) => (to.kind === "agent" ? to.agent : to.kind));
  const tries = line.flatMap(({ deliveries }) => deliveries.map((delivery) => delivery.attempt));
  const total = tries.reduce((sum, attempt) => sum + attempt, 0);
  field(
    "the line",
    `${["planner", ...receivers].join(" → ")}: ${plural(total, "try")} for ${plural(line.length, "handoff")}`,
  );
  const records = (await planner.memories.recent({ task, limit: 100 })).items;
  field("the chain", `${plural(records.length, "record")}; each one's hash covers the one before`);
  const { memories, problems } = await hub.verify();
  const found = `everything read again (${plural(memories, "record")}): ${plural(problems.length, "problem")}`;
  field("verified", found, problems.length === 0 ? good : bad);
  const { deliveries, byState } = await hub.deliveries.totals();
  const states = Object.entries(byState).filter(([, count]) => count > 0);
  field(
    "the books",
    `${deliveries} deliveries = ${states.map(([state, n]) => `${n} ${state}`).join(" + ")}`,
  );
}

function printNextSteps(task: string): void {
  const fromSource = import.meta.url.endsWith(".ts");
  const baton = fromSource ? "npm run baton --" : "baton";
  const next = [
    [`${baton} line ${task}`, "the task, hop by hop"],
    [`${baton} timeline ${task}`, "what happened, step by step"],
    [`${baton} ledger ${task}`, "what no hop can forget"],
    [`${baton} recent --task ${task}`, "what was remembered on the way"],
    [`${baton} recall validateToken`, "what answers a question, and why"],
    [`${baton} verify`, "everything against its hashes"],
    [`${baton} demo team`, "a whole team, and failures that are decided about"],
    ...(fromSource
      ? [
          ["npm run example -- quick-start", "the same in 30 lines: examples/quick-start.ts"],
          ["npm test", "what the promises rest on"],
        ]
      : []),
  ];
  const width = Math.max(...next.map(([what = ""]) => what.length));
  printLine();
  printLine(bold("What to type next"));
  for (const [what = "", why = ""] of next) printLine(`   ${what.padEnd(width)}  ${dim(why)}`);
}

function mustOf(work: Work): string {
  const musts = work.envelope.constraints.filter(({ level }) => level === "must");
  return musts.map(({ rule }) => rule).join("; ");
}

/** What was noted on the task so far, oldest first. */
async function notesOn(reader: Agent, task: string): Promise<string[]> {
  const notes = (await reader.memories.recent({ task, type: "step" })).items;
  return notes.toReversed().map((memory) => memory.content);
}

function heading(number: number, text: string): void {
  printLine();
  printLine(bold(`${number}. ${text}`));
}

function field(label: string, text: string, style = (plain: string) => plain): void {
  printLine(`   ${dim(label.padEnd(LABEL))}${style(oneLine(text, LABEL + 3))}`);
}
