/**
 * Checks what must hold for any team against the store when everything is over, read through the
 * hub only: each task ended once, with a reason; no agent worked on a waiting task or on work that
 * another agent held; every failure was decided; and all of it is on the chain.
 */

import { setImmediate as turn, setTimeout as wait } from "node:timers/promises";
import { expect } from "vitest";
import type { Hub, HubEvent, LineStep, Memory, TaskInfo } from "../../src/index.ts";
import { type DeliveryRow, isOpen } from "../../src/store/rows.ts";
import { present } from "../support/present.ts";
import type { Played } from "./team-run.ts";

interface Line {
  readonly task: TaskInfo;
  readonly steps: readonly LineStep[];
  readonly memories: readonly Memory[];
}

/** Throws at the first violation; otherwise returns how tasks ended and what was decided. */
export async function auditTeam(played: Played): Promise<readonly string[]> {
  const { hub, tasks } = played;
  const lines = new Map<string, Line>();
  for (const { name } of tasks) {
    const memories = (await hub.memories.recent({ task: name, limit: 1_000 })).items;
    lines.set(name, {
      task: await hub.tasks.get(name),
      steps: await hub.tasks.line(name),
      memories,
    });
  }
  for (const line of lines.values()) await checkEndedOnce(hub, line);
  for (const line of lines.values()) checkEndOrder(line, lines);
  for (const line of lines.values()) checkDependencies(line, lines);
  const events = await eventsOf(hub);
  checkSingleHolder(events);
  const decisions = await checkDecisions(hub, lines);
  for (const line of lines.values()) checkLostDependencies({ line, lines, decisions });
  checkConfirmations(played, decisions);
  checkRedrives(events, decisions);
  await checkSignals(played);
  const totals = await hub.deliveries.totals();
  const rows = [...lines.values()].flatMap(({ steps }) => steps.flatMap((each) => each.deliveries));
  expect(totals.deliveries, "the totals count every delivery").toBe(rows.length);
  expect(rows.filter(({ state }) => isOpen(state))).toEqual([]);
  expect((await hub.verify()).problems).toEqual([]);
  return [
    ...[...lines.values()].map(({ task }) => `ended: ${task.state}`),
    ...[...decisions.values()].map(({ decision, memory }) => {
      return `decided: ${decision}${memory.agent === "baton" ? " by the hub" : ""}`;
    }),
  ];
}

/** Checks that a task has one final state, written once, with a readable reason. */
async function checkEndedOnce(hub: Hub, { task, memories }: Line): Promise<void> {
  const { closed, state, openChildren } = task;
  expect(closed, `${task.task} is closed`).toBeDefined();
  if (closed === undefined) return;
  expect(["done", "failed", "cancelled"]).toContain(state);
  expect(state).toBe(closed.as);
  expect(openChildren, `open parts of ${task.task}`).toBe(0);
  expect(closed.reason.trim(), `why ${task.task} ended`).not.toBe("");
  const record = await hub.memories.read(closed.record);
  expect(record.task).toBe(task.task);
  expect(record.content).toContain(closed.reason);
  const closings = memories.filter(({ tags }) => tags?.includes("task-closed"));
  expect(closings.map(({ id }) => id)).toEqual([closed.record]);
}

const isWork = ({ envelope }: LineStep): boolean => envelope.failure === undefined;

/** Returns the positions on the chain where work of a task was accepted. */
function acceptances({ steps, memories }: Line): number[] {
  const work = new Set(
    steps.filter(isWork).flatMap(({ deliveries }) => deliveries.map(({ id }) => id)),
  );
  return memories
    .filter(({ trail = [] }) =>
      trail.some((step) => step.verb === "accept" && work.has(step.delivery)),
    )
    .map(({ seq }) => seq);
}

/** Returns the position on the chain where a task was closed. */
const endOf = (line: Line | undefined): number | undefined =>
  line?.memories.find(({ id }) => id === line.task.closed?.record)?.seq;

/** Checks that no work was accepted after the end of a task, and that its parent ended later. */
function checkEndOrder(line: Line, lines: ReadonlyMap<string, Line>): void {
  const { task, parent } = line.task;
  const end = endOf(line);
  expect(end, `where ${task} ended`).toBeDefined();
  expect(Math.max(0, ...acceptances(line)), `the last work of ${task}`).toBeLessThan(end ?? 0);
  if (parent === undefined) return;
  expect(endOf(lines.get(parent)), `${parent} after its part ${task}`).toBeGreaterThan(end ?? 0);
}

/** Checks that all dependencies were closed as done before any work was accepted. */
function checkDependencies(line: Line, lines: ReadonlyMap<string, Line>): void {
  const began = Math.min(...acceptances(line));
  for (const name of line.task.after) {
    const before = lines.get(name);
    if (began === Number.POSITIVE_INFINITY) continue;
    expect(before?.task.closed?.as, `${name}, which ${line.task.task} waited for`).toBe("done");
    expect(endOf(before), `${name} ended before ${line.task.task} began`).toBeLessThan(began);
  }
}

interface TaskCheck {
  readonly line: Line;
  readonly lines: ReadonlyMap<string, Line>;
  readonly decisions: ReadonlyMap<string, ValidDecision>;
}

/** Checks that a task with a dependency that was not done ended with a report that names it. */
function checkLostDependencies({ line, lines, decisions }: TaskCheck): void {
  const { task, after, closed } = line.task;
  const lost = after.filter((name) => lines.get(name)?.task.closed?.as !== "done");
  if (lost.length === 0) return;
  expect(closed?.as, `${task} after ${lost.join()}`).not.toBe("done");
  if (closed?.as !== "failed") return; // Cancelled, or ended with its parent.
  const aborted = [...reportsIn(line).values()].filter(
    (report) => decisions.get(nameOf(report))?.decision === "abort",
  );
  expect(aborted.length, `why ${task} failed`).toBeGreaterThan(0);
  for (const { steps } of aborted) {
    const { type, message } = steps[0]?.envelope.failure ?? {};
    if (type !== "dependency") continue; // It had failed before.
    expect(
      lost.some((name) => message?.includes(`"${name}"`)),
      `why ${task} failed`,
    ).toBe(true);
  }
}

async function eventsOf(hub: Hub): Promise<HubEvent[]> {
  const all: HubEvent[] = [];
  for (;;) {
    const page = (await hub.events.list({ after: all.at(-1)?.number ?? 0, limit: 1_000 })).items;
    all.push(...page);
    if (page.length < 1_000) return all;
  }
}

/** Events after which a delivery has no holder. */
const ENDING: readonly HubEvent["kind"][] = [
  ...(["asked", "cancelled", "completed", "dead", "declined", "expired", "failed"] as const),
  ...(["deadline_passed", "released", "rerouted", "accept_timeout"] as const),
];

/** Checks that a delivery had one holder at a time, and none after it was completed. */
function checkSingleHolder(events: readonly HubEvent[]): void {
  const holder = new Map<string, string>();
  const completed = new Set<string>();
  const attempts = new Map<string, number>();
  for (const { kind, delivery = "", agent = "", attempt = 0 } of events) {
    if (kind === "accepted") {
      expect(holder.get(delivery), `who has ${delivery} when ${agent} accepts it`).toBeUndefined();
      expect(completed.has(delivery), `${delivery} is completed before ${agent} accepts it`).toBe(
        false,
      );
      expect(attempt, `the try of ${delivery}`).toBeGreaterThan(attempts.get(delivery) ?? 0);
      holder.set(delivery, agent);
      attempts.set(delivery, attempt);
    } else if (ENDING.includes(kind)) holder.delete(delivery);
    if (kind === "completed") completed.add(delivery);
  }
}

/** A delivery that was given up, and after which attempt. */
interface FailedAttempt {
  readonly delivery: string;
  readonly attempt: number;
}

/** The valid decision about a failure, with its memory. */
interface ValidDecision extends FailedAttempt {
  readonly decision: string;
  readonly memory: Memory;
}

const nameOf = ({ delivery, attempt }: FailedAttempt): string => `${delivery} after try ${attempt}`;

const GIVEN_UP: readonly DeliveryRow["state"][] = ["dead", "declined", "expired"];

async function checkDecisions(
  hub: Hub,
  lines: ReadonlyMap<string, Line>,
): Promise<ReadonlyMap<string, ValidDecision>> {
  const decisions = new Map<string, ValidDecision>();
  for (const { task, delivery, attempt, decision } of (await hub.failures.list({})).items) {
    expect(decision, `the decision about a failure of ${task}`).toBeDefined();
    const memory = lines.get(task)?.memories.find(({ id }) => id === decision?.record);
    if (decision === undefined || memory === undefined) expect.fail(`no memory of ${delivery}`);
    const what = decision.decision;
    decisions.set(nameOf({ delivery, attempt }), { delivery, attempt, decision: what, memory });
  }
  expect((await hub.failures.list({ undecided: true })).items).toEqual([]);
  for (const line of lines.values()) {
    const reports = reportsIn(line);
    for (const report of reports.values()) await checkReport(hub, { line, report, decisions });
    const work = line.steps.filter(isWork).flatMap(({ deliveries }) => deliveries);
    for (const { id: delivery, attempt, state } of work) {
      if (!GIVEN_UP.includes(state)) continue;
      const name = nameOf({ delivery, attempt });
      expect(reports.has(name), `${state}, and no agent was notified: ${name}`).toBe(true);
    }
  }
  return decisions;
}

/** All envelopes about one failure: the report, repeated or passed on to another decider. */
interface Report extends FailedAttempt {
  readonly steps: readonly LineStep[];
}

function reportsIn({ steps }: Line): ReadonlyMap<string, Report> {
  const reports = new Map<string, Report>();
  for (const step of steps) {
    const { failure } = step.envelope;
    if (failure === undefined) continue;
    const { delivery, attempt } = failure;
    const before = reports.get(nameOf(failure))?.steps ?? [];
    reports.set(nameOf(failure), { delivery, attempt, steps: [...before, step] });
  }
  return reports;
}

interface ReportCheck {
  readonly line: Line;
  readonly report: Report;
  readonly decisions: ReadonlyMap<string, ValidDecision>;
}

/** Checks that a report is closed, and decided by exactly one memory, which names it as cause. */
async function checkReport(hub: Hub, { line, report, decisions }: ReportCheck): Promise<void> {
  const name = `${nameOf(report)} of ${line.task.task}`;
  for (const { id, state } of report.steps.flatMap(({ deliveries }) => deliveries)) {
    expect(isOpen(state), `the report ${id} of ${name} is ${state}`).toBe(false);
  }
  const records = new Set(report.steps.map(({ memory }) => memory));
  const deciding = line.memories.filter(
    ({ data, relations = [] }) =>
      FINAL.includes(String(data?.["decision"])) &&
      relations.some(({ kind, to }) => kind === "caused-by" && records.has(to)),
  );
  const stands = decisions.get(nameOf(report));
  if (stands !== undefined) {
    expect(
      deciding.map(({ id }) => id),
      `what decides about ${name}`,
    ).toEqual([stands.memory.id]);
    return;
  }
  expect(deciding, `what decides about ${name}`).toEqual([]);
  await checkSettled(hub, report, name);
}

const FINAL: readonly string[] = ["retry", "reroute", "abort"];

/** Checks that a failure without a decision needed none: its delivery was settled after all. */
async function checkSettled(hub: Hub, { delivery, attempt, steps }: Report, name: string) {
  const { delivery: now } = await hub.deliveries.get(delivery);
  const isSettled = !GIVEN_UP.includes(now.state) || now.attempt > attempt;
  expect(isSettled, `no decision about ${name}; it is ${now.state}, ${now.attempt}`).toBe(true);
  for (const report of steps.flatMap(({ deliveries }) => deliveries)) {
    const { reason, result } = await hub.deliveries.get(report.id);
    expect(reason ?? result?.summary, `why ${report.id} was closed`).toMatch(/\S/);
  }
}

/** Checks that every decision that was confirmed to an agent is the valid one. */
function checkConfirmations(
  { confirmed }: Played,
  decisions: ReadonlyMap<string, ValidDecision>,
): void {
  const all = new Set([...decisions.values()].map(({ memory }) => memory.id));
  for (const { answer, by } of confirmed) {
    expect(all.has(answer.record), `${by}'s ${answer.decision} stands`).toBe(true);
    expect(answer.by).toBe(by);
  }
  expect(new Set(confirmed.map(({ answer }) => answer.record)).size).toBe(confirmed.length);
}

/** Checks that each decision took effect once: as many redrives as were decided. */
function checkRedrives(
  events: readonly HubEvent[],
  decisions: ReadonlyMap<string, ValidDecision>,
): void {
  const again = [...decisions.values()].filter(({ decision }) => decision !== "abort");
  const times = (of: readonly { readonly delivery?: string }[]): Record<string, number> =>
    Object.fromEntries(
      Map.groupBy(of, ({ delivery }) => present(delivery))
        .entries()
        .map(([d, each]) => [d, each.length]),
    );
  expect(times(events.filter(({ kind }) => kind === "redriven"))).toEqual(times(again));
}

/** Checks that a holder's signal was aborted when its work was cancelled. */
async function checkSignals({ hub, held }: Played): Promise<void> {
  for (const { work, in: process, isSettled } of held) {
    if (isSettled || process.mortal.isDead) continue;
    const { attempts } = await hub.deliveries.get(work.id);
    const own = attempts.find(({ attempt }) => attempt === work.delivery.attempt);
    if (own?.outcome !== "cancelled") continue;
    for (let n = 0; n < 500 && !work.signal.aborted; n++) await (n < 20 ? turn() : wait(10));
    expect(work.signal.aborted, `the holder of ${work.id} was notified of the cancellation`).toBe(
      true,
    );
  }
}
