/**
 * Sending, in one transaction: handoff record with its relations, envelope, delivery, events, and
 * (when an agent hands on) the completion of its own delivery. All of it or nothing.
 */

import { deliveryOf, stateNumber } from "../codecs.ts";
import { isAsSeen } from "../extension.ts";
import type { DeliveryRow } from "../rows.ts";
import type { SendHandoff, SendOutcome } from "../store.ts";
import { append, refuseRecord } from "./append.ts";
import { openDeliveries, readEnvelope, record } from "./deliveries.ts";
import { holdingNewest } from "./lease.ts";
import { Refusal } from "./refusal.ts";
import { finish } from "./settle.ts";
import type { Transaction } from "./transaction.ts";

export function sendHandoff(tx: Transaction, operation: SendHandoff): SendOutcome {
  const workspace = tx.workspace(operation.workspace);
  const own = operation.settles && holdingNewest(tx, workspace, operation.settles);
  if (own !== undefined && own.kind !== "held") return own;
  if (own !== undefined && own.delivery.state !== "accepted") {
    return { kind: "lease_lost", delivery: own.delivery };
  }
  const refused = refuse(tx, workspace, operation);
  if (refused !== undefined) return refused;
  const { open, inTurn } = lookAhead(tx, workspace, operation);
  if (!isAsSeen(open, operation.extend)) {
    const memory = open && readEnvelope(tx.sql, workspace, open.envelope).memory;
    return { kind: "changed", open: open && memory ? { delivery: open, memory } : undefined };
  }
  const target = { name: operation, workspace };
  const { place, position } = append(tx, target, operation.memory);
  addEnvelope(tx, { workspace, position }, operation);
  if (own !== undefined) {
    const settlement = { kind: "completed" } as const;
    finish(tx, target, { held: own.delivery, settlement, settledBy: place, reason: "" });
    tx.wake(operation.workspace, own.delivery.sender);
  }
  const to = { workspace, position, open, inTurn, at: place.storedAt };
  const { delivery, superseded } = deliver(tx, to, operation);
  tx.wake(operation.workspace, delivery.state === "ready" ? delivery.receiver : delivery.holder);
  return { kind: "sent", place, delivery, superseded };
}

function refuse(
  tx: Transaction,
  workspace: number,
  operation: SendHandoff,
): SendOutcome | undefined {
  const { receiver } = operation.delivery;
  const known = tx.agent(workspace, receiver);
  if (known === undefined) return { kind: "unknown_receiver", receiver };
  if (known.status === "disabled") return { kind: "receiver_disabled", receiver };
  for (const envelope of operation.envelope.parents) {
    if (tx.sql.envelopeExists.get(workspace, envelope) === undefined) {
      return { kind: "missing_parent", envelope };
    }
  }
  return refuseRecord(tx, workspace, operation.memory);
}

interface Ahead {
  /** The open delivery of the same piece of work: same task, sender, receiver and parent. */
  readonly open: DeliveryRow | undefined;
  /** Whether nothing else of this receiver and task is open before this handoff. */
  readonly inTurn: boolean;
}

/** What is open of this receiver and task: two rows and a probe tell, however many wait. */
function lookAhead(
  tx: Transaction,
  workspace: number,
  { delivery: { receiver }, envelope: { task, sender }, parent, settles }: SendHandoff,
): Ahead {
  // What ends here is not open any more.
  const staysOpen = (row: DeliveryRow) => row.id !== settles?.delivery;
  const [first] = openDeliveries(tx.sql, workspace, { receiver, task, limit: 2 }).filter(staysOpen);
  if (first === undefined) return { open: undefined, inTurn: true };
  if (first.sender === sender && first.parent === parent) return { open: first, inTurn: true };
  const queued = tx.sql.queuedWork.all(workspace, receiver, task, sender, parent).map(deliveryOf);
  return { open: queued.find(staysOpen), inTurn: false };
}

function addEnvelope(
  tx: Transaction,
  at: { workspace: number; position: number },
  { envelope }: SendHandoff,
): void {
  const { changes } = tx.sql.addEnvelope.run(
    at.position,
    at.workspace,
    envelope.id,
    envelope.task,
    envelope.sender,
    envelope.text,
  );
  if (changes === 0) throw new Refusal<SendOutcome>({ kind: "id_taken", id: envelope.id });
}

interface Destination extends Ahead {
  readonly workspace: number;
  readonly position: number;
  readonly at: number;
}

function deliver(
  tx: Transaction,
  to: Destination,
  operation: SendHandoff,
): { delivery: DeliveryRow; superseded: string } {
  const { workspace, position, open } = to;
  if (open === undefined) {
    const delivery = add(tx, { ...to, place: position }, operation);
    record(tx, workspace, { kind: "sent", agent: operation.memory.agent, delivery });
    return { delivery, superseded: "" };
  }
  return operation.extend?.held
    ? { delivery: extendHeld(tx, { ...to, open }, operation), superseded: "" }
    : { delivery: replaceReady(tx, { ...to, open }, operation), superseded: open.id };
}

type Extended = Destination & { readonly open: DeliveryRow };

function extendHeld(
  tx: Transaction,
  { workspace, open, inTurn }: Extended,
  { envelope, memory }: SendHandoff,
): DeliveryRow {
  tx.sql.extendHeld.run(envelope.id, workspace, open.id, open.envelope);
  const delivery = { ...open, inTurn, envelope: envelope.id };
  record(tx, workspace, { kind: "extended", agent: memory.agent, delivery });
  return delivery;
}

/** The new one has the old one's place, and so its turn. */
function replaceReady(tx: Transaction, to: Extended, operation: SendHandoff): DeliveryRow {
  const { workspace, open, at } = to;
  const { agent } = operation.memory;
  tx.sql.supersede.run(at, workspace, open.id, open.envelope);
  record(tx, workspace, { kind: "superseded", agent, delivery: open });
  const delivery = add(tx, { ...to, place: open.place }, operation);
  record(tx, workspace, { kind: "sent", agent, delivery });
  return delivery;
}

function add(
  tx: Transaction,
  to: Omit<Destination, "open" | "position"> & { readonly place: number },
  { delivery, envelope, parent }: SendHandoff,
): DeliveryRow {
  const { changes } = tx.sql.addDelivery.run(
    to.workspace,
    stateNumber("ready"),
    Number(to.inTurn),
    to.place,
    delivery.maxAttempts,
    to.at,
    delivery.id,
    envelope.id,
    parent,
    envelope.task,
    envelope.sender,
    delivery.receiver,
  );
  if (changes === 0) throw new Refusal<SendOutcome>({ kind: "id_taken", id: delivery.id });
  return {
    id: delivery.id,
    envelope: envelope.id,
    task: envelope.task,
    sender: envelope.sender,
    receiver: delivery.receiver,
    parent,
    state: "ready",
    place: to.place,
    inTurn: to.inTurn,
    attempt: 0,
    maxAttempts: delivery.maxAttempts,
    fence: 0,
    leaseUntil: 0,
    readyAt: 0,
    sentAt: to.at,
    seenAt: 0,
    acceptedAt: 0,
    settledAt: 0,
    holder: "",
    instance: "",
    process: "",
    acceptedBy: "",
    settledBy: "",
  };
}
