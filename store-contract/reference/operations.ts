/** The write operations. Each first checks every reason to refuse, then makes its changes. */
import { isOpenWorkUnchanged } from "../../src/store/extension.ts";
import { type AgentRow, agentDigest, BREAKER, type DeliveryRow } from "../../src/store/rows.ts";
import {
  type AcceptDelivery,
  type AcceptOutcome,
  type AppendMemories,
  type AppendOutcome,
  type ChainPosition,
  type ClaimDeliveries,
  type ClaimOutcome,
  type DeliveryWithEnvelopeRow,
  IGNORE_BREAKER,
  type Lease,
  type MoveDeliveries,
  type MoveOutcome,
  type PutEntry,
  type PutOutcome,
  type RefusedHandoff,
  type RegisterAgent,
  type RegisterOutcome,
  type RenewOutcome,
  type SendHandoff,
  type SendManyOutcome,
  type SendOutcome,
  type SendRefusal,
  type SettleDelivery,
  type SettleOutcome,
  type Store,
} from "../../src/store/store.ts";
import { KEYS_BRANCH } from "../../src/store/verify/key-history.ts";
import type { Write } from "./write.ts";

export function registerAgent(write: Write, operation: RegisterAgent): RegisterOutcome {
  const { agent, basedOn } = operation;
  for (const name of [agent.id, ...agent.aliases]) {
    const owner = write.agentNamed(name);
    if (owner !== undefined && owner.id !== agent.id) {
      return { kind: "name_taken", name, by: owner.id };
    }
  }
  const current = write.agentNamed(agent.id);
  if ((current?.revision ?? 0) !== basedOn) return { kind: "changed" };
  const sameKey = agent.publicKey === (current?.publicKey ?? "");
  const now = write.keyTime();
  const keyedAt = sameKey ? (current?.keyedAt ?? 0) : now;
  const row = { ...agent, keyedAt, revision: basedOn + 1 };
  const stored: AgentRow = { ...row, digest: agentDigest(row) };
  write.putAgent(stored);
  for (const { branch, memory } of operation.records ?? []) {
    const refused = branch === KEYS_BRANCH ? undefined : write.refuseRecord(branch, memory);
    if (refused !== undefined) return write.takeBack(refused);
    write.append(branch, memory, now);
  }
  return { kind: "registered", agent: stored };
}

export function appendMemories(write: Write, operation: AppendMemories): AppendOutcome {
  const { lease, memories, branch, entries = [], tip } = operation;
  const lost = lease && write.leaseLost(lease);
  if (lost !== undefined) return lost;
  const moved = tip !== undefined && write.tip(tip.branch) !== tip.seq;
  const places: ChainPosition[] = [];
  for (const memory of memories) {
    const refused = write.refuseRecord(branch, memory);
    if (refused !== undefined) return write.takeBack(refused);
    places.push(write.append(branch, memory));
  }
  for (const entry of entries) {
    const current = write.entry(entry.kind, entry.name);
    if ((current?.revision ?? 0) !== entry.basedOn) {
      return write.takeBack({ kind: "entry_changed", entry: current });
    }
  }
  if (moved) return write.takeBack({ kind: "tip_moved" });
  for (const entry of entries) write.putEntry(entry);
  const envelope = lease === undefined ? "" : write.renew(lease).envelope;
  return { kind: "appended", places, envelope };
}

export function putEntry(
  write: Write,
  entry: PutEntry,
  event: Parameters<Store["putEntry"]>[2],
): PutOutcome {
  const current = write.entry(entry.kind, entry.name);
  if ((current?.revision ?? 0) !== entry.basedOn) return { kind: "changed", entry: current };
  const put = write.putEntry(entry);
  if (event !== undefined) write.recordOf(event.kind, event.agent);
  return { kind: "put", entry: put };
}

export function sendHandoff(write: Write, operation: SendHandoff): SendOutcome {
  const checked = checkSend(write, operation);
  return checked.kind === "sendable" ? send(write, operation, checked) : checked;
}

export function sendHandoffs(write: Write, operations: readonly SendHandoff[]): SendManyOutcome {
  const all: SendableHandoff[] = [];
  const refused: RefusedHandoff[] = [];
  for (const [index, operation] of operations.entries()) {
    const checked = checkSend(write, operation);
    if (checked.kind === "sendable") all.push(checked);
    else refused.push({ index, refusal: checked });
  }
  if (refused.length > 0) return { kind: "refused", refused };
  const sent = operations.map((operation, i) => send(write, operation, all[i] as SendableHandoff));
  return { kind: "sent", sent };
}

interface SendableHandoff {
  readonly kind: "sendable";
  readonly own: DeliveryRow | undefined;
  readonly open: DeliveryRow | undefined;
}

function checkSend(write: Write, operation: SendHandoff): SendRefusal | SendableHandoff {
  const { envelope, memory, settles, extend, entries = [] } = operation;
  const lost = settles && write.refuseLease(settles);
  if (lost !== undefined) return lost;
  const own = settles && write.held(settles);
  if (own !== undefined && own.state !== "accepted") {
    return { kind: "lease_lost", delivery: own };
  }
  const [only, ...others] = operation.deliveries;
  const single = others.length === 0 ? only : undefined;
  for (const { receiver } of operation.deliveries) {
    const refused = write.refuseReceiver(receiver);
    if (refused !== undefined) return refused;
  }
  const missing = envelope.parents.find((id) => write.envelope(id) === undefined);
  if (missing !== undefined) return { kind: "missing_parent", envelope: missing };
  const refused = write.refuseRecord(operation.branch, memory);
  if (refused !== undefined) return refused;
  for (const entry of entries) {
    const now = write.entry(entry.kind, entry.name);
    if ((now?.revision ?? 0) !== entry.basedOn) return { kind: "entry_changed", entry: now };
  }
  const open = single && write.sameWork(operation, single);
  if (!isOpenWorkUnchanged(open, extend)) {
    return {
      kind: "changed",
      open: open && { delivery: open, memory: write.envelopeOf(open).memory },
    };
  }
  const breaker = single && write.entry(BREAKER, single.receiver);
  const checksBreaker = single !== undefined && !open && operation.breaker !== IGNORE_BREAKER;
  if (checksBreaker && (breaker?.revision ?? 0) !== operation.breaker) {
    return { kind: "breaker_changed", entry: breaker };
  }
  const taken = write.takenId(operation);
  if (taken !== undefined) return { kind: "id_taken", id: taken };
  return { kind: "sendable", own, open };
}

function send(
  write: Write,
  operation: SendHandoff,
  { own, open }: SendableHandoff,
): Extract<SendOutcome, { kind: "sent" }> {
  const { envelope, memory, branch, entries = [] } = operation;
  const place = write.append(branch, memory);
  write.addEnvelope(envelope, place);
  for (const entry of entries) write.putEntry(entry);
  if (own !== undefined) {
    write.finish(own, { kind: "completed" }, { place, reason: "" });
    write.wake(own.sender);
  }
  return { kind: "sent", place, ...write.deliver(operation, { open, at: place.storedAt }) };
}

export function claimDeliveries(write: Write, operation: ClaimDeliveries): ClaimOutcome {
  const { receiver, accept, limit } = operation;
  const refused = write.refuseAuthor({ agent: receiver, publicKey: operation.publicKey });
  if (refused !== undefined) return refused;
  write.mature();
  const claimed: DeliveryWithEnvelopeRow[] = [];
  for (const candidate of write.claimable(operation)) {
    const delivery = write.claim(candidate, operation);
    const envelope = write.envelopeOf(delivery);
    if (accept === undefined) {
      write.record("claimed", receiver, delivery);
      claimed.push({ delivery, envelope });
      continue;
    }
    const memory = accept({ delivery: { ...delivery, state: "accepted" }, envelope });
    const bad = write.refuseRecord(operation.branch, memory);
    if (bad !== undefined) return write.takeBack(bad);
    const place = write.append(operation.branch, memory);
    const lease = { fence: delivery.fence, envelope: "", leaseMs: operation.leaseMs };
    claimed.push({
      delivery: write.accept({ ...lease, delivery: delivery.id }, place),
      envelope,
    });
  }
  const nextDueMs = claimed.length < limit ? write.nextDue() : Number.POSITIVE_INFINITY;
  return { kind: "claimed", claimed, nextDueMs };
}

export function moveDeliveries(write: Write, operation: MoveDeliveries): MoveOutcome {
  const { moves, memory, envelope, branch, entries = [] } = operation;
  for (const { delivery: id, seen } of moves) {
    const now = write.delivery(id);
    const asSeen =
      now?.state === seen.state &&
      now.fence === seen.fence &&
      now.envelope === seen.envelope &&
      now.leaseUntil === (seen.leaseUntil ?? now.leaseUntil) &&
      now.lapseAt === (seen.lapseAt ?? now.lapseAt) &&
      now.followers === (seen.followers ?? now.followers);
    if (!asSeen) return { kind: "changed", delivery: now };
  }
  for (const { receiver } of moves) {
    const refused = receiver === undefined ? undefined : write.refuseReceiver(receiver);
    if (refused !== undefined) return refused;
  }
  const missing = envelope?.parents.find((id) => write.envelope(id) === undefined);
  if (missing !== undefined) return { kind: "missing_parent", envelope: missing };
  const refused = memory && write.refuseRecord(operation.branch, memory);
  if (refused !== undefined) return refused;
  for (const entry of entries) {
    const now = write.entry(entry.kind, entry.name);
    if ((now?.revision ?? 0) !== entry.basedOn) return { kind: "entry_changed", entry: now };
  }
  if (envelope && write.envelope(envelope.id)) return { kind: "id_taken", id: envelope.id };
  const place = memory && write.append(branch, memory);
  if (envelope && place) write.addEnvelope(envelope, place);
  for (const entry of entries) write.putEntry(entry);
  return {
    kind: "moved",
    deliveries: moves.map((move) => write.move(operation, move, place)),
  };
}

export function acceptDelivery(write: Write, operation: AcceptDelivery): AcceptOutcome {
  const { lease, memory, branch } = operation;
  const lost = write.refuseLease(lease);
  if (lost !== undefined) return lost;
  const claimed = write.held(lease);
  if (claimed.state !== "claimed") return { kind: "lease_lost", delivery: claimed };
  const refused = write.refuseRecord(operation.branch, memory);
  if (refused !== undefined) return refused;
  const place = write.append(branch, memory);
  const delivery = write.accept(lease, place);
  return { kind: "accepted", place, delivery };
}

export function settleDelivery(write: Write, operation: SettleDelivery): SettleOutcome {
  const { lease, memory, settlement, branch, reason } = operation;
  const lost = write.refuseLease(lease);
  if (lost !== undefined) return lost;
  const held = write.held(lease);
  if (!operation.from.includes(held.state)) return { kind: "lease_lost", delivery: held };
  const refused = memory && write.refuseRecord(operation.branch, memory);
  if (refused !== undefined) return refused;
  const place = memory && write.append(branch, memory);
  const delivery = write.finish(held, settlement, { place, reason });
  write.wake(delivery.sender);
  write.wake(delivery.receiver);
  const next = write.optional(() => claimNext(write, operation));
  return { kind: "settled", delivery, ...(next && { next }) };
}

/** Claims and accepts the next delivery after a settlement; undefined if there is none or it is refused. */
function claimNext(
  write: Write,
  { workspace, next }: SettleDelivery,
): DeliveryWithEnvelopeRow | undefined {
  if (next === undefined) return undefined;
  const outcome = claimDeliveries(write, { ...next, workspace, limit: 1 });
  return outcome.kind === "claimed" ? outcome.claimed[0] : undefined;
}

export function renewLease(write: Write, lease: Lease): RenewOutcome {
  const lost = write.leaseLost(lease);
  if (lost !== undefined) return lost;
  return { kind: "renewed", delivery: write.renew(lease) };
}
