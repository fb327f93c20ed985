/**
 * `hub.deliveries` and `agent.deliveries`: the state of handoffs at their receivers, and calls that change
 * it.
 */

import type { Page } from "../../base/page.ts";
import { processDue } from "../../delivery/due/process-due.ts";
import type { Worker } from "../../delivery/receive/worker.ts";
import { cancel } from "../../delivery/settle/cancel.ts";
import {
  type AcceptedOutcome,
  awaitAccepted,
  awaitCompleted,
  type CompletedOutcome,
} from "../../delivery/watch/await-outcome.ts";
import {
  type DeliveryDetails,
  followDelivery,
  showDelivery,
} from "../../delivery/watch/delivery-details.ts";
import {
  type DeliveryWithEnvelope,
  type InboxQuery,
  listInbox,
} from "../../delivery/watch/inbox-listing.ts";
import { type DeliveriesQuery, listDeliveries } from "../../delivery/watch/list-deliveries.ts";
import type { CompletedOptions, WaitOptions } from "../../delivery/watch/wait-options.ts";
import { primerFor } from "../../delivery/work/delivery-primer.ts";
import type { NoteResult } from "../../delivery/work/note.ts";
import { type ShownView, viewsOf } from "../../delivery/work/views.ts";
import { type Warning, warningsOf } from "../../delivery/work/warnings.ts";
import { holderOf, noteByHandle } from "../../delivery/work/work-handle.ts";
import { DeliveryId } from "../../envelope/schema.ts";
import { parseOrThrow } from "../../envelope/violations.ts";
import { type Attempt, attemptOf } from "../../history/attempt.ts";
import { type Delivery, deliveryOf } from "../../history/delivery.ts";
import { unknownDelivery } from "../../history/unknown-delivery.ts";
import type { MemoryInput } from "../../memory/record.ts";
import type { DeliveryTotals } from "../../store/store.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import type { Call } from "./call.ts";

/** `hub.deliveries`: reads, lists and watches deliveries of all receivers. */
export interface HubDeliveries {
  /** Returns one delivery with its envelope, every attempt and its result. Throws `unknown_delivery`. */
  get(id: string): Promise<DeliveryDetails>;
  /**
   * Returns deliveries of all receivers, newest first, with their envelopes. Default limit: 50. For the next
   * page, pass `next` as `after`; the last page has no `next`. A page reads at most 5,000 deliveries, so with
   * filters it can have fewer items than `limit`, or none, and still have `next`. Throws `unknown_agent`.
   */
  list(query?: DeliveriesQuery): Promise<Page<DeliveryWithEnvelope>>;
  /** Yields a delivery now and after every change, until it is settled or the wait ends. */
  watch(id: string, options?: WaitOptions): AsyncGenerator<Delivery, void, undefined>;
  /**
   * Waits until a delivery is accepted or can no longer be accepted. Default timeout: none. Throws
   * `unknown_delivery`.
   */
  accepted(id: string, options?: WaitOptions): Promise<AcceptedOutcome>;
  /**
   * Waits until a delivery is settled or its receiver asks a question. Default timeout: none. Throws
   * `unknown_delivery`.
   */
  completed(id: string, options?: CompletedOptions): Promise<CompletedOutcome>;
  /** Returns the attempts of a delivery that ended without completing it. */
  attempts(id: string): Promise<readonly Attempt[]>;
  /** Returns every view that holders of a delivery were shown, rendered again from the records. */
  views(id: string): Promise<readonly ShownView[]>;
  /** Returns the primer of a delivery: what to know before the first step, in less than 2 KB. */
  primer(id: string): Promise<string>;
  /** Returns the quarantined memories that a delivery carries. Throws `unknown_delivery`. */
  warnings(id: string): Promise<readonly Warning[]>;
  /** Returns the id of the agent that holds the work of a handle. */
  holder(handle: string): Promise<string>;
  /** Returns the number of deliveries in each state. */
  totals(): Promise<DeliveryTotals>;
  /**
   * Processes everything that is due now: retries, timeouts, reminders, joins. Open hubs do this by
   * themselves when something falls due; a program with its own clock calls it.
   */
  runDue(): Promise<void>;
}

/** `agent.deliveries`: lists the inbox of this agent, cancels handoffs, writes notes by handle. */
export interface AgentDeliveries {
  /**
   * Returns the handoffs that wait for this agent or are in progress, in order, without claiming any. Default
   * limit: `limits.pageSize`.
   */
  waiting(query?: InboxQuery): Promise<Page<DeliveryWithEnvelope>>;
  /** Cancels a handoff by the id of its delivery and notifies its holder. */
  cancel(id: string, reason: string): Promise<readonly Delivery[]>;
  /**
   * Writes a note by the handle of a work. If the lease was lost meanwhile, the note is stored and marked.
   */
  note(handle: string, input: MemoryInput | string): Promise<NoteResult>;
}

const parseDeliveryId = (id: string): string =>
  parseOrThrow(DeliveryId, id, { code: "invalid_input", what: "The delivery", prefix: "delivery" });

/** Returns `hub.deliveries` for a workspace. */
export function hubDeliveries(workspace: Workspace): HubDeliveries {
  const { store, name } = workspace;
  return {
    get: async (id) => showDelivery(workspace, parseDeliveryId(id)),
    list: (query = {}) => listDeliveries(workspace, query),
    watch: (id, options = {}) => followDelivery(workspace, parseDeliveryId(id), options),
    accepted: async (id, options = {}) => awaitAccepted(workspace, parseDeliveryId(id), options),
    completed: async (id, options = {}) => awaitCompleted(workspace, parseDeliveryId(id), options),
    attempts: async (id) => (await store.readAttempts(name, parseDeliveryId(id))).map(attemptOf),
    views: async (id) => viewsOf(workspace, parseDeliveryId(id)),
    primer: async (id) => primerFor(workspace, parseDeliveryId(id)),
    async warnings(id) {
      const found = await store.findDelivery(name, parseDeliveryId(id));
      if (found === undefined) throw unknownDelivery(id);
      return warningsOf(workspace, found);
    },
    holder: (handle) => holderOf(workspace, handle),
    totals: () => store.countDeliveries(name),
    runDue: async () => void (await processDue(workspace)),
  };
}

/** Returns `agent.deliveries` for a session. */
export const agentDeliveries = (
  workspace: Workspace,
  self: Worker,
  call: Call,
): AgentDeliveries => ({
  waiting: (query = {}) => call(() => listInbox(workspace, self, query)),
  cancel: (delivery, reason) =>
    call(async () => (await cancel(workspace, self, { delivery }, reason)).map(deliveryOf)),
  note: (handle, input) =>
    call(() => {
      const described = typeof input === "string" ? { content: input } : input;
      return noteByHandle(workspace, self, handle, described);
    }),
});
