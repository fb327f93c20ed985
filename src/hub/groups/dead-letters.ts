/** `hub.deadLetters` and `agent.deadLetters`: deliveries that were given up. */

import type { Worker } from "../../delivery/receive/worker.ts";
import {
  type DeadLetter,
  type DeadQuery,
  deadLetters,
  discard,
  type RedriveChanges,
  redrive,
} from "../../delivery/settle/dead-letters.ts";
import type { DeliveryRow } from "../../store/rows.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import type { Call } from "./call.ts";

export interface HubDeadLetters {
  /** Returns dead letters, each with every attempt. */
  list(query?: DeadQuery): Promise<readonly DeadLetter[]>;
}

export interface AgentDeadLetters {
  /** Delivers a dead letter again: as it is, to another receiver, or with a changed envelope. */
  redrive(delivery: string, changes?: RedriveChanges): Promise<DeliveryRow>;
  /** Closes a dead letter for good. */
  discard(delivery: string, reason: string): Promise<DeliveryRow>;
}

export const hubDeadLetters = (workspace: Workspace): HubDeadLetters => ({
  list: (query = {}) => deadLetters(workspace, query),
});

export const agentDeadLetters = (
  workspace: Workspace,
  self: Worker,
  call: Call,
): AgentDeadLetters => ({
  redrive: (delivery, changes = {}) => call(() => redrive(workspace, self, delivery, changes)),
  discard: (delivery, reason) => call(() => discard(workspace, self, delivery, reason)),
});
