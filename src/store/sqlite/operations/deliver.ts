/**
 * Creates the deliveries of a handoff: extends held work, replaces waiting work, or queues new deliveries.
 */

import { stateNumber } from "../../codecs.ts";
import { type DeliveryRow, type NewDelivery, soonest } from "../../rows.ts";
import type { SendHandoff, SendOutcome } from "../../store.ts";
import { Refusal } from "../refusal.ts";
import { deliverySum } from "../row-sums.ts";
import { scalarOf } from "../scalar.ts";
import type { Transaction } from "../transaction.ts";
import { findDelivery, noteIfOpen, passTurn, placeBehind, recordEvent } from "./deliveries.ts";
import { endAttempt } from "./lease.ts";

/** What is open for a receiver and task before the new delivery. */
export interface QueueHead {
  /** The open delivery of the same work: same task, sender, receiver and parent. */
  readonly open: DeliveryRow | undefined;
  /** The lowest place of the other open deliveries of this receiver and task; undefined: none. */
  readonly first: number | undefined;
}

/** Where a handoff is delivered. */
interface Destination extends QueueHead {
  readonly workspace: number;
  /** Position of the handoff record, which is also the last place. */
  readonly position: number;
  readonly at: number;
}

type DeliverResult = Pick<Extract<SendOutcome, { kind: "sent" }>, "deliveries" | "superseded">;

/** Delivers a handoff that has passed its checks. Throws a `Refusal` if a delivery id is taken. */
export function deliver(tx: Transaction, to: Destination, operation: SendHandoff): DeliverResult {
  const { open } = to;
  const [only, ...others] = operation.deliveries;
  if (only === undefined || others.length > 0) return publish(tx, to, operation);
  if (open !== undefined && operation.extend?.held) {
    return { deliveries: [extendHeld(tx, { ...to, open }, operation)], superseded: "" };
  }
  if (open !== undefined) supersede(tx, { ...to, open }, operation);
  const deliveries = [add(tx, to, operation, only)];
  // A delivery that is dead-lettered at once does not keep the turn.
  const { workspace } = to;
  if (open !== undefined && only.state === "dead")
    passTurn(tx, { name: operation, workspace }, open);
  return { deliveries, superseded: open?.id ?? "" };
}

/** Delivers to several receivers. Each queue is read right before it is written, from the same index. */
function publish(tx: Transaction, to: Destination, operation: SendHandoff): DeliverResult {
  const { task } = operation.envelope;
  const deliveries = operation.deliveries.map((delivery) => {
    const first = tx.sql.firstInQueue.get(to.workspace, delivery.receiver, task);
    return add(tx, { ...to, first: scalarOf<number>(first) }, operation, delivery);
  });
  return { deliveries, superseded: "" };
}

type OpenDestination = Destination & { readonly open: DeliveryRow };

function extendHeld(
  tx: Transaction,
  { workspace, open }: OpenDestination,
  operation: SendHandoff,
): DeliveryRow {
  const { envelope, memory, deliveries } = operation;
  for (const { id } of deliveries) {
    // Nothing is written under this id, but it is refused as in every other case.
    if (findDelivery(tx.sql, workspace, id))
      throw new Refusal<SendOutcome>({ kind: "id_taken", id });
  }
  // The newest envelope's times count; accepted work has only a deadline.
  const { deadline = 0, lapseMs = 0 } = deliveries[0] ?? {};
  const soon = open.state === "claimed" && lapseMs > 0 ? tx.now + lapseMs : 0;
  const lapseAt = soonest(deadline, soon);
  tx.sql.extendHeld.run(envelope.id, deadline, lapseAt, workspace, open.id, open.envelope);
  const held = current(tx, { workspace, open }, operation);
  const delivery = { ...held, envelope: envelope.id, deadline, lapseAt };
  recordEvent(tx, workspace, { kind: "extended", agent: memory.agent, delivery });
  tx.wake(operation.workspace, delivery.holder);
  return delivery;
}

/** Reads the open delivery again if completing the sender's own one may just have passed the turn to it. */
function current(
  tx: Transaction,
  { workspace, open }: Pick<OpenDestination, "workspace" | "open">,
  { settles }: SendHandoff,
): DeliveryRow {
  return settles === undefined ? open : (findDelivery(tx.sql, workspace, open.id) ?? open);
}

function supersede(
  tx: Transaction,
  { workspace, open, at }: OpenDestination,
  operation: SendHandoff,
): void {
  const waiting = current(tx, { workspace, open }, operation);
  const sum = deliverySum({ ...waiting, state: "superseded", settledAt: at });
  tx.sql.supersede.run(at, sum, workspace, open.id, open.envelope);
  const { agent } = operation.memory;
  recordEvent(tx, workspace, { kind: "superseded", agent, delivery: open });
}

function add(
  tx: Transaction,
  to: Destination,
  operation: SendHandoff,
  delivery: NewDelivery,
): DeliveryRow {
  const { workspace, at } = to;
  const { agent } = operation.memory;
  const added = rowOf(tx, to, operation, delivery);
  const { changes } = insert(tx, workspace, added);
  if (changes === 0) throw new Refusal<SendOutcome>({ kind: "id_taken", id: delivery.id });
  noteIfOpen(tx, workspace, added);
  const dead = added.state === "dead";
  if (dead) endAttempt(tx, workspace, added, { outcome: "stopped", reason: delivery.reason, at });
  recordEvent(tx, workspace, { kind: dead ? "dead" : "sent", agent, delivery: added });
  tx.wake(operation.workspace, added.receiver);
  return added;
}

/**
 * Returns the new row. A delivery that replaces another takes over its place and turn. An urgent one goes
 * ahead in the inbox, but never of earlier work of its task. One that is dead-lettered at once gets the
 * attempt and fence of one attempt without a claim.
 */
function rowOf(
  tx: Transaction,
  { workspace, open, first, position, at }: Destination,
  { envelope, parent }: SendHandoff,
  delivery: NewDelivery,
): DeliveryRow {
  const { state, deadline, lapseMs } = delivery;
  const dead = state === "dead";
  const { now } = tx;
  const { receiver } = delivery;
  const queue = { workspace, receiver, task: envelope.task, position };
  const behind = () => (first === undefined ? position - delivery.ahead : placeBehind(tx, queue));
  const place = open?.place ?? behind();
  return {
    id: delivery.id,
    envelope: envelope.id,
    task: envelope.task,
    sender: envelope.sender,
    receiver,
    parent,
    state,
    place,
    inTurn: dead || first === undefined || first > place,
    attempt: dead ? 1 : 0,
    maxAttempts: delivery.maxAttempts,
    fence: dead ? 1 : 0,
    leaseUntil: 0,
    holdUntil: 0,
    readyAt: state === "scheduled" ? now + delivery.delayMs : 0,
    deadline,
    lapseAt: dead ? 0 : soonest(deadline, lapseMs === 0 ? 0 : now + lapseMs),
    sentAt: at,
    seenAt: 0,
    acceptedAt: 0,
    settledAt: dead ? at : 0,
    holder: "",
    instance: "",
    process: "",
    acceptedBy: "",
    settledBy: "",
    followers: "",
  };
}

function insert(tx: Transaction, workspace: number, row: DeliveryRow) {
  return tx.sql.addDelivery.run(
    workspace,
    stateNumber(row.state),
    Number(row.inTurn),
    row.place,
    row.attempt,
    row.maxAttempts,
    row.fence,
    row.readyAt,
    row.deadline,
    row.lapseAt,
    row.sentAt,
    row.settledAt,
    row.id,
    row.envelope,
    row.parent,
    row.task,
    row.sender,
    row.receiver,
    deliverySum(row),
  );
}
