/** Reads traces: the sessions that have one, and the newest steps of a session, task or agent. */

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

/** Input of listTraceSteps(). */
export const TracesSchema = z.strictObject({
  agent: AgentName.optional(),
  /** The `next` of the previous page: returns steps older than this one. */
  after: MemoryId.optional(),
  /** Default: 100; at most `pageSize`. */
  limit: z.int().positive().default(100),
  session: Name.optional(),
  tag: z.string().min(1).optional(),
  task: Name.optional(),
});

export type TracesQuery = z.input<typeof TracesSchema>;

/** Returns the newest matching steps, oldest first. Throws `unknown_session` if a session has no trace. */
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

/** Limits a query to the steps of one session, or of all sessions. */
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
    message: `Session "${session}" has no trace in workspace "${workspace.name}".`,
    path: "session",
    hint:
      near.length > 0
        ? `Did you mean ${near.join(" or ")}?`
        : "Run baton trace list to see the sessions.",
    details: { session, near },
  });
}

/** The trace of one session. */
export interface TraceInfo {
  readonly session: string;
  /** The agent and task of the last step the reader may see. */
  readonly agent?: string;
  readonly task?: string;
  /** The number of stored steps, including quarantined ones. */
  readonly steps: number;
  /** The number of pruned steps before them. */
  readonly pruned: number;
  /** When the first remaining step was stored, in ms since the epoch; absent if all were pruned. */
  readonly from?: number;
  /** When the last step was stored, in ms since the epoch. */
  readonly until: number;
}

/** Input of traceSessions(). */
export const SessionsSchema = z.strictObject({
  /** The `next` of the previous page. */
  after: z
    .string()
    .regex(/^\d{1,15}:/)
    .optional(),
  /** Default: 20; at most `pageSize`. */
  limit: z.int().positive().default(20),
});

export type TraceSessionsQuery = z.input<typeof SessionsSchema>;

/** Returns the sessions that have a trace, the one with the latest step first. */
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

/** Returns all traces, including completely pruned ones. */
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

/** Returns the session of a trace branch. */
export const sessionOf = ({ branch }: Pick<TraceBranch, "branch">): string =>
  branch.slice(traceBranch("").length);
