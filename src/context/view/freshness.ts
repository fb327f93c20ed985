/**
 * Freshness: whether what a handoff refers to is still what it was when it was sent. A record never
 * changes, so it is fresh until another supersedes or corrects it; then the newest that holds instead is
 * given, and said to. What is missing, redacted or quarantined, with nothing in its place, is a gap: looked
 * for again each time somebody asks, and never a reason to stop.
 */
import { setTimeout } from "node:timers/promises";
import { isBatonError } from "../../base/errors.ts";
import type { Envelope } from "../../envelope/schema.ts";
import { holdingOf } from "../../memory/holding.ts";
import { chunksOf } from "../../memory/quarantine/downstream.ts";
import { marksOf, type QuarantineMark } from "../../memory/quarantine/quarantine-mark.ts";
import { readOpen } from "../../memory/read.ts";
import { type Memory, memoryOf } from "../../memory/record.ts";
import { sightOf } from "../../memory/sight.ts";
import type { ViewGap } from "../../memory/view-gap.ts";
import { isQuarantined, type Sight } from "../../store/sight.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import type { Freshness } from "./view.ts";

type Reference = Envelope["refs"][number];

/** A reference, and what holds of it now. */
export interface ResolvedReference {
  readonly ref: Reference;
  /** The freshest: what was sent, or what holds in its place. */
  readonly memory: Memory;
  readonly freshness: Exclude<Freshness, "gone">;
  /** The record that was sent, where another holds in its place. */
  readonly insteadOf?: string;
}

export interface Resolved {
  /** In the order they were sent; then what was a gap and has turned up. */
  readonly resolved: readonly ResolvedReference[];
  readonly gaps: readonly ViewGap[];
}

/** What a handoff refers to, as it is now. */
export async function resolveReferences(
  workspace: Workspace,
  refs: Envelope["refs"],
  gaps: readonly ViewGap[] = [],
): Promise<Resolved> {
  const named = new Set(refs.map(({ id }) => id));
  const wanted: Wanted[] = [...refs, ...gaps.filter(({ id }) => !named.has(id))];
  if (wanted.length === 0) return { resolved: [], gaps: [] };
  return patiently(workspace, () => lookUp(workspace, wanted));
}

/** A reference that was sent with its digest, or one that could not be resolved so far. */
type Wanted = Reference | ViewGap;

const isGap = (wanted: Wanted): wanted is ViewGap => "reason" in wanted;

async function lookUp(workspace: Workspace, wanted: readonly Wanted[]): Promise<Resolved> {
  const ids = [...new Set(wanted.map(({ id }) => id))];
  const sight = await sightOf(workspace);
  const [read, became] = await Promise.all([
    readAll(workspace, ids),
    holdingOf(workspace, sight, ids),
  ]);
  const resolved: ResolvedReference[] = [];
  const unresolved: Unresolved[] = [];
  for (const each of wanted) {
    const { id } = each;
    const sent = read.get(id);
    const { replaced = false, by } = became.get(id) ?? {};
    const memory = replaced ? by : isAsSent(each, sent) ? sent : undefined;
    if (memory === undefined || !isShowable(memory, sight)) {
      unresolved.push({ id, sent, replaced });
      continue;
    }
    const ref = isGap(each) ? { digest: (sent ?? memory).digest, id } : each;
    resolved.push(
      replaced
        ? { ref, memory, freshness: "stale", insteadOf: id }
        : { ref, memory, freshness: "fresh" },
    );
  }
  const missing = unresolved.map(({ id }) => id);
  const marks = await marksOf(workspace, missing);
  return {
    resolved,
    gaps: unresolved.map(({ id, sent, replaced }) => ({
      id,
      reason: gapReason(sent, marks.get(id), replaced),
    })),
  };
}

interface Unresolved {
  readonly id: string;
  /** What stands under the id. */
  readonly sent: Memory | undefined;
  readonly replaced: boolean;
}

async function readAll(
  workspace: Workspace,
  ids: readonly string[],
): Promise<ReadonlyMap<string, Memory>> {
  const found = new Map<string, Memory>();
  for (const chunk of chunksOf(ids)) {
    for (const row of await readOpen(workspace, chunk)) found.set(row.id, memoryOf(row));
  }
  return found;
}

const isShowable = ({ id, redacted }: Memory, sight: Sight): boolean =>
  redacted === undefined && !isQuarantined(id, sight);

const isAsSent = (wanted: Wanted, sent: Memory | undefined): boolean =>
  isGap(wanted) || sent === undefined || sent.digest === wanted.digest;

/** Why there is nothing to show. Without anybody's own words: those are read at the record. */
export function gapReason(
  sent: Memory | undefined,
  mark: QuarantineMark | undefined,
  replaced = false,
): string {
  if (mark !== undefined) return `quarantined by ${mark.by}`;
  if (sent === undefined) return "missing: no record has this id";
  if (sent.redacted !== undefined) return `redacted by ${sent.redacted.by}`;
  return replaced
    ? "superseded, and what took its place is gone"
    : "what stands there is not what was sent";
}

/** Pauses between tries, when the store cannot be reached: an outage of a moment is not told. */
const PAUSES_MS = [50, 200, 800] as const;

async function patiently<T>({ random }: Workspace, run: () => Promise<T>): Promise<T> {
  for (const pause of PAUSES_MS) {
    try {
      return await run();
    } catch (error) {
      if (!(isBatonError(error) && error.retryable)) throw error;
      await setTimeout(pause * (0.5 + random() / 2));
    }
  }
  return run();
}
