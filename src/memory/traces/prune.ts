/**
 * Prunes traces and events according to the retention rules. First it determines what to delete; then it
 * writes a record with the link at which each trace is cut, on a chain that verification reads; then it
 * deletes, slice by slice, between other writes. If it is interrupted, the record accounts for everything
 * that is missing, and the next run continues.
 */
import * as z from "zod";
import { parseOrThrow } from "../../envelope/violations.ts";
import { PRUNING_BRANCH, type PrunePoint } from "../../store/pruning.ts";
import type { TraceBranch } from "../../store/store.ts";
import { publicVisibility } from "../../store/visibility.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import { requireAgent, requireAgentKey } from "../agents.ts";
import { type Author, writeRecord } from "../record.ts";
import { agentDisabled, refusalError } from "../refusals.ts";
import { systemAuthor } from "../system-author.ts";
import { type RetentionRules, retentionRules } from "./retention.ts";
import { drainTraces } from "./trace.ts";
import { allTraces, sessionOf } from "./traces.ts";

/** Rows deleted per transaction; other writers wait about 1 ms for one. */
const SLICE = 200;
/** Traces listed in one record; well below the size limit of a record. */
const MAX_TRACES_PER_RECORD = 100;
const DAY_MS = 24 * 3_600_000;

/** Options of prune(). */
export const PruneSchema = z.strictObject({
  /** Only returns what would be deleted. Default: false. */
  dryRun: z.boolean().default(false),
  /** The time that days are counted from, in ms since the epoch. Default: now. */
  now: z.int().min(0).optional(),
  onProgress: z
    .custom<(progress: PruneProgress) => void>((it) => typeof it === "function")
    .optional(),
});

export type PruneOptions = z.input<typeof PruneSchema>;

/** The progress of a run. */
export interface PruneProgress {
  /** Trace steps and events deleted so far. */
  readonly done: number;
  /** Trace steps and events to delete in this run. */
  readonly total: number;
}

/** What is pruned of one session's trace. */
export interface PrunedSession {
  readonly session: string;
  readonly steps: number;
  /** Whether some of its steps stay because another record references one of them. */
  readonly kept: boolean;
}

/** The result of a run, or with `dryRun` what would happen. */
export interface PruneReport {
  readonly rules: RetentionRules;
  readonly dryRun: boolean;
  /** The traces due for pruning, including those that stay whole because they are referenced. */
  readonly sessions: readonly PrunedSession[];
  readonly steps: number;
  readonly events: number;
  /** The size of the deleted steps' texts; the store reuses this space before it grows. */
  readonly bytes: number;
}

interface Plan {
  readonly trace: TraceBranch;
  /** The last step to delete; 0 if none. */
  readonly upTo: number;
  readonly steps: number;
  readonly bytes: number;
  readonly kept: boolean;
}

/** Applies the retention rules. `by`: the agent that asked for it. Default: the hub. */
export async function prune(
  workspace: Workspace,
  by: Author | undefined,
  options: PruneOptions,
): Promise<PruneReport> {
  const { dryRun, now, onProgress } = parseOrThrow(PruneSchema, options, {
    code: "invalid_input",
    what: "The options",
    unwritten: "onProgress",
  });
  if (by !== undefined && !dryRun) await requireAuthor(workspace, by);
  await drainTraces(workspace);
  const rules = await retentionRules(workspace);
  const at = now ?? workspace.clock.now();
  const plans = await plansFor(workspace, rules, at);
  const old = await oldEvents(workspace, rules, at);
  const sum = (of: "steps" | "bytes"): number => plans.reduce((all, plan) => all + plan[of], 0);
  const planned = {
    rules,
    dryRun,
    sessions: plans.map(({ trace, steps, kept }) => ({ session: sessionOf(trace), steps, kept })),
  };
  const total = sum("steps") + old.events;
  if (dryRun) return { ...planned, steps: sum("steps"), events: old.events, bytes: sum("bytes") };
  let done = 0;
  const report = (more: number): void => {
    done += more;
    onProgress?.({ done, total });
  };
  const gone = await pruneTraces(workspace, plans, { by, report });
  const events = await pruneEvents(workspace, old.upTo, report);
  return { ...planned, ...gone, events };
}

/** Checks the agent here because the store does not: events are deleted without a record. */
async function requireAuthor(workspace: Workspace, { agent, signer }: Author): Promise<void> {
  const known = await requireAgent(workspace, agent);
  if (known.status === "disabled") throw agentDisabled(known.id, "agent");
  requireAgentKey(known, signer);
}

/** Returns the traces that are due, and how much of each can be deleted. */
async function plansFor(
  workspace: Workspace,
  { traces: rule }: RetentionRules,
  at: number,
): Promise<Plan[]> {
  if (rule?.days === undefined && rule?.sessions === undefined) return [];
  const there = (await allTraces(workspace)).filter(({ first, last }) => first <= last);
  const newest = there.sort((a, b) => b.lastAt - a.lastAt);
  const oldest = rule.days === undefined ? 0 : at - rule.days * DAY_MS;
  const most = rule.sessions ?? Number.POSITIVE_INFINITY;
  const due = newest.filter(({ lastAt }, i) => lastAt < oldest || i >= most);
  const plans: Plan[] = [];
  for (const trace of due) plans.push(await planFor(workspace, trace));
  return plans;
}

async function planFor({ store, name }: Workspace, trace: TraceBranch): Promise<Plan> {
  const { branch, first, last } = trace;
  const survey = await store.surveyTrace({ workspace: name, branch, upTo: last });
  const { records: steps, bytes, heldBy } = survey;
  return { trace, upTo: steps === 0 ? 0 : first + steps - 1, steps, bytes, kept: heldBy > 0 };
}

interface PruneContext {
  readonly by: Author | undefined;
  report(more: number): void;
}

async function pruneTraces(
  workspace: Workspace,
  plans: readonly Plan[],
  { by, report }: PruneContext,
): Promise<Pick<PruneReport, "steps" | "bytes">> {
  const going = plans.filter(({ upTo }) => upTo > 0);
  let steps = 0;
  let bytes = 0;
  for (let from = 0; from < going.length; from += MAX_TRACES_PER_RECORD) {
    const some = going.slice(from, from + MAX_TRACES_PER_RECORD);
    await recordPruning(workspace, some, by ?? (await hubItself(workspace)));
    for (const { trace, upTo } of some) {
      for (;;) {
        const slice = { workspace: workspace.name, branch: trace.branch, upTo, limit: SLICE };
        const gone = await workspace.store.pruneTrace(slice);
        if (gone.records === 0) break;
        steps += gone.records;
        bytes += gone.bytes;
        report(gone.records);
      }
    }
  }
  return { steps, bytes };
}

async function hubItself(workspace: Workspace): Promise<Author> {
  return systemAuthor(workspace);
}

/** Records, before anything is deleted, which steps may be missing from now on and where chains continue. */
async function recordPruning(
  workspace: Workspace,
  plans: readonly Plan[],
  by: Author,
): Promise<void> {
  const { store, name, ids, clock, limits } = workspace;
  const traces: PrunePoint[] = [];
  for (const plan of plans) traces.push(await prunedOf(workspace, plan));
  const written = writeRecord(
    by,
    {
      type: "pruning",
      content: `${by.agent} pruned ${plans.length} traces according to the retention rules.`,
      data: { by: by.agent, traces },
    },
    { ids, now: clock.now(), limits, branch: PRUNING_BRANCH },
  );
  const memories = [written.record];
  const outcome = await store.appendMemories({ workspace: name, branch: PRUNING_BRANCH, memories });
  switch (outcome.kind) {
    case "appended":
      return;
    case "lease_lost":
    case "entry_changed":
    case "tip_moved":
      throw new Error(`unexpected outcome of writing a pruning record: ${outcome.kind}`);
    default:
      throw await refusalError(workspace, outcome);
  }
}

async function prunedOf(workspace: Workspace, { trace, upTo }: Plan): Promise<PrunePoint> {
  const { branch, last, lastAt, link } = trace;
  if (upTo === last) return { branch, seq: last, storedAt: lastAt, link };
  const [row] = await workspace.store.recentMemories({
    workspace: workspace.name,
    sight: { ...publicVisibility(branch), lines: [{ branch, upTo }] },
    filter: {},
    limit: 1,
  });
  if (row?.seq !== upTo) throw new Error(`step ${upTo} of ${branch} does not exist`);
  return { branch, seq: upTo, storedAt: row.storedAt, link: row.link };
}

async function oldEvents(
  { store, name }: Workspace,
  { events: rule }: RetentionRules,
  at: number,
): Promise<{ readonly upTo: number; readonly events: number }> {
  if (rule?.days === undefined && rule?.keep === undefined) return { upTo: 0, events: 0 };
  return store.surveyEvents({
    workspace: name,
    ...(rule.days === undefined
      ? {}
      : { before: Math.max(0, Math.floor(at - rule.days * DAY_MS)) }),
    ...(rule.keep === undefined ? {} : { keep: rule.keep }),
  });
}

async function pruneEvents(
  { store, name }: Workspace,
  upTo: number,
  report: PruneContext["report"],
): Promise<number> {
  let events = 0;
  for (;;) {
    const gone = upTo === 0 ? 0 : await store.pruneEvents(name, upTo, SLICE);
    if (gone === 0) return events;
    events += gone;
    report(gone);
  }
}
