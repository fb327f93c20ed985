/**
 * Sending, in one transaction: handoff record with its relations, envelope, delivery, events, and
 * (when an agent hands on) the completion of its own delivery. All of it or nothing.
 */

import { isAsSeen } from "../extension.ts";
import type { DeliveryRow } from "../rows.ts";
import type { SendHandoff, SendOutcome } from "../store.ts";
import { append, refuseRecord } from "./append.ts";
import { deliveryOf, stateNumber } from "./codecs.ts";
import { readEnvelope, record } from "./deliveries.ts";
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
  const open = findOpen(tx, workspace, operation);
  if (!isAsSeen(open, operation.extend)) {
    const memory = open && readEnvelope(tx.sql, workspace, open.envelope).memory;
    return { kind: "changed", open: open && memory ? { delivery: open, memory } : undefined };
  }
  const { place, position } = append(tx, { name: operation, workspace }, operation.memory);
  addEnvelope(tx, { workspace, position }, operation);
  if (own !== undefined) {
    const settlement = { kind: "completed" } as const;
    finish(tx, workspace, { held: own.delivery, settlement, settledBy: place, reason: "" });
    tx.wake(operation.workspace, own.delivery.sender);
  }
  const { delivery, superseded } = deliver(
    tx,
    { workspace, position, open, at: place.storedAt },
    operation,
  );
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
    if (tx.sql.envelopeExists.get(envelope, workspace) === undefined) {
      return { kind: "missing_parent", envelope };
    }
  }
  return refuseRecord(tx, workspace, operation.memory);
}

/** The open delivery of the same piece of work: same task, sender, receiver and parent. */
function findOpen(
  tx: Transaction,
  workspace: number,
  { delivery, envelope, parent, settles }: SendHandoff,
): DeliveryRow | undefined {
  return tx.sql.openOfTask
    .all(workspace, delivery.receiver, envelope.task)
    .map(deliveryOf)
    .filter((open) => open.id !== settles?.delivery) // What ends here is not open any more.
    .find((open) => open.sender === envelope.sender && open.parent === parent);
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

function deliver(
  tx: Transaction,
  to: { workspace: number; position: number; open: DeliveryRow | undefined; at: number },
  operation: SendHandoff,
): { delivery: DeliveryRow; superseded: string } {
  const { workspace, position, open, at } = to;
  if (open === undefined) {
    const delivery = add(tx, { workspace, place: position, at }, operation);
    record(tx, workspace, { kind: "sent", agent: operation.memory.agent, delivery });
    return { delivery, superseded: "" };
  }
  return operation.extend?.held
    ? { delivery: extendHeld(tx, { workspace, open }, operation), superseded: "" }
    : { delivery: replaceReady(tx, { workspace, open, at }, operation), superseded: open.id };
}

function extendHeld(
  tx: Transaction,
  { workspace, open }: { workspace: number; open: DeliveryRow },
  { envelope, memory }: SendHandoff,
): DeliveryRow {
  tx.sql.extendHeld.run(envelope.id, open.id, open.envelope);
  const delivery = { ...open, envelope: envelope.id };
  record(tx, workspace, { kind: "extended", agent: memory.agent, delivery });
  return delivery;
}

function replaceReady(
  tx: Transaction,
  { workspace, open, at }: { workspace: number; open: DeliveryRow; at: number },
  operation: SendHandoff,
): DeliveryRow {
  tx.sql.supersede.run(at, open.id, open.envelope);
  record(tx, workspace, { kind: "superseded", agent: operation.memory.agent, delivery: open });
  const delivery = add(tx, { workspace, place: open.place, at }, operation);
  record(tx, workspace, { kind: "sent", agent: operation.memory.agent, delivery });
  return delivery;
}

function add(
  tx: Transaction,
  to: { workspace: number; place: number; at: number },
  { delivery, envelope, parent }: SendHandoff,
): DeliveryRow {
  const { changes } = tx.sql.addDelivery.run(
    to.workspace,
    stateNumber("ready"),
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
    acceptedBy: "",
    settledBy: "",
  };
}
