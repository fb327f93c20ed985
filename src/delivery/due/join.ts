/**
 * Joins: a handoff that opens when all (or any, or n) of several other handoffs have completed. It gets their
 * results, and their envelopes as parents.
 *
 * A join waits in its receiver's inbox from the start. Each delivery it waits for lists it as a follower, so
 * that the process that settles the last one opens the join. If that process dies in between, a later recheck
 * opens it.
 */

import { canonicalJson } from "../../base/digest.ts";
import { openReportOf } from "../../history/failure-decisions.ts";
import { endOfLine } from "../../history/line-end.ts";
import { entriesForReopening } from "../../ledger/closed-tasks.ts";
import { SYSTEM } from "../../memory/system-author.ts";
import { parseEnvelope } from "../../store/parse-envelope.ts";
import { type DeliveryRow, isOpen } from "../../store/rows.ts";
import type { DeliveryWithEnvelopeRow } from "../../store/store.ts";
import { RETRY, tryWrite } from "../../workspace/retry.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import { guardOf, moveDeliveries } from "./moves.ts";
import { openDelivery, resultOf, scheduleRecheck } from "./open-delivery.ts";
import { deadLetterStopped } from "./report-dead-letter.ts";

/** Records on each delivery that `follower` waits for it. Deliveries that have ended are skipped. */
export async function addFollower(
  workspace: Workspace,
  follower: string,
  deliveries: readonly string[],
): Promise<void> {
  for (const id of deliveries) await addFollowerTo(workspace, follower, id);
}

async function addFollowerTo(workspace: Workspace, follower: string, id: string): Promise<void> {
  const { store, name } = workspace;
  await tryWrite(async () => {
    const found = await store.findDelivery(name, id);
    if (found === undefined || !isOpen(found.delivery.state)) return undefined;
    const { delivery } = found;
    if (delivery.followers.split(" ").includes(follower)) return undefined;
    const followers = [delivery.followers, follower].filter(Boolean).join(" ");
    const asSeen = { ...guardOf(delivery), followers: delivery.followers };
    const move = { delivery: id, seen: asSeen, to: delivery.state, followers };
    const moves = [{ ...move, event: "postponed" as const }];
    const moved = await moveDeliveries(workspace, { agent: SYSTEM, moves });
    return moved === undefined ? RETRY : undefined;
  }); // If it changes constantly and all retries fail, the next recheck finds it.
}

/** Opens the joins that waited for a delivery that has ended, where possible. */
export async function openJoinsOf(workspace: Workspace, ended: DeliveryRow): Promise<void> {
  const { store, name } = workspace;
  for (const id of ended.followers.split(" ").filter(Boolean)) {
    const join = await store.findDelivery(name, id);
    if (join !== undefined) await openJoin(workspace, join);
  }
}

/** Opens a join if enough of its handoffs have completed; dead-letters it if that has become impossible. */
export async function openJoin(workspace: Workspace, join: DeliveryWithEnvelopeRow): Promise<void> {
  const { delivery } = join;
  const envelope = parseEnvelope(workspace, join.envelope);
  // A dead-lettered join still opens if what it waited for was retried and completed.
  const waits = delivery.state === "scheduled" || delivery.state === "dead";
  if (!waits || envelope.joins === undefined || envelope.results !== undefined) return;
  const { deliveries, need } = envelope.joins;
  const found = await findLineEnds(workspace, delivery.id, deliveries);
  const completed = found.filter((each) => each.delivery.state === "completed");
  const open = found.filter((each) => isOpen(each.delivery.state));
  if (completed.length >= need) return openJoined(workspace, join, completed);
  if (delivery.state === "dead") return;
  const isPossible =
    completed.length + open.length >= need ||
    completed.length + open.length + (await countUndecided(workspace, found)) >= need;
  if (!isPossible) {
    const states = Object.fromEntries(found.map((each) => [each.delivery.id, each.delivery.state]));
    return deadLetterJoin(workspace, join, { reason: "join_impossible", states });
  }
  await scheduleRecheck(workspace, delivery);
}

/** Counts deliveries that were given up and may still be retried, because a decision about them is open. */
async function countUndecided(
  workspace: Workspace,
  found: readonly DeliveryWithEnvelopeRow[],
): Promise<number> {
  const ended = found.filter(({ delivery: { state } }) => state === "dead" || state === "expired");
  const undecided = await Promise.all(
    ended.map(({ delivery }) => openReportOf(workspace, delivery)),
  );
  return undecided.filter((report) => report !== undefined).length;
}

/**
 * Returns the current end of each line it waits for; a line that was handed on is followed to its new end.
 */
async function findLineEnds(
  workspace: Workspace,
  follower: string,
  ids: readonly string[],
): Promise<DeliveryWithEnvelopeRow[]> {
  const ends = async (): Promise<DeliveryWithEnvelopeRow[]> => {
    const found = await Promise.all(ids.map((id) => endOfLine(workspace, id)));
    return found.filter((each) => each !== undefined);
  };
  const found = await ends();
  const further = found.map(({ delivery }) => delivery.id).filter((id) => !ids.includes(id));
  if (further.length === 0) return found;
  await addFollower(workspace, follower, further);
  return ends(); // Read again: one of them may have ended before the follower was recorded.
}

async function openJoined(
  workspace: Workspace,
  join: DeliveryWithEnvelopeRow,
  completed: readonly DeliveryWithEnvelopeRow[],
): Promise<void> {
  const { joins, task } = parseEnvelope(workspace, join.envelope);
  const outcome = await openDelivery(workspace, join, {
    lines: completed,
    inherits: completed.map((each) => each.envelope.task),
    results: await Promise.all(completed.map((each) => resultOf(workspace, each))),
    content: `Opened "${task}": ${completed.length} of ${joins?.deliveries.length} handoffs have completed.`,
    // A dead-lettered join does not keep its task open, so the task may have been closed meanwhile.
    ...(join.delivery.state === "dead" && { entries: await entriesForReopening(workspace, task) }),
  });
  if (outcome === "unsealable") await deadLetterJoin(workspace, join, { reason: "unsealable" });
}

/** Dead-letters a join that can never open: too many handoffs ended otherwise, or the envelope is full. */
async function deadLetterJoin(
  workspace: Workspace,
  join: DeliveryWithEnvelopeRow,
  why: { readonly reason: string; readonly states?: Readonly<Record<string, string>> },
): Promise<void> {
  await deadLetterStopped(workspace, join, canonicalJson(why, "invalid_input"));
}
