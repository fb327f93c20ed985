/**
 * Joining: one handoff that opens when all (or any, or n) of several others have completed, with
 * their results and their envelopes as parents. It waits in its receiver's line from the start; the
 * ones it waits for know it, so that whoever settles the last opens it. If that one dies in between,
 * it is looked at again after a while.
 */

import { canonicalJson } from "../canonical.ts";
import { clip } from "../clip.ts";
import { carriedNow } from "../coordination/ledger/recarry.ts";
import type { Envelope } from "../envelope/schema.ts";
import { resealed, type SealedEnvelope } from "../envelope/seal.ts";
import { unknownFields } from "../envelope/unknown.ts";
import { isBatonError } from "../errors.ts";
import { FORMAT_LIMITS } from "../limits.ts";
import { SYSTEM } from "../memory/agents.ts";
import { memoryOf } from "../memory/record.ts";
import { parseEnvelope } from "../store/parse-envelope.ts";
import { type DeliveryRow, isOpen } from "../store/rows.ts";
import type { Claimed } from "../store/store.ts";
import type { Workspace } from "../store/workspace.ts";
import { endOfLine } from "./line-end.ts";
import { decisionRecord, moveDeliveries, rowOf, seen, stepOf } from "./moves.ts";
import { lapse } from "./policy.ts";
import { systemAuthor } from "./system.ts";

/** A join that waits is looked at in case nobody called: soon, and the longer it waits the less. */
const SOONEST_LOOK_MS = 5_000;
const LATEST_LOOK_MS = 3_600_000;
const ROUNDS = 20;

/** Lets each of them know who waits for it. What has ended already needs no telling. */
export async function follow(
  workspace: Workspace,
  follower: string,
  deliveries: readonly string[],
): Promise<void> {
  for (const id of deliveries) await followOne(workspace, follower, id);
}

async function followOne(workspace: Workspace, follower: string, id: string): Promise<void> {
  const { store, name } = workspace;
  for (let round = 0; round < ROUNDS; round++) {
    const found = await store.findDelivery(name, id);
    if (found === undefined || !isOpen(found.delivery.state)) return;
    const { delivery } = found;
    if (delivery.followers.split(" ").includes(follower)) return;
    const followers = [delivery.followers, follower].filter(Boolean).join(" ");
    const asSeen = { ...seen(delivery), followers: delivery.followers };
    const move = { delivery: id, seen: asSeen, to: delivery.state, followers };
    const moves = [{ ...move, event: "awaited" as const }];
    if ((await moveDeliveries(workspace, { agent: SYSTEM, moves })) !== undefined) return;
  } // It is in constant change: the look after a while will find it.
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
export async function openJoin(workspace: Workspace, join: Claimed): Promise<void> {
  const { delivery } = join;
  const envelope = parseEnvelope(workspace, join.envelope);
  // One that was parked opens all the same when what it waited for was tried again, and completed.
  const waits = delivery.state === "scheduled" || delivery.state === "dead";
  if (!waits || envelope.joins === undefined || envelope.results !== undefined) return;
  const { deliveries, need } = envelope.joins;
  const found = await awaited(workspace, delivery.id, deliveries);
  const completed = found.filter((each) => each.delivery.state === "completed");
  const open = found.filter((each) => isOpen(each.delivery.state));
  if (completed.length >= need) return openWith(workspace, join, completed);
  if (delivery.state === "dead") return;
  if (completed.length + open.length < need) {
    const states = Object.fromEntries(found.map((each) => [each.delivery.id, each.delivery.state]));
    return parkJoin(workspace, delivery, { reason: "join_impossible", states });
  }
  await lookLater(workspace, delivery);
}

/** Where each line stands that it waits for. One that was handed on goes on, and is followed. */
async function awaited(
  workspace: Workspace,
  follower: string,
  ids: readonly string[],
): Promise<Claimed[]> {
  const ends = async (): Promise<Claimed[]> => {
    const found = await Promise.all(ids.map((id) => endOfLine(workspace, id)));
    return found.filter((each) => each !== undefined);
  };
  const found = await ends();
  const further = found.map(({ delivery }) => delivery.id).filter((id) => !ids.includes(id));
  if (further.length === 0) return found;
  await follow(workspace, follower, further);
  return ends(); // One of them may have ended before it knew who waits for it.
}

async function openWith(
  workspace: Workspace,
  { delivery, envelope: row }: Claimed,
  completed: readonly Claimed[],
): Promise<void> {
  const waited = parseEnvelope(workspace, row);
  const tasks = completed.map((each) => each.envelope.task);
  const from = { ...waited, ...(await carriedNow(workspace, waited, tasks)) };
  const results = await Promise.all(completed.map((each) => resultOf(workspace, each)));
  const parents = completed.map((each) => each.envelope.id);
  const lines = completed.map((each) => parseEnvelope(workspace, each.envelope));
  const sealed = sealWith(workspace, withUnknown(from, lines), { parents, results });
  if (sealed === undefined) return parkJoin(workspace, delivery, { reason: "unsealable" });
  const author = await systemAuthor(workspace);
  const record = {
    type: "handoff",
    task: from.task,
    content: `"${from.task}" opens: ${results.length} of ${from.joins?.deliveries.length} have completed.`,
    relations: [
      { kind: "continues-from" as const, to: row.memory },
      ...results.map(({ memory }) => ({ kind: "derived-from" as const, to: memory })),
    ],
  };
  const trail = [stepOf(delivery, "open")];
  await moveDeliveries(workspace, {
    agent: SYSTEM,
    memory: decisionRecord(workspace, author, record, { trail, sealed }),
    envelope: rowOf(sealed),
    moves: [
      {
        delivery: delivery.id,
        seen: seen(delivery),
        to: "ready",
        event: "opened",
        lapseMs: lapse(from.policy, 0),
      },
    ],
  });
}

/** What nobody here knows of the lines goes on in what they come to; where they differ, the first's. */
function withUnknown(from: Envelope, lines: readonly Envelope[]): Envelope {
  const unknown = lines.toReversed().flatMap((line) => Object.entries(unknownFields(line)));
  return { ...Object.fromEntries(unknown), ...from };
}

type JoinedResult = NonNullable<Envelope["results"]>[number];

interface Joined {
  readonly parents: readonly string[];
  readonly results: readonly JoinedResult[];
}

/**
 * With all of the results, or as much of each as fits: they stand in the records that are named.
 * Undefined when the envelope has no room even for their names.
 */
function sealWith(
  workspace: Workspace,
  from: Envelope,
  { parents, results }: Joined,
): SealedEnvelope | undefined {
  const all = [...new Set([from.id, ...parents, ...from.parents])];
  const joined = {
    id: workspace.ids.mint("envelope"),
    parents: all.slice(0, FORMAT_LIMITS.parents),
    metadata: { ...from.metadata, createdAt: workspace.clock.now() },
  };
  const named = results.map(({ outputs: _o, summary: _s, ...result }) => result);
  const summarized = results.map(({ outputs: _, ...result }) => result);
  for (const fitting of [[...results], summarized, named]) {
    try {
      return resealed(from, { ...joined, results: fitting }, workspace);
    } catch (error) {
      if (!isBatonError(error)) throw error; // Too large, or what no envelope may hold: with less.
    }
  }
  return undefined;
}

async function resultOf({ store, name }: Workspace, { delivery }: Claimed): Promise<JoinedResult> {
  const [row] = await store.readMemories(name, [delivery.settledBy]);
  const memory = row && memoryOf(row);
  const outputs = memory?.data?.["outputs"] as JoinedResult["outputs"];
  return {
    agent: delivery.holder,
    delivery: delivery.id,
    memory: delivery.settledBy,
    ...(outputs && { outputs }),
    ...(memory?.content && { summary: clip(memory.content, SUMMARY) }), // None where it was redacted.
    task: delivery.task,
  };
}

/** Of a result's summary; all of it stands in the record. */
const SUMMARY = 2_000;

/** It will never open: too many of those it waits for ended otherwise, or it has no room for them. */
async function parkJoin(
  workspace: Workspace,
  delivery: DeliveryRow,
  why: { readonly reason: string; readonly states?: Readonly<Record<string, string>> },
): Promise<void> {
  const reason = canonicalJson(why, "invalid_input");
  await moveDeliveries(workspace, {
    agent: SYSTEM,
    moves: [
      {
        delivery: delivery.id,
        seen: seen(delivery),
        to: "dead",
        event: "dead",
        ends: { outcome: "stopped", reason },
      },
    ],
  });
}

async function lookLater(workspace: Workspace, delivery: DeliveryRow): Promise<void> {
  const waited = workspace.clock.now() - delivery.sentAt;
  const lapseMs = Math.min(LATEST_LOOK_MS, Math.max(SOONEST_LOOK_MS, Math.floor(waited / 2)));
  const asSeen = { ...seen(delivery), lapseAt: delivery.lapseAt };
  const move = { delivery: delivery.id, seen: asSeen, to: delivery.state };
  const moves = [{ ...move, event: "awaited" as const, lapseMs }];
  await moveDeliveries(workspace, { agent: SYSTEM, moves });
}
