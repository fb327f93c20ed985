/** Reading traces back: which sessions have one, and the newest steps of a session, task or agent. */

import * as z from "zod";
import { BatonError } from "../../base/errors.ts";
import { checkLimit } from "../../base/limits.ts";
import { nearestNames } from "../../base/nearest-names.ts";
import { type Page, pageOf } from "../../base/page.ts";
import { AgentName, MemoryId, Name } from "../../envelope/schema.ts";
import { parseOrThrow } from "../../envelope/violations.ts";
import type { TraceBranch } from "../../store/store.ts";
import { END_OF_BRANCH, traceBranch, type Visibility } from "../../store/visibility.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import { requireAgent } from "../agents.ts";
import { readVisible, unknownMemory } from "../read.ts";
import { type Memory, memoryOf } from "../record.ts";
import { visibilityOf } from "../visibility.ts";
import { TRACE } from "./trace.ts";

export const TracesSchema = z.strictObject({
  agent: AgentName.optional(),
  /** The `next` of the page before: the step to go back from. */
  after: MemoryId.optional(),
  limit: z.int().positive().default(100),
  session: Name.optional(),
  tag: z.string().min(1).optional(),
  task: Name.optional(),
});

export type TracesQuery = z.input<typeof TracesSchema>;

/** The newest steps that fit, in the order they were stored. */
export async function listTraceSteps(
  workspace: Workspace,
  query: TracesQuery,
): Promise<Page<Memory>> {
  const {
    agent,
    after: before,
    limit,
    session,
    tag,
    task,
  } = parseOrThrow(TracesSchema, query, {
    code: "invalid_input",
    what: "The query",
  });
  checkLimit(workspace.limits, "pageSize", { actual: limit, path: "limit" });
  const author = agent === undefined ? undefined : (await requireAgent(workspace, agent)).id;
  if (before !== undefined && (await readVisible(workspace, [before])).length === 0) {
    throw unknownMemory(workspace, before, "after");
  }
  const rows = await workspace.store.recentMemories({
    workspace: workspace.name,
    sight: await traceVisibility(workspace, session),
    filter: {
      type: TRACE,
      ...(author === undefined ? {} : { agent: author }),
      ...(tag === undefined ? {} : { tag }),
      ...(task === undefined ? {} : { task }),
    },
    limit: limit + 1,
    ...(before === undefined ? {} : { before }),
  });
  if (rows.length === 0 && session !== undefined) await requireSession(workspace, session);
  const { items, ...rest } = pageOf(rows, limit, ({ id }) => id);
  return { ...rest, items: items.map(memoryOf).reverse() };
}

/** One session's steps, or those of all; and nothing else. */
async function traceVisibility(
  workspace: Workspace,
  session: string | undefined,
): Promise<Visibility> {
  const { reader, quarantined } = await visibilityOf(workspace);
  if (session === undefined) return { lines: [], reader, traces: true, quarantined };
  return {
    lines: [{ branch: traceBranch(session), upTo: END_OF_BRANCH }],
    reader,
    traces: false,
    quarantined,
  };
}

async function requireSession(workspace: Workspace, session: string): Promise<void> {
  const sessions = (await allTraces(workspace)).map(sessionOf);
  if (sessions.includes(session)) return;
  const near = nearestNames(session, sessions);
  throw new BatonError("unknown_session", {
    message: `No session "${session}" has left a trace in workspace "${workspace.name}".`,
    path: "session",
    hint:
      near.length > 0 ? `Did you mean ${near.join(" or ")}?` : "See which have: baton trace list.",
    details: { session, near },
  });
}

/** A session's trace as it stands. */
export interface TraceInfo {
  readonly session: string;
  /** The agent and task of the last step the reader may see. */
  readonly agent?: string;
  readonly task?: string;
  /** Steps there are, also quarantined ones, and how many before them were pruned. */
  readonly steps: number;
  readonly pruned: number;
  /** Store time of the first step that is left; absent when all were pruned. */
  readonly from?: number;
  /** Store time of the last step there was. */
  readonly until: number;
}

export const SessionsSchema = z.strictObject({
  /** The `next` of the page before. */
  after: z
    .string()
    .regex(/^\d{1,15}:/)
    .optional(),
  limit: z.int().positive().default(20),
});

export type TraceSessionsQuery = z.input<typeof SessionsSchema>;

/** The sessions that left a trace, the one that was heard of last first. */
export async function traceSessions(
  workspace: Workspace,
  query: TraceSessionsQuery,
): Promise<Page<TraceInfo>> {
  const how = { code: "invalid_input", what: "The query" } as const;
  const { after, limit } = parseOrThrow(SessionsSchema, query, how);
  checkLimit(workspace.limits, "pageSize", { actual: limit, path: "limit" });
  const found = (await allTraces(workspace)).sort(newestFirst);
  const [at = "", ...name] = after?.split(":") ?? [];
  const last = { lastAt: Number(at), branch: traceBranch(name.join(":")) };
  const left = after === undefined ? found : found.filter((each) => newestFirst(each, last) > 0);
  const { items, ...rest } = pageOf(left, limit, (of) => `${of.lastAt}:${sessionOf(of)}`);
  const sight = await traceVisibility(workspace, undefined);
  return {
    ...rest,
    items: await Promise.all(items.map((branch) => infoOf(workspace, branch, sight))),
  };
}

type LastStep = Pick<TraceBranch, "lastAt" | "branch">;

const newestFirst = (a: LastStep, b: LastStep): number =>
  b.lastAt - a.lastAt || (a.branch < b.branch ? -1 : a.branch > b.branch ? 1 : 0);

async function infoOf(
  { store, name }: Workspace,
  of: TraceBranch,
  every: Visibility,
): Promise<TraceInfo> {
  const sight = { ...every, lines: [{ branch: of.branch, upTo: END_OF_BRANCH }], traces: false };
  const [row] = await store.recentMemories({ workspace: name, sight, filter: {}, limit: 1 });
  const last = row && memoryOf(row);
  return {
    session: sessionOf(of),
    ...(last === undefined ? {} : { agent: last.agent }),
    ...(last?.task === undefined ? {} : { task: last.task }),
    steps: of.last - of.first + 1,
    pruned: of.first - 1,
    ...(of.firstAt === 0 ? {} : { from: of.firstAt }),
    until: of.lastAt,
  };
}

/** Every trace there is or was. */
export async function allTraces({ store, name, limits }: Workspace): Promise<TraceBranch[]> {
  const found: TraceBranch[] = [];
  const limit = limits.pageSize;
  let page: readonly TraceBranch[];
  do {
    const after = found.at(-1)?.branch;
    const cursor = after === undefined ? {} : { after };
    page = await store.listTraces({ workspace: name, limit, ...cursor });
    found.push(...page);
  } while (page.length === limit);
  return found;
}

export const sessionOf = ({ branch }: Pick<TraceBranch, "branch">): string =>
  branch.slice(traceBranch("").length);
