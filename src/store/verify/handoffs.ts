/** Verifies envelopes against the handoff records that vouch for them, and deliveries against both. */
import {
  DELIVERY_STATES,
  type DeliveryRow,
  type DeliveryState,
  type DeliveryStep,
  type EnvelopeRow,
  isHeld,
  isOpen,
  publicationMark,
  roleInbox,
  type TrailStep,
} from "../rows.ts";
import type { Audit, RecordFields } from "./audit.ts";
import { auditBody, writtenDigest } from "./redactions.ts";

/** Final states, each with the verbs of the records that lead to it. */
const FINAL_VERBS: ReadonlyMap<DeliveryState, readonly TrailStep["verb"][]> = new Map([
  ["completed", ["complete"]],
  ["declined", ["decline"]],
  ["cancelled", ["cancel", "discard"]],
]);

/** Verbs of records that leave a delivery open, or leave the decision to its policy. */
const NON_FINAL_VERBS: readonly TrailStep["verb"][] = [
  ...(["fail", "ask", "answer", "redrive", "reroute", "reconstruct", "open"] as const),
];

interface EnvelopeFields {
  readonly id: string;
  readonly task: string;
  readonly from: { readonly agent: string };
  readonly to: { readonly agent?: string; readonly role?: string; readonly channel?: string };
  readonly parents: readonly string[];
  readonly policy?: { readonly deadline?: number };
  readonly joins?: unknown;
  readonly after?: unknown;
  readonly failure?: unknown;
  readonly refs?: readonly { readonly id: string; readonly digest: string }[];
}

/** Compares every envelope with the digest in its handoff record, or with the stub a redaction left. */
export async function auditEnvelopes(audit: Audit): Promise<void> {
  for await (const row of audit.source.envelopes()) {
    audit.count("envelopes");
    await audit.examine(row.id, () => auditEnvelope(audit, row));
  }
}

async function auditEnvelope(audit: Audit, row: EnvelopeRow): Promise<void> {
  const vouched = (await handoffRecord(audit, row))?.envelope;
  audit.equal(row.id, "memory", { is: row.id, was: vouched?.id });
  auditBody(audit, row, vouched?.digest);
  const sealed = audit.read<EnvelopeFields>(row);
  if (sealed === undefined) return;
  audit.equal(row.id, "id", { is: row.id, was: sealed.id });
  audit.equal(row.id, "task", { is: row.task, was: sealed.task });
  audit.equal(row.id, "sender", { is: row.sender, was: sealed.from.agent });
  await auditReferences(audit, row.id, sealed.refs ?? []);
}

/** Compares each reference with the record it points to; a redacted record keeps the digest it had. */
async function auditReferences(
  audit: Audit,
  envelope: string,
  refs: NonNullable<EnvelopeFields["refs"]>,
): Promise<void> {
  for (const [i, { id, digest }] of refs.entries()) {
    const stored = await audit.source.memory(id);
    const is = stored && writtenDigest(stored);
    audit.equal(envelope, `refs[${i}].digest`, { is, was: digest });
  }
}

/** Returns the handoff record on the chain, which contains the envelope's digest. */
async function handoffRecord(audit: Audit, row: EnvelopeRow): Promise<RecordFields | undefined> {
  const record = await audit.source.memory(row.memory);
  return record && audit.read<RecordFields>(record);
}

/** Compares every delivery with its envelope, its attempts and the records that accepted and settled it. */
export async function auditDeliveries(audit: Audit): Promise<void> {
  const open: DeliveryRow[] = [];
  for await (const row of audit.source.deliveries()) {
    audit.count("deliveries");
    if (isOpen(row.state)) open.push(row);
    if (!DELIVERY_STATES.includes(row.state)) audit.found(row.id, "state", `unknown: ${row.state}`);
    await audit.examine(row.id, () => auditDelivery(audit, row));
  }
  auditTurns(audit, open);
}

async function auditDelivery(audit: Audit, row: DeliveryRow): Promise<void> {
  const envelope = await audit.source.envelope(row.envelope);
  if (envelope === undefined) audit.found(row.id, "envelope", `${row.envelope} is missing`);
  else await auditAddress(audit, row, envelope);
  await auditAttempts(audit, row);
  await auditAcceptance(audit, row);
  await auditSettlement(audit, row);
}

/** Checks that of a receiver's open deliveries of a task exactly the first is in turn. */
function auditTurns(audit: Audit, open: readonly DeliveryRow[]): void {
  for (const received of Map.groupBy(open, (row) => row.receiver).values()) {
    for (const queue of Map.groupBy(received, (row) => row.task).values()) {
      const first = queue.reduce((a, b) => (b.place < a.place ? b : a));
      for (const row of queue) {
        audit.equal(row.id, "inTurn", { is: row.inTurn, was: row === first });
      }
    }
  }
}

async function auditAddress(audit: Audit, row: DeliveryRow, envelope: EnvelopeRow): Promise<void> {
  const sealed = audit.read<EnvelopeFields>(envelope);
  audit.equal(row.id, "task", { is: row.task, was: envelope.task });
  audit.equal(row.id, "sender", { is: row.sender, was: envelope.sender });
  const role = sealed?.to.role;
  const addressed = sealed?.to.agent ?? (role === undefined ? undefined : roleInbox(role));
  const receiver = audit.receivers.get(row.id) ?? addressed;
  audit.equal(row.id, "receiver", { is: row.receiver, was: receiver });
  // A deadline can be removed, but not moved.
  if (row.deadline !== 0) {
    audit.equal(row.id, "deadline", { is: row.deadline, was: sealed?.policy?.deadline ?? 0 });
  }
  const trail = (await handoffRecord(audit, envelope))?.trail ?? [];
  const step = trail.find((each) => concerns(each, row.id));
  if (step === undefined)
    return audit.found(row.id, "id", `is not in the trail of ${envelope.memory}`);
  if (!SENDING_VERBS.includes(step.verb)) return; // The delivery is older than this envelope.
  // An envelope that joined open work lists that work first among its parents, and its origin second.
  const joined = step.verb === "extend" || (step.verb === "send" && step.instead !== undefined);
  const isApart =
    step.verb === "publish" ||
    [sealed?.joins, sealed?.after, sealed?.failure].some((each) => each !== undefined);
  const parent = isApart ? publicationMark(row.envelope) : sealed?.parents[joined ? 1 : 0];
  audit.equal(row.id, "parent", { is: row.parent, was: parent ?? "" });
}

/** Verbs of steps that create a delivery or join one; only their envelopes determine the parent. */
const SENDING_VERBS: readonly TrailStep["verb"][] = ["send", "extend", "publish"];

function concerns(step: TrailStep, delivery: string): boolean {
  if (step.verb === "publish") return step.deliveries.some(([id]) => id === delivery);
  return (
    step.delivery === delivery &&
    (SENDING_VERBS.includes(step.verb) || NON_FINAL_VERBS.includes(step.verb))
  );
}

/**
 * Checks that every claim is an attempt: ended attempts have a row, and the last attempt may be in progress
 * or completed.
 */
async function auditAttempts(audit: Audit, row: DeliveryRow): Promise<void> {
  const ended = await audit.source.attempts(row.id);
  for (const [i, { attempt }] of ended.entries()) {
    audit.equal(row.id, `attempts[${i}]`, { is: attempt, was: i + 1 });
  }
  const last = isHeld(row.state) || row.state === "completed" ? 1 : 0;
  audit.equal(row.id, "attempt", { is: row.attempt, was: ended.length + last });
  audit.equal(row.id, "fence", { is: row.fence, was: row.attempt });
  if (row.holder !== "" && !audit.agents.has(row.holder)) {
    audit.found(row.id, "holder", `"${row.holder}" is not registered`);
  }
  if (row.attempt === 0) {
    audit.equal(row.id, "holder", { is: row.holder, was: "" });
    audit.equal(row.id, "instance", { is: row.instance, was: "" });
  }
  for (const follower of row.followers.split(" ").filter(Boolean)) {
    const known = await audit.source.delivery(follower);
    if (known === undefined) audit.found(row.id, "followers", `${follower} is missing`);
  }
}

/** Checks the delivery against the record that accepted it. */
async function auditAcceptance(audit: Audit, row: DeliveryRow): Promise<void> {
  const record = row.acceptedBy === "" ? undefined : await audit.source.memory(row.acceptedBy);
  audit.equal(row.id, "acceptedAt", { is: row.acceptedAt, was: record?.storedAt ?? 0 });
  const authored = record && audit.read<RecordFields>(record);
  const step = authored?.trail?.find(
    (each): each is DeliveryStep => each.verb !== "publish" && each.delivery === row.id,
  );
  if (row.acceptedBy !== "" && step?.verb !== "accept") {
    audit.found(row.id, "acceptedBy", `${row.acceptedBy} did not accept this delivery`);
  }
  if (row.state === "accepted" && step?.attempt !== row.attempt) {
    audit.found(row.id, "acceptedBy", `attempt ${row.attempt} was not accepted`);
  }
  if (authored === undefined || step?.attempt !== row.attempt) return;
  audit.equal(row.id, "holder", { is: row.holder, was: authored.agent });
  audit.equal(row.id, "instance", { is: row.instance, was: authored.instance });
}

/** Checks the delivery's final state against the record that settled it. */
async function auditSettlement(audit: Audit, row: DeliveryRow): Promise<void> {
  if (isOpen(row.state)) audit.equal(row.id, "settledAt", { is: row.settledAt, was: 0 });
  else if (row.settledAt === 0) audit.found(row.id, "settledAt", "is missing");
  const replaced = row.state === "superseded";
  if (replaced && !audit.replaced.has(row.id))
    audit.found(row.id, "state", "no delivery replaced it");
  const endings = FINAL_VERBS.get(row.state);
  if (row.settledBy === "") {
    if (endings !== undefined) audit.found(row.id, "settledBy", "is missing");
    return;
  }
  const record = await audit.source.memory(row.settledBy);
  const trail = (record && audit.read<RecordFields>(record))?.trail;
  const step = trail?.find((each) => each.verb !== "publish" && each.delivery === row.id);
  if (step === undefined || !(endings ?? NON_FINAL_VERBS).includes(step.verb)) {
    audit.found(row.id, "settledBy", `${row.settledBy} did not settle this delivery`);
  }
  // A delivery replaced while it waited for a retry keeps the record of its failed attempt.
  if (!isOpen(row.state) && !replaced) {
    audit.equal(row.id, "settledAt", { is: row.settledAt, was: record?.storedAt });
  }
}
