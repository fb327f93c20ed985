/**
 * Carries out what is due in a workspace: retries, lost leases, missed accept timeouts, deadlines, reminders,
 * joins and given-up deliveries. Every open hub runs this when something falls due (timers.ts), and so does a
 * process that claims or waits for work. Each decision is one guarded move, so that of several processes at the
 * same moment only one decides.
 */
import { channel } from "node:diagnostics_channel";
import { canonicalJson } from "../../base/digest.ts";
import { isBatonError } from "../../base/errors.ts";
import type { Envelope } from "../../envelope/schema.ts";
import { failureOf } from "../../history/failure.ts";
import { SYSTEM, systemAuthor } from "../../memory/system-author.ts";
import { parseEnvelope } from "../../store/parse-envelope.ts";
import {
  type AttemptRow,
  type DeliveryRow,
  type EventKind,
  isHeld,
  parseText,
} from "../../store/rows.ts";
import type { DeliveryWithEnvelopeRow, Move } from "../../store/store.ts";
import { decideInOrder } from "../../workspace/decision-order.ts";
import { runFollowUp } from "../../workspace/follow-up.ts";
import { onMainBranch, type Workspace } from "../../workspace/workspace.ts";
import { recordStrike } from "../settings/breaker.ts";
import { AT_ONCE_MS, backoff, isGivenUp, isLastAttempt, lapse } from "../settings/policy.ts";
import { nextFallback } from "../settings/receivers.ts";
import { isClockDoubted } from "./clock-doubt.ts";
import { openJoin, openJoinsOf } from "./join.ts";
import { decisionRecord, guardOf, moveDeliveries, newEnvelopeOf, trailStepOf } from "./moves.ts";
import { awaitsTasks } from "./open-delivery.ts";
import { reconstruct } from "./reconstruct.ts";
import { deadLetterOverHopLimit, reportThenDeadLetter } from "./report-dead-letter.ts";

/** Diagnostics channel for deliveries that could not be decided about: `{ delivery, error }`. */
const undecided = channel("batonpass:policy:undecided");

/** Deliveries per read, in the order of their due times: bounds memory, however many are due. */
const BATCH = 100;

/** How to carry out what is due. */
export interface DueOptions {
  /** Processes that ended without settling their deliveries. */
  readonly gone?: readonly string[];
  /** Called between batches; false leaves the rest due. */
  readonly proceed?: () => boolean;
}

const carrying = new WeakMap<object, Promise<number>>();

/**
 * Decides about everything that is due now. Returns how many decisions and retries that were. Concurrent calls
 * share one round.
 */
export function processDue(workspace: Workspace, options: DueOptions = {}): Promise<number> {
  const before = carrying.get(workspace.root);
  if (before !== undefined) {
    return options.gone === undefined ? before : before.then(() => processDue(workspace, options));
  }
  const round = processAllDue(onMainBranch(workspace), options).finally(() =>
    carrying.delete(workspace.root),
  );
  carrying.set(workspace.root, round);
  return round;
}

async function processAllDue(
  workspace: Workspace,
  { gone = [], proceed = () => true }: DueOptions,
): Promise<number> {
  const { store, name } = workspace;
  let count = 0;
  for (;;) {
    const { now, due: all, retries } = await store.listDue({ workspace: name, gone, limit: BATCH });
    const isDoubted = isClockDoubted(workspace, { now, due: all });
    // The end of a process is certain whatever the time is.
    const due = isDoubted ? all.filter((each) => gone.includes(each.delivery.process)) : all;
    const decided = await decideInOrder(due, (each, turn) =>
      tryHandleDue({ ...workspace, turn }, each, { now, gone }),
    );
    if (retries > 0) await store.makeRetriesReady(name); // Afterwards: decisions are guarded by the state.
    count += retries + decided.filter(Boolean).length;
    if (due.length < BATCH || !decided.includes(true) || !proceed()) break;
  }
  await runFollowUp("maintain the queue", () => workspace.duties.tend(workspace));
  return count;
}

/**
 * Handles one delivery. One that cannot be decided about (e.g. damaged) stays due and does not block others.
 */
async function tryHandleDue(
  workspace: Workspace,
  due: DeliveryWithEnvelopeRow,
  moment: DueSnapshot,
): Promise<boolean> {
  try {
    await handleDue(workspace, due, moment);
    return true;
  } catch (error) {
    if (!isBatonError(error)) throw error;
    undecided.publish({ delivery: due.delivery.id, error });
    return false;
  }
}

interface DueSnapshot {
  readonly now: number;
  readonly gone: readonly string[];
}

async function handleDue(
  workspace: Workspace,
  due: DeliveryWithEnvelopeRow,
  moment: DueSnapshot,
): Promise<void> {
  const { delivery } = due;
  const envelope = parseEnvelope(workspace, due.envelope);
  const { policy } = envelope;
  if (envelope.failure !== undefined && delivery.receiver === SYSTEM) {
    workspace.turn?.yield();
    return workspace.duties.coordinate(workspace, delivery.id);
  }
  if (delivery.deadline !== 0 && delivery.deadline <= moment.now)
    return handleDeadline(workspace, due);
  if (isHeld(delivery.state) && isLost(delivery, moment))
    return handleLostLease(workspace, due, moment);
  const waits = envelope.joins !== undefined && envelope.results === undefined;
  if (waits && delivery.state === "scheduled") return openJoin(workspace, due);
  if (awaitsTasks(envelope) && delivery.state === "scheduled") {
    workspace.turn?.yield();
    return workspace.duties.openWaiting(workspace, due);
  }
  if (isGivenUp(delivery)) {
    const isTooLong = envelope.hop > workspace.limits.hops && delivery.attempt === 0;
    return isTooLong ? deadLetterOverHopLimit(workspace, due) : giveUp(workspace, due);
  }
  if (policy?.acceptMs === undefined) {
    return postpone(workspace, delivery, { event: "reminded", lapseMs: policy?.remindMs ?? 0 });
  }
  if (delivery.inTurn) return handleUnaccepted(workspace, due, policy.acceptMs);
  // It cannot be accepted while earlier work of its task is open: its accept timeout has not started.
  await postpone(workspace, delivery, { event: "postponed", lapseMs: policy.acceptMs });
}

const isLost = ({ leaseUntil, process }: DeliveryRow, { now, gone }: DueSnapshot): boolean =>
  leaseUntil <= now || gone.includes(process);

/** Expires a delivery with a past deadline, even if it is held. A failure report goes to the hub instead. */
async function handleDeadline(workspace: Workspace, due: DeliveryWithEnvelopeRow): Promise<void> {
  const { delivery } = due;
  const envelope = parseEnvelope(workspace, due.envelope);
  const { failure } = envelope;
  // With a coordinator it counts as an attempt even if no agent held it: each attempt is decided about once.
  const isAttempt =
    isHeld(delivery.state) || (await workspace.duties.isCoordinated(workspace, envelope));
  const ends = isAttempt ? toAttemptEnd("expired", { reason: "deadline" }) : undefined;
  if (failure !== undefined) return giveUp(workspace, due, ends);
  const ended = { attempt: attemptsWith(delivery, ends), ends, late: true } as const;
  const isOver = await reportThenDeadLetter(workspace, due, ended, async () => {
    const asSeen = { ...guardOf(delivery), followers: delivery.followers };
    const move = {
      delivery: delivery.id,
      seen: asSeen,
      to: "expired",
      event: "deadline_passed",
    } as const;
    const moves = [{ ...move, ...(ends && { ends }) }];
    return (await moveDeliveries(workspace, { agent: SYSTEM, moves })) !== undefined;
  });
  if (isOver) await openFollowers(workspace, due);
}

/** Handles a lost lease: the next holder gets the delivery, with what the last one left. */
async function handleLostLease(
  workspace: Workspace,
  due: DeliveryWithEnvelopeRow,
  { now }: DueSnapshot,
): Promise<void> {
  const { delivery } = due;
  const reason = leaseLossReason(delivery, now);
  const ends = toAttemptEnd("expired", reason === "" ? undefined : { reason });
  if (isLastAttempt(delivery)) return giveUp(workspace, due, ends);
  const { policy } = parseEnvelope(workspace, due.envelope);
  await redeliver(workspace, due, {
    to: "ready",
    event: "expired",
    ends,
    lapseMs: lapse(policy, 0),
  });
}

/** Returns why a lease was lost. One that lasted to the end of the hold was renewed until then. */
function leaseLossReason({ leaseUntil, holdUntil }: DeliveryRow, now: number): string {
  if (leaseUntil > now) return "process ended";
  return holdUntil <= leaseUntil ? "held too long" : "";
}

/** Handles a missed accept timeout, which counts as an attempt. */
async function handleUnaccepted(
  workspace: Workspace,
  due: DeliveryWithEnvelopeRow,
  acceptMs: number,
): Promise<void> {
  const { delivery } = due;
  const ends = toAttemptEnd("accept_timeout", { acceptMs });
  const tried = attemptsWith(delivery, ends);
  const { policy, failure } = parseEnvelope(workspace, due.envelope);
  // A coordinator that has not accepted a failure report gets no second chance: others wait for the decision.
  const isOver = tried >= delivery.maxAttempts || failure !== undefined;
  if (isOver) return giveUp(workspace, due, ends);
  const delayMs = backoff({ attempt: tried }, policy, workspace.random);
  await redeliver(workspace, due, {
    to: "scheduled",
    event: "accept_timeout",
    ends,
    delayMs,
    lapseMs: lapse(policy, delayMs),
  });
}

/** Schedules the next check; changes nothing else. */
async function postpone(
  workspace: Workspace,
  delivery: DeliveryRow,
  { event, lapseMs }: { readonly event: EventKind; readonly lapseMs: number },
): Promise<void> {
  await moveDeliveries(workspace, {
    agent: SYSTEM,
    moves: [
      {
        delivery: delivery.id,
        seen: { ...guardOf(delivery), lapseAt: delivery.lapseAt },
        to: delivery.state,
        event,
        lapseMs,
      },
    ],
  });
}

type AttemptEnd = NonNullable<Move["ends"]>;

const toAttemptEnd = (outcome: AttemptRow["outcome"], reason: object | undefined): AttemptEnd => ({
  outcome,
  reason: reason === undefined ? "" : canonicalJson(reason, "invalid_input"),
});

/** Returns the number of attempts including the one that ends now, even if it was never claimed. */
const attemptsWith = ({ attempt, state }: DeliveryRow, ends: AttemptEnd | undefined): number =>
  attempt + (ends !== undefined && !isHeld(state) ? 1 : 0);

/**
 * Gives up on a receiver that has used all attempts: moves the delivery to the next fallback, or dead-letters
 * it. `ends` is set if the last attempt is still to be recorded.
 */
export async function giveUp(
  workspace: Workspace,
  due: DeliveryWithEnvelopeRow,
  ends?: AttemptEnd,
): Promise<void> {
  const { delivery } = due;
  const envelope = parseEnvelope(workspace, due.envelope);
  if (envelope.failure !== undefined) return rerouteToHub(workspace, due, ends);
  const permanent = ends === undefined && (await hasFailedPermanently(workspace, delivery.id));
  let next = permanent ? undefined : nextFallback(envelope, delivery.receiver);
  while (next !== undefined) {
    const outcome = await reroute(workspace, due, { envelope, next, ends });
    if (outcome === "done") return afterExhaustion(workspace, due, { parked: false });
    if (outcome === "changed") return;
    next = nextFallback(envelope, next);
  }
  const ended = { attempt: attemptsWith(delivery, ends), ends };
  const parked = await reportThenDeadLetter(workspace, due, ended, () =>
    redeliver(workspace, due, { to: "dead", event: "dead", ...(ends && { ends }) }),
  );
  if (parked) await afterExhaustion(workspace, due, { parked, permanent });
}

/** Moves a failure report that no agent decided about to the hub, which then decides. */
async function rerouteToHub(
  workspace: Workspace,
  due: DeliveryWithEnvelopeRow,
  ends: AttemptEnd | undefined,
): Promise<void> {
  const { delivery } = due;
  await systemAuthor(workspace);
  const moved = await redeliver(workspace, due, {
    to: "ready",
    event: "rerouted",
    receiver: SYSTEM,
    deadline: 0,
    lapseMs: AT_ONCE_MS,
    ...(ends && { ends }),
  });
  if (moved) await workspace.duties.coordinate(workspace, delivery.id);
}

/** Returns whether the last holder reported a permanent failure, which a retry cannot fix. */
async function hasFailedPermanently(
  { store, name }: Workspace,
  delivery: string,
): Promise<boolean> {
  const last = (await store.readAttempts(name, delivery)).at(-1);
  return last?.outcome === "failed" && failureOf(last).class === "permanent";
}

interface Rerouting {
  readonly envelope: Envelope;
  readonly next: string;
  readonly ends: AttemptEnd | undefined;
}

/** Moves a delivery to the next receiver; `refused` if that one no longer exists or is disabled. */
async function reroute(
  workspace: Workspace,
  due: DeliveryWithEnvelopeRow,
  { envelope: { policy }, next, ends }: Rerouting,
): Promise<"done" | "changed" | "refused"> {
  const { delivery } = due;
  const tried = attemptsWith(delivery, ends);
  try {
    const moved = await redeliver(workspace, due, {
      to: "ready",
      event: "rerouted",
      receiver: next,
      maxAttempts: tried + (policy?.attempts ?? workspace.limits.attempts),
      lapseMs: lapse(policy, 0),
      ...(ends && { ends }),
    });
    return moved ? "done" : "changed";
  } catch (error) {
    if (!isBatonError(error)) throw error;
    if (error.code === "unknown_agent" || error.code === "unknown_role") return "refused";
    if (error.code === "agent_disabled") return "refused";
    throw error;
  }
}

/** Runs what follows when the attempts of a receiver are used up: opens joins, counts a breaker strike. */
export async function afterExhaustion(
  workspace: Workspace,
  ended: DeliveryWithEnvelopeRow,
  { parked, permanent = false }: { readonly parked: boolean; readonly permanent?: boolean },
): Promise<void> {
  const { delivery } = ended;
  if (parked) await openFollowers(workspace, ended);
  if (permanent) return;
  await runFollowUp(`strike ${delivery.id}`, () =>
    recordStrike(workspace, delivery.receiver, delivery.id),
  );
}

/** Opens what waited for a delivery that is over. */
async function openFollowers(
  workspace: Workspace,
  { delivery }: DeliveryWithEnvelopeRow,
): Promise<void> {
  await runFollowUp(`join ${delivery.id}`, () => openJoinsOf(workspace, delivery));
}

/** Returns why a holder lost the delivery, as readable text. */
function endReasonText(ends: AttemptEnd | undefined): string {
  const { reason = "its lease ran out" } = ends?.reason
    ? parseText<{ reason?: string }>({ id: "the attempt", text: ends.reason })
    : {};
  return reason;
}

/**
 * Moves a delivery, with an envelope reconstructed from what its last holder left. False if it changed
 * meanwhile.
 */
async function redeliver(
  workspace: Workspace,
  due: DeliveryWithEnvelopeRow,
  change: Omit<Move, "delivery" | "seen">,
): Promise<boolean> {
  const { delivery } = due;
  const { leaseUntil } = delivery;
  const sealed = await reconstruct(workspace, due, endReasonText(change.ends));
  const { followers } = delivery; // Guarded, so that a join that began to wait meanwhile is not lost.
  const asSeen = { ...guardOf(delivery), leaseUntil, followers };
  const moves = [{ delivery: delivery.id, seen: asSeen, ...change }];
  if (sealed === undefined && change.receiver === undefined) {
    return (await moveDeliveries(workspace, { agent: SYSTEM, moves })) !== undefined;
  }
  const author = await systemAuthor(workspace);
  const trail = [
    ...(sealed ? [trailStepOf(delivery, "reconstruct")] : []),
    ...(change.receiver === undefined ? [] : [trailStepOf(delivery, "reroute", change.receiver)]),
  ];
  const record = sealed ? reconstructionOf(due) : reroutingOf(due, change.receiver ?? "");
  const memory = decisionRecord(workspace, author, record, { trail, sealed });
  const moved = await moveDeliveries(workspace, {
    agent: SYSTEM,
    memory,
    ...(sealed && { envelope: newEnvelopeOf(sealed) }),
    moves,
  });
  return moved !== undefined;
}

const reconstructionOf = ({ delivery, envelope }: DeliveryWithEnvelopeRow) => ({
  type: "handoff",
  task: delivery.task,
  content: `Reconstructed from the notes of ${delivery.holder}, which stopped responding at "${delivery.task}".`,
  relations: [
    { kind: "continues-from" as const, to: envelope.memory },
    { kind: "summarizes" as const, to: delivery.acceptedBy },
  ],
});

const reroutingOf = ({ delivery, envelope }: DeliveryWithEnvelopeRow, receiver: string) => ({
  type: "decision",
  task: delivery.task,
  content: `Rerouted "${delivery.task}" to ${receiver}: ${delivery.receiver} has used all attempts.`,
  relations: [{ kind: "continues-from" as const, to: envelope.memory }],
});
