/**
 * Opens a handoff that waited for other handoffs (join.ts) or for tasks: seals it again with their results,
 * and with their envelopes as parents. Until then it cannot be claimed.
 */

import { clip } from "../../base/clip.ts";
import { isBatonError } from "../../base/errors.ts";
import { FORMAT_LIMITS } from "../../base/limits.ts";
import type { Envelope } from "../../envelope/schema.ts";
import { reseal, type SealedEnvelope } from "../../envelope/seal.ts";
import { unknownFields } from "../../envelope/unknown-fields.ts";
import { refreshCarriedFields } from "../../ledger/reseal.ts";
import { memoryOf } from "../../memory/record.ts";
import { SYSTEM, systemAuthor } from "../../memory/system-author.ts";
import { parseEnvelope } from "../../store/parse-envelope.ts";
import type { DeliveryRow } from "../../store/rows.ts";
import type { DeliveryWithEnvelopeRow, PutEntry } from "../../store/store.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import { lapse } from "../settings/policy.ts";
import { decisionRecord, guardOf, moveDeliveries, newEnvelopeOf, trailStepOf } from "./moves.ts";

/**
 * A waiting handoff is rechecked in case a notification was lost: soon at first, then less and less often.
 */
const MIN_RECHECK_MS = 5_000;
const MAX_RECHECK_MS = 3_600_000;

/** Returns whether tasks must be done before it begins and their results have not arrived yet. */
export const awaitsTasks = ({ after, results }: Pick<Envelope, "after" | "results">): boolean =>
  after !== undefined && results === undefined;

/** The result of a handoff or task that was waited for. */
export type AwaitedResult = NonNullable<Envelope["results"]>[number];

/** What a handoff is opened with. */
export interface OpenRequest {
  /** The deliveries that have completed. */
  readonly lines: readonly DeliveryWithEnvelopeRow[];
  readonly results: readonly AwaitedResult[];
  /** The tasks that it inherits the ledgers of. */
  readonly inherits: readonly string[];
  /** The content of the record. */
  readonly content: string;
  /** Entries written in the same operation; if one of them has changed, the handoff does not open. */
  readonly entries?: readonly PutEntry[];
}

/**
 * Opens a waiting handoff. Returns `changed` if it changed meanwhile, and `unsealable` if the envelope has no
 * space even for the names of what it waited for.
 */
export async function openDelivery(
  workspace: Workspace,
  { delivery, envelope: row }: DeliveryWithEnvelopeRow,
  { lines, results, inherits, content, entries }: OpenRequest,
): Promise<"opened" | "changed" | "unsealable"> {
  const waited = parseEnvelope(workspace, row);
  const from = { ...waited, ...(await refreshCarriedFields(workspace, waited, inherits)) };
  const parents = lines.map((each) => each.envelope.id);
  const read = lines.map((each) => parseEnvelope(workspace, each.envelope));
  const sealed = sealWith(workspace, withUnknown(from, read), { parents, results });
  if (sealed === undefined) return "unsealable";
  const author = await systemAuthor(workspace);
  const record = {
    type: "handoff",
    task: from.task,
    content: content,
    relations: [
      { kind: "continues-from" as const, to: row.memory },
      ...results.map(({ memory }) => ({ kind: "derived-from" as const, to: memory })),
    ],
  };
  const trail = [trailStepOf(delivery, "open")];
  const moved = await moveDeliveries(workspace, {
    agent: SYSTEM,
    memory: decisionRecord(workspace, author, record, { trail, sealed }),
    envelope: newEnvelopeOf(sealed),
    ...(entries && { entries }),
    moves: [
      {
        delivery: delivery.id,
        seen: guardOf(delivery),
        to: "ready",
        event: "opened",
        lapseMs: lapse(from.policy, 0),
      },
    ],
  });
  return moved === undefined ? "changed" : "opened";
}

/** Carries over fields of the lines that this version does not know; where they differ, the first line's. */
function withUnknown(from: Envelope, lines: readonly Envelope[]): Envelope {
  const unknown = lines.toReversed().flatMap((line) => Object.entries(unknownFields(line)));
  return { ...Object.fromEntries(unknown), ...from };
}

interface AwaitedLines {
  readonly parents: readonly string[];
  readonly results: readonly AwaitedResult[];
}

/**
 * Seals the envelope with all results, or with as much of each as fits: the full results are in the records
 * it names. Returns undefined if there is no space even for their names.
 */
function sealWith(
  workspace: Workspace,
  from: Envelope,
  { parents, results }: AwaitedLines,
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
      return reseal(from, { ...joined, results: fitting }, workspace);
    } catch (error) {
      if (!isBatonError(error)) throw error; // Too large or invalid content: retry with less.
    }
  }
  return undefined;
}

/** Returns the result of a completed delivery. */
export async function resultOf(
  { store, name }: Workspace,
  { delivery }: DeliveryWithEnvelopeRow,
): Promise<AwaitedResult> {
  const [row] = await store.readMemories(name, [delivery.settledBy]);
  const memory = row && memoryOf(row);
  const outputs = memory?.data?.["outputs"] as AwaitedResult["outputs"];
  return {
    agent: delivery.holder,
    delivery: delivery.id,
    memory: delivery.settledBy,
    ...(outputs && { outputs }),
    ...(memory?.content && { summary: clip(memory.content, SUMMARY) }), // Absent if it was redacted.
    task: delivery.task,
  };
}

/** Characters of a result's summary; the record contains all of it. */
const SUMMARY = 2_000;

/** Schedules the next recheck of a waiting delivery, after half its waiting time; changes nothing else. */
export async function scheduleRecheck(workspace: Workspace, delivery: DeliveryRow): Promise<void> {
  const waited = workspace.clock.now() - delivery.sentAt;
  const lapseMs = Math.min(MAX_RECHECK_MS, Math.max(MIN_RECHECK_MS, Math.floor(waited / 2)));
  const asSeen = { ...guardOf(delivery), lapseAt: delivery.lapseAt };
  const move = { delivery: delivery.id, seen: asSeen, to: delivery.state };
  const moves = [{ ...move, event: "postponed" as const, lapseMs }];
  await moveDeliveries(workspace, { agent: SYSTEM, moves });
}
