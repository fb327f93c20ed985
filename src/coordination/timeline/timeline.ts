/**
 * Builds the timeline of a task: what happened, in order, by which agent and why. It is derived from the
 * records on the chain and from attempts that left no record. Nothing is stored for it.
 */

import * as z from "zod";
import { checkLimit } from "../../base/limits.ts";
import type { Page } from "../../base/page.ts";
import { MemoryId } from "../../envelope/schema.ts";
import { parseOrThrow } from "../../envelope/violations.ts";
import { parseTaskName } from "../../ledger/release.ts";
import { recentRecords } from "../../memory/read.ts";
import type { Memory } from "../../memory/record.ts";
import { stableFieldsOf } from "../../store/parse-envelope.ts";
import type { DeliveryRow } from "../../store/rows.ts";
import type { LineEntry } from "../../store/store.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import { childrenOf } from "../tasks/edges.ts";
import { type TimelineKind, type TimelineStep, timelineStepOf } from "./step.ts";
import { readUnrecordedSteps } from "./unrecorded-steps.ts";

/** The query of `tasks.timeline()`. */
export const TimelineSchema = z.strictObject({
  /** The `next` of the page before; it continues with older steps. */
  after: MemoryId.optional(),
  /** True: include the parts of the task. Default: false. */
  children: z.boolean().default(false),
  /** The maximum number of records; the newest if there are more. Default: `limits.pageSize`. */
  limit: z.int().positive().optional(),
});
export type TimelineQuery = z.input<typeof TimelineSchema>;

/** A page of a timeline: the first page has the newest steps, `next` continues with older ones. */
export interface Timeline extends Page<TimelineStep> {
  readonly task: string;
  /** The task, and its parts if they were requested. */
  readonly tasks: readonly string[];
  /** Within a page, oldest first. */
  readonly items: readonly TimelineStep[];
}

/** Returns a page of the timeline of a task. */
export async function timelineOf(
  workspace: Workspace,
  name: string,
  query: TimelineQuery,
): Promise<Timeline> {
  const task = parseTaskName(name);
  const { limits } = workspace;
  const {
    after: before,
    children,
    limit = limits.pageSize,
  } = parseOrThrow(TimelineSchema, query, {
    code: "invalid_input",
    what: "The query",
  });
  checkLimit(limits, "pageSize", { actual: limit, path: "limit" });
  const tasks = children ? await withParts(workspace, task) : [task];
  const page = await recordsOf(workspace, tasks, { before, limit });
  const { store, name: of } = workspace;
  const line = (await Promise.all(tasks.map((each) => store.readLine(of, each)))).flat();
  const known = {
    envelopes: new Map(line.map(({ envelope }) => [envelope.id, envelope])),
    reports: new Set(line.filter(isReport).flatMap(({ deliveries }) => deliveries.map(idOf))),
  };
  const recorded = page.memories.map((memory) => timelineStepOf(workspace, memory, known));
  const silent = await readUnrecordedSteps(workspace, line);
  const within = silent.filter(({ at }) => at >= page.from && at < page.until);
  const { earlier: next } = page;
  const items = mergeUnrecordedSteps(recorded, within);
  return { task, tasks, items, ...(next === undefined ? {} : { next }) };
}

const isReport = ({ envelope }: LineEntry): boolean =>
  stableFieldsOf(envelope).failure !== undefined;
const idOf = ({ id }: DeliveryRow): string => id;

/** Returns the task and all its parts, each once. */
async function withParts(workspace: Workspace, task: string): Promise<readonly string[]> {
  const found = new Set([task]);
  for (const each of found) {
    for (const part of await childrenOf(workspace, each)) found.add(part);
    checkLimit(workspace.limits, "taskTree", { actual: found.size, path: "children" });
  }
  return [...found];
}

interface RecordPage {
  /** Oldest first. */
  readonly memories: readonly Memory[];
  /** The time at which the page starts, and before which it ends, in the store's time. */
  readonly from: number;
  readonly until: number;
  readonly earlier: string | undefined;
}

/** Returns the newest records of these tasks, before a record if one is passed. */
async function recordsOf(
  workspace: Workspace,
  tasks: readonly string[],
  { before, limit }: { readonly before: string | undefined; readonly limit: number },
): Promise<RecordPage> {
  const look = { limit, ...(before === undefined ? {} : { after: before }) };
  const pages = await Promise.all(tasks.map((task) => recentRecords(workspace, { ...look, task })));
  const found = pages.flatMap(({ items }) => items);
  const memories = found.sort(byPlace).slice(-limit);
  const hasMore = pages.some(({ next }) => next !== undefined) || found.length > limit;
  const [first] = memories;
  const isCut = hasMore && first !== undefined;
  const [last] =
    before === undefined ? [] : await workspace.store.readMemories(workspace.name, [before]);
  return {
    memories,
    from: isCut ? first.storedAt : 0,
    until: last?.storedAt ?? Number.POSITIVE_INFINITY,
    earlier: isCut ? first.id : undefined,
  };
}

/** Compares by order of storing: within a branch by sequence number, between branches by time. */
function byPlace(a: Memory, b: Memory): number {
  if (a.branch === b.branch) return a.seq - b.seq;
  return a.storedAt - b.storedAt || (a.id < b.id ? -1 : 1);
}

/**
 * Merges the two lists by time; a step without a record precedes records of the same moment that result from
 * it.
 */
function mergeUnrecordedSteps(
  recorded: readonly TimelineStep[],
  silent: readonly TimelineStep[],
): readonly TimelineStep[] {
  const steps = [...recorded];
  for (const silence of silent.toSorted((a, b) => a.at - b.at)) {
    const next = steps.findIndex((step) => step.at > silence.at || isConsequence(step, silence));
    steps.splice(next === -1 ? steps.length : next, 0, silence);
  }
  return steps;
}

const CONSEQUENCE_KINDS: readonly TimelineKind[] = [
  "reconstructed",
  "rerouted",
  "reported",
  "decided",
];

function isConsequence(step: TimelineStep, { at, delivery, attempt = 0 }: TimelineStep): boolean {
  if (step.at !== at || step.delivery !== delivery) return false;
  return (step.attempt ?? 0) > attempt || CONSEQUENCE_KINDS.includes(step.kind);
}
