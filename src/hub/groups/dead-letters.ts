/** `hub.deadLetters` and `agent.deadLetters`: deliveries that were given up. */

import type { Page } from "../../base/page.ts";
import type { Worker } from "../../delivery/receive/worker.ts";
import {
  type DeadLetter,
  type DeadLetterQuery,
  discard,
  listDeadLetters,
  type RedriveChanges,
  redrive,
} from "../../delivery/settle/dead-letters.ts";
import { type Delivery, deliveryOf } from "../../history/delivery.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import type { Call } from "./call.ts";

/** `hub.deadLetters`: lists deliveries that were given up. */
export interface HubDeadLetters {
  /** Returns dead letters, each with every attempt. */
  list(query?: DeadLetterQuery): Promise<Page<DeadLetter>>;
}

/** `agent.deadLetters`: redrives or discards deliveries that were given up. */
export interface AgentDeadLetters {
  /**
   * Delivers a dead letter again: unchanged, to another receiver, or with a changed envelope. Throws
   * `not_open`.
   */
  redrive(delivery: string, changes?: RedriveChanges): Promise<Delivery>;
  /** Closes a dead letter permanently, with a reason. */
  discard(delivery: string, reason: string): Promise<Delivery>;
}

/** Returns `hub.deadLetters` for a workspace. */
export const hubDeadLetters = (workspace: Workspace): HubDeadLetters => ({
  list: (query = {}) => listDeadLetters(workspace, query),
});

/** Returns `agent.deadLetters` for a session. */
export const agentDeadLetters = (
  workspace: Workspace,
  self: Worker,
  call: Call,
): AgentDeadLetters => ({
  redrive: (delivery, changes = {}) =>
    call(async () => deliveryOf(await redrive(workspace, self, delivery, changes))),
  discard: (delivery, reason) =>
    call(async () => deliveryOf(await discard(workspace, self, delivery, reason))),
});
