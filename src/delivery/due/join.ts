/**
 * Joining: one handoff that opens when all (or any, or n) of several others have completed, with
 * their results and their envelopes as parents. It waits in its receiver's line from the start; the
 * ones it waits for know it, so that whoever settles the last opens it. If that one dies in between,
 * it is looked at again after a while.
 */

import { canonicalJson } from "../../base/digest.ts";
import { openReportOf } from "../../history/failure-decisions.ts";
import { endOfLine } from "../../history/line-end.ts";
import { entriesForReopening } from "../../ledger/closed-tasks.ts";
import { SYSTEM } from "../../memory/agents.ts";
import { parseEnvelope } from "../../store/parse-envelope.ts";
import { type DeliveryRow, isOpen } from "../../store/rows.ts";
import type { DeliveryWithEnvelopeRow } from "../../store/store.ts";
import { RETRY, tryWrite } from "../../workspace/retry.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import { guardOf, moveDeliveries } from "./moves.ts";
import { openDelivery, resultOf, scheduleRecheck } from "./open-delivery.ts";
import { deadLetterStopped } from "./report-dead-letter.ts";

/** Lets each of them know who waits for it. What has ended already needs no telling. */
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
    const moves = [{ ...move, event: "awaited" as const }];
    const moved = await moveDeliveries(workspace, { agent: SYSTEM, moves });
    return moved === undefined ? RETRY : undefined;
  }); // It is in constant change: the look after a while will find it.
}

/** A delivery has ended: what waited for it may open. */
export async function openJoinsOf(workspace: Workspace, ended: DeliveryRow): Promise<void> {
  const { store, name } = workspace;
  for (const id of ended.followers.split(" ").filter(Boolean)) {
    const join = await store.findDelivery(name, id);
    if (join !== undefined) await openJoin(workspace, join);
  }
}

/** Opens a handoff that waits for others, if enough of them have completed; parks it if never. */
export async function openJoin(workspace: Workspace, join: DeliveryWithEnvelopeRow): Promise<void> {
  const { delivery } = join;
  const envelope = parseEnvelope(workspace, join.envelope);
  // One that was parked opens all the same when what it waited for was tried again, and completed.
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

/** What was given up may be tried again, as long as somebody is to decide about it. */
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

/** Where each line stands that it waits for. One that was handed on goes on, and is followed. */
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
  return ends(); // One of them may have ended before it knew who waits for it.
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
    said: `"${task}" opens: ${completed.length} of ${joins?.deliveries.length} have completed.`,
    // One that was parked holds up nobody who closes its task meanwhile.
    ...(join.delivery.state === "dead" && { entries: await entriesForReopening(workspace, task) }),
  });
  if (outcome === "unsealable") await deadLetterJoin(workspace, join, { reason: "unsealable" });
}

/** It will never open: too many of those it waits for ended otherwise, or it has no room for them. */
async function deadLetterJoin(
  workspace: Workspace,
  join: DeliveryWithEnvelopeRow,
  why: { readonly reason: string; readonly states?: Readonly<Record<string, string>> },
): Promise<void> {
  await deadLetterStopped(workspace, join, canonicalJson(why, "invalid_input"));
}
