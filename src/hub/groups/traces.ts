/** `hub.traces` and `agent.traces`: what agents did, step by step. */

import type { Page } from "../../base/page.ts";
import type { Worker } from "../../delivery/receive/worker.ts";
import type { Memory } from "../../memory/record.ts";
import { flushTraces, traceCounts } from "../../memory/traces/trace.ts";
import type { TraceCounts } from "../../memory/traces/trace-log.ts";
import {
  listTraceSteps,
  type TraceInfo,
  type TraceSessionsQuery,
  type TracesQuery,
  traceSessions,
} from "../../memory/traces/traces.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import type { Call } from "./call.ts";

/** `hub.traces`: reads what agents did, step by step. */
export interface HubTraces {
  /** Returns the newest steps of a session, a task or an agent, in order. */
  list(query?: TracesQuery): Promise<Page<Memory>>;
  /** Returns the sessions that have a trace, the most recently active first. */
  sessions(query?: TraceSessionsQuery): Promise<Page<TraceInfo>>;
  /** Returns how many steps the agents of this hub traced, stored and lost. */
  counts(): Promise<TraceCounts>;
}

/** `agent.traces`: reads traces and waits until all steps are stored. */
export interface AgentTraces {
  /** Returns the newest steps of a session, a task or an agent, in order. */
  list(query?: TracesQuery): Promise<Page<Memory>>;
  /** Waits until every traced step is stored. Throws if a step of this session was not. */
  flush(): Promise<void>;
}

/** Returns `hub.traces` for a workspace. */
export const hubTraces = (workspace: Workspace): HubTraces => ({
  list: (query = {}) => listTraceSteps(workspace, query),
  sessions: (query = {}) => traceSessions(workspace, query),
  counts: async () => traceCounts(workspace),
});

/** Returns `agent.traces` for a session. */
export const agentTraces = (workspace: Workspace, self: Worker, call: Call): AgentTraces => ({
  list: (query = {}) => call(() => listTraceSteps(workspace, query)),
  flush: () => call(() => flushTraces(workspace, self)),
});
