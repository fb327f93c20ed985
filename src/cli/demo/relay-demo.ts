/**
 * Runs `baton demo`: a plan, a handoff, a crash, a takeover and a review, printed step by step. All output
 * is read from the store: the executor's envelope is the received one, not the one that was written.
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

/** Runs the demo on the chosen store; throws for `memory:`. */
export async function runDemo(choice: StoreChoice): Promise<void> {
  const store = await addressOf(choice);
  refuseUnshared(store);
  using executorProcess = startCrashingExecutor();
  await using hub = await openStore({ ...choice, store });
  const planner = await hub.agent("planner", { role: "planner" });
  const executor = await hub.agent("executor", { role: "executor" });
  const critic = await hub.agent("critic", { role: "critic" });
  const { task, plan } = await plannedTask(planner);
  const stage = { hub, store, task, planner, executor, critic };
  printLine(`${bold(task)} in ${placeOf(hub)}. The agents' texts are scripted, the rest is real.`);

  await planAndHandOver(stage, plan);
  await workAndDie(stage, executorProcess);
  await takeOverAndHandOn(stage, plan);
  await review(stage);
  await lookBack(stage);
  printNextSteps(task);
}

/** Throws for a store in memory, because one of the agents runs in another process. */
function refuseUnshared(store: string): void {
  if (store !== "memory:") return;
  throw new BatonError("store_unsupported", {
    message: "The demo's agents run in several processes and cannot share a store in memory.",
    path: "--store",
    hint: "Omit --store, or use a file: --store sqlite:<path>.",
  });
}

/** Returns the store's file, relative to the current folder if it is inside. */
function placeOf(hub: Hub): string {
  const file = hub.store.replace(/^sqlite /, "");
  const near = relative(process.cwd(), file);
  return near.startsWith("..") ? file : near;
}

/** Writes the plan under the next free task number; retries if another process used that number first. */
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
  heading(1, "The planner stores its plan and hands the task over.");
  field("plan", (await planner.memories.read(plan)).content);
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
  field("handoff", `planner → executor, digest ${sent.digest.slice(0, 12)}…`);
  field("stored", `memory, envelope and delivery in one transaction, on disk after ${took} ms`);
}

async function workAndDie(
  { hub, store, task, executor }: DemoContext,
  executorProcess: CrashingExecutor,
): Promise<void> {
  heading(2, "An executor accepts it in a separate process and is killed while working.");
  const { pid, attempt } = await executorProcess.work({ store, workspace: hub.workspace, task });
  field("accepted", `process ${pid}, attempt ${attempt}, lease ${SHORT_LEASE_MS / 1000} s`);
  field("notes", (await notesOn(executor, task)).join("; "));
  await executorProcess.kill();
  field("killed", "SIGKILL: no cleanup");
}

async function takeOverAndHandOn({ executor, task }: DemoContext, plan: string): Promise<void> {
  const killedAt = performance.now();
  heading(3, "A new executor starts without context. Its inbox offers the same work again:");
  for await (const offer of executor.inbox({ task })) {
    await using work = await offer.accept();
    const waited = ((performance.now() - killedAt) / 1000).toFixed(1);
    field("accepted", `attempt ${work.delivery.attempt}, ${waited} s after the kill`);
    field("primer", `${Buffer.byteLength(work.primer)} bytes, ready to paste into any model:`);
    field("intent", work.envelope.intent);
    field("next", work.envelope.next.join("; "));
    field("must", mustOf(work), bold);
    field("do not redo", work.envelope.doNotRedo.join("; "));
    field("reference", (await work.read(plan)).content);
    field("notes", (await notesOn(executor, task)).join("; "));
    const { memory: note } = await work.note(NOTE);
    await work.handoff({
      to: "critic",
      action: "needs_review",
      done: [NOTE],
      next: [REVIEW],
      constraints: work.envelope.constraints,
      refs: [note.id],
    });
    field("handoff", "executor → critic: completes its work and sends the next handoff atomically");
    return;
  }
}

async function review({ critic, task }: DemoContext): Promise<void> {
  heading(4, "The critic receives it two hops after the plan and completes it.");
  const work = await critic.accept({ task });
  if (work === undefined) throw new Error(`no handoff of ${task} is ready for the critic`);
  field("must", mustOf(work), bold);
  field("done so far", work.envelope.done.join("; "));
  await work.complete({ summary: VERDICT });
  field("completed", VERDICT);
}

async function lookBack({ hub, planner, task }: DemoContext): Promise<void> {
  printLine();
  printLine(bold("What the store contains afterwards"));
  // Skips the envelope that was replaced by a reconstructed one.
  const line = (await hub.tasks.line(task)).filter(({ deliveries }) => deliveries.length > 0);
  const receivers = line.map(({ envelope: { to } }) => (to.kind === "agent" ? to.agent : to.kind));
  const attempts = line.flatMap(({ deliveries }) => deliveries.map((delivery) => delivery.attempt));
  const total = attempts.reduce((sum, attempt) => sum + attempt, 0);
  field(
    "line",
    `${["planner", ...receivers].join(" → ")}: ${plural(total, "attempt")} for ${plural(line.length, "handoff")}`,
  );
  const records = (await planner.memories.recent({ task, limit: 100 })).items;
  field(
    "chain",
    `${plural(records.length, "record")}, each linked to the previous one by its hash`,
  );
  const { memories, problems } = await hub.verify();
  const found = `${plural(memories, "record")} checked: ${plural(problems.length, "problem")}`;
  field("verified", found, problems.length === 0 ? good : bad);
  const { deliveries, byState } = await hub.deliveries.totals();
  const states = Object.entries(byState).filter(([, count]) => count > 0);
  field(
    "totals",
    `${deliveries} deliveries = ${states.map(([state, n]) => `${n} ${state}`).join(" + ")}`,
  );
}

function printNextSteps(task: string): void {
  const fromSource = import.meta.url.endsWith(".ts");
  const baton = fromSource ? "npm run baton --" : "baton";
  const next = [
    [`${baton} line ${task}`, "the task, hop by hop"],
    [`${baton} timeline ${task}`, "what happened, step by step"],
    [`${baton} ledger ${task}`, "its constraints, decisions and progress"],
    [`${baton} recent --task ${task}`, "the memories of the task"],
    [`${baton} recall validateToken`, "search memories, with reasons"],
    [`${baton} verify`, "check all records against their hashes"],
    [`${baton} demo team`, "a team of agents with failures and decisions"],
    ...(fromSource
      ? [
          ["npm run example -- quick-start", "the same in 30 lines: examples/quick-start.ts"],
          ["npm test", "run the tests"],
        ]
      : []),
  ];
  const width = Math.max(...next.map(([what = ""]) => what.length));
  printLine();
  printLine(bold("Next steps"));
  for (const [what = "", why = ""] of next) printLine(`   ${what.padEnd(width)}  ${dim(why)}`);
}

function mustOf(work: Work): string {
  const musts = work.envelope.constraints.filter(({ level }) => level === "must");
  return musts.map(({ rule }) => rule).join("; ");
}

/** Returns the notes on the task, oldest first. */
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
