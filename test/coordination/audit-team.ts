/**
 * What was promised of any team, held against what is in the store when all is over, read through the hub
 * alone: every task ended once and says why, nobody worked on what had to wait or on what somebody else
 * had, every failure was decided about, and all of it is on the chain.
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

/** Throws at the first promise that was not kept; else tells how tasks ended, and what was decided. */
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
  for (const line of lines.values()) await endedOnce(hub, line);
  for (const line of lines.values()) endedLast(line, lines);
  for (const line of lines.values()) waitedForOthers(line, lines);
  const events = await eventsOf(hub);
  heldOneByOne(events);
  const decisions = await everyFailureDecided(hub, lines);
  for (const line of lines.values()) endedWithOthers({ line, lines, decisions });
  toldTheTruth(played, decisions);
  redrivenOnce(events, decisions);
  await holdersHeard(played);
  const books = await hub.deliveries.totals();
  const rows = [...lines.values()].flatMap(({ steps }) => steps.flatMap((each) => each.deliveries));
  expect(books.deliveries, "the books count every delivery").toBe(rows.length);
  expect(rows.filter(({ state }) => isOpen(state))).toEqual([]);
  expect((await hub.verify()).problems).toEqual([]);
  return [
    ...[...lines.values()].map(({ task }) => `ended: ${task.state}`),
    ...[...decisions.values()].map(({ decision, memory }) => {
      return `decided: ${decision}${memory.agent === "baton" ? " by the hub" : ""}`;
    }),
  ];
}

/** One final state, said once, with a reason that can be read. */
async function endedOnce(hub: Hub, { task, memories }: Line): Promise<void> {
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

/** The places on the chain at which work of a task was accepted. */
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

/** The place on the chain at which a task was closed. */
const endOf = (line: Line | undefined): number | undefined =>
  line?.memories.find(({ id }) => id === line.task.closed?.record)?.seq;

/** By the chain: nobody accepted work of it after its end, and what it is part of ended after it. */
function endedLast(line: Line, lines: ReadonlyMap<string, Line>): void {
  const { task, parent } = line.task;
  const end = endOf(line);
  expect(end, `where ${task} ended`).toBeDefined();
  expect(Math.max(0, ...acceptances(line)), `the last work of ${task}`).toBeLessThan(end ?? 0);
  if (parent === undefined) return;
  expect(endOf(lines.get(parent)), `${parent} after its part ${task}`).toBeGreaterThan(end ?? 0);
}

/** By the chain: everything it waits for was closed as done before anybody accepted work of it. */
function waitedForOthers(line: Line, lines: ReadonlyMap<string, Line>): void {
  const began = Math.min(...acceptances(line));
  for (const name of line.task.after) {
    const before = lines.get(name);
    if (began === Number.POSITIVE_INFINITY) continue;
    expect(before?.task.closed?.as, `${name}, which ${line.task.task} waited for`).toBe("done");
    expect(endOf(before), `${name} ended before ${line.task.task} began`).toBeLessThan(began);
  }
}

interface Ended {
  readonly line: Line;
  readonly lines: ReadonlyMap<string, Line>;
  readonly decisions: ReadonlyMap<string, Standing>;
}

/** What waited for a task that was not done did not begin, and failed with a report that names it. */
function endedWithOthers({ line, lines, decisions }: Ended): void {
  const { task, after, closed } = line.task;
  const lost = after.filter((name) => lines.get(name)?.task.closed?.as !== "done");
  if (lost.length === 0) return;
  expect(closed?.as, `${task} after ${lost.join()}`).not.toBe("done");
  if (closed?.as !== "failed") return; // Taken back, or ended with what it is part of.
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

/** Events after which nobody holds a delivery any more. */
const LET_GO: readonly HubEvent["kind"][] = [
  ...(["asked", "cancelled", "completed", "dead", "declined", "expired", "failed"] as const),
  ...(["lapsed", "released", "rerouted", "unaccepted"] as const),
];

/** Of all who wanted a delivery, one had it at a time; and nobody after it was completed. */
function heldOneByOne(events: readonly HubEvent[]): void {
  const holder = new Map<string, string>();
  const completed = new Set<string>();
  const tries = new Map<string, number>();
  for (const { kind, delivery = "", agent = "", attempt = 0 } of events) {
    if (kind === "accepted") {
      expect(holder.get(delivery), `who has ${delivery} when ${agent} accepts it`).toBeUndefined();
      expect(completed.has(delivery), `${delivery} is completed before ${agent} accepts it`).toBe(
        false,
      );
      expect(attempt, `the try of ${delivery}`).toBeGreaterThan(tries.get(delivery) ?? 0);
      holder.set(delivery, agent);
      tries.set(delivery, attempt);
    } else if (LET_GO.includes(kind)) holder.delete(delivery);
    if (kind === "completed") completed.add(delivery);
  }
}

/** A delivery that was given up, after which try. */
interface Try {
  readonly delivery: string;
  readonly attempt: number;
}

/** A decision about a failure that stands, with the memory that says so. */
interface Standing extends Try {
  readonly decision: string;
  readonly memory: Memory;
}

const nameOf = ({ delivery, attempt }: Try): string => `${delivery} after try ${attempt}`;

const GIVEN_UP: readonly DeliveryRow["state"][] = ["dead", "declined", "expired"];

async function everyFailureDecided(
  hub: Hub,
  lines: ReadonlyMap<string, Line>,
): Promise<ReadonlyMap<string, Standing>> {
  const decisions = new Map<string, Standing>();
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
    for (const report of reports.values()) await decidedOnce(hub, { line, report, decisions });
    const work = line.steps.filter(isWork).flatMap(({ deliveries }) => deliveries);
    for (const { id: delivery, attempt, state } of work) {
      if (!GIVEN_UP.includes(state)) continue;
      const name = nameOf({ delivery, attempt });
      expect(reports.has(name), `${state}, and nobody was told: ${name}`).toBe(true);
    }
  }
  return decisions;
}

/** All that was sent about one failure: told again, or handed to somebody else to decide. */
interface Report extends Try {
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

interface Reported {
  readonly line: Line;
  readonly report: Report;
  readonly decisions: ReadonlyMap<string, Standing>;
}

/** A report was closed; one memory decides about it, names it as its cause, and is what stands. */
async function decidedOnce(hub: Hub, { line, report, decisions }: Reported): Promise<void> {
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
  await neededNone(hub, report, name);
}

const FINAL: readonly string[] = ["retry", "reroute", "abort"];

/** Nobody decided, and rightly: what was to be given up was settled after all, and the report says so. */
async function neededNone(hub: Hub, { delivery, attempt, steps }: Report, name: string) {
  const { delivery: now } = await hub.deliveries.get(delivery);
  const isSettled = !GIVEN_UP.includes(now.state) || now.attempt > attempt;
  expect(isSettled, `nobody decided about ${name}; it is ${now.state}, ${now.attempt}`).toBe(true);
  for (const report of steps.flatMap(({ deliveries }) => deliveries)) {
    const { reason, result } = await hub.deliveries.get(report.id);
    expect(reason ?? result?.summary, `why ${report.id} was closed`).toMatch(/\S/);
  }
}

/** Whoever was told that its decision stands was told the truth. */
function toldTheTruth({ told }: Played, decisions: ReadonlyMap<string, Standing>): void {
  const all = new Set([...decisions.values()].map(({ memory }) => memory.id));
  for (const { answer, by } of told) {
    expect(all.has(answer.record), `${by}'s ${answer.decision} stands`).toBe(true);
    expect(answer.by).toBe(by);
  }
  expect(new Set(told.map(({ answer }) => answer.record)).size).toBe(told.length);
}

/** What was decided happened once: a delivery is tried again as often as that was decided. */
function redrivenOnce(events: readonly HubEvent[], decisions: ReadonlyMap<string, Standing>): void {
  const again = [...decisions.values()].filter(({ decision }) => decision !== "abort");
  const times = (of: readonly { readonly delivery?: string }[]): Record<string, number> =>
    Object.fromEntries(
      Map.groupBy(of, ({ delivery }) => present(delivery))
        .entries()
        .map(([d, each]) => [d, each.length]),
    );
  expect(times(events.filter(({ kind }) => kind === "redriven"))).toEqual(times(again));
}

/** Whoever held what was taken back was told so by its signal. */
async function holdersHeard({ hub, held }: Played): Promise<void> {
  for (const { work, in: process, isSettled } of held) {
    if (isSettled || process.mortal.isDead) continue;
    const { attempts } = await hub.deliveries.get(work.id);
    const own = attempts.find(({ attempt }) => attempt === work.delivery.attempt);
    if (own?.outcome !== "cancelled") continue;
    for (let n = 0; n < 500 && !work.signal.aborted; n++) await (n < 20 ? turn() : wait(10));
    expect(work.signal.aborted, `the holder of ${work.id} heard that it was taken back`).toBe(true);
  }
}
