/**
 * Checks the references of a handoff at every read. Records never change, so a reference is fresh until
 * another record supersedes or corrects its target; then the newest record is returned instead, marked as
 * stale. A target that is missing, redacted or quarantined without a replacement is a gap: it is looked up
 * again at every read, and the work continues without it.
 */
import { setTimeout } from "node:timers/promises";
import { isBatonError } from "../../base/errors.ts";
import type { Envelope } from "../../envelope/schema.ts";
import { chunksOf } from "../../memory/quarantine/downstream.ts";
import { marksOf, type QuarantineMark } from "../../memory/quarantine/quarantine-mark.ts";
import { readVisible } from "../../memory/read.ts";
import { type Memory, memoryOf } from "../../memory/record.ts";
import { findSupersessions } from "../../memory/supersession.ts";
import type { ViewGap } from "../../memory/view-gap.ts";
import { visibilityOf } from "../../memory/visibility.ts";
import { isQuarantined, type Visibility } from "../../store/visibility.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import type { Freshness } from "./view.ts";

type Reference = Envelope["refs"][number];

/** A reference and its current record. */
export interface ResolvedReference {
  readonly ref: Reference;
  /** The record that was sent, or the newest one that superseded it. */
  readonly memory: Memory;
  readonly freshness: Exclude<Freshness, "gone">;
  /** Id of the record that was sent; present if another superseded it. */
  readonly insteadOf?: string;
}

/** The references of a handoff as they are now. */
export interface ResolvedReferences {
  /** In the order they were sent; then gaps that can be resolved now. */
  readonly resolved: readonly ResolvedReference[];
  readonly gaps: readonly ViewGap[];
}

/** Resolves the references and earlier gaps of a handoff. Retries while the store is unavailable. */
export async function resolveReferences(
  workspace: Workspace,
  refs: Envelope["refs"],
  gaps: readonly ViewGap[] = [],
): Promise<ResolvedReferences> {
  const named = new Set(refs.map(({ id }) => id));
  const wanted: ReferenceOrGap[] = [...refs, ...gaps.filter(({ id }) => !named.has(id))];
  if (wanted.length === 0) return { resolved: [], gaps: [] };
  return retryWhileUnavailable(workspace, () => queryReferences(workspace, wanted));
}

/** A reference that was sent with its digest, or one that could not be resolved so far. */
type ReferenceOrGap = Reference | ViewGap;

const isGap = (wanted: ReferenceOrGap): wanted is ViewGap => "reason" in wanted;

async function queryReferences(
  workspace: Workspace,
  wanted: readonly ReferenceOrGap[],
): Promise<ResolvedReferences> {
  const ids = [...new Set(wanted.map(({ id }) => id))];
  const sight = await visibilityOf(workspace);
  const [read, became] = await Promise.all([
    readAll(workspace, ids),
    findSupersessions(workspace, sight, ids),
  ]);
  const resolved: ResolvedReference[] = [];
  const unresolved: UnresolvedReference[] = [];
  for (const each of wanted) {
    const { id } = each;
    const sent = read.get(id);
    const { replaced = false, by } = became.get(id) ?? {};
    const memory = replaced ? by : isUnchanged(each, sent) ? sent : undefined;
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

interface UnresolvedReference {
  readonly id: string;
  /** The record with that id; undefined if there is none. */
  readonly sent: Memory | undefined;
  readonly replaced: boolean;
}

async function readAll(
  workspace: Workspace,
  ids: readonly string[],
): Promise<ReadonlyMap<string, Memory>> {
  const found = new Map<string, Memory>();
  for (const chunk of chunksOf(ids)) {
    for (const row of await readVisible(workspace, chunk)) found.set(row.id, memoryOf(row));
  }
  return found;
}

const isShowable = ({ id, redacted }: Memory, sight: Visibility): boolean =>
  redacted === undefined && !isQuarantined(id, sight);

const isUnchanged = (wanted: ReferenceOrGap, sent: Memory | undefined): boolean =>
  isGap(wanted) || sent === undefined || sent.digest === wanted.digest;

/** Returns why there is nothing to show, without quoting stored text, which is read from the record. */
export function gapReason(
  sent: Memory | undefined,
  mark: QuarantineMark | undefined,
  replaced = false,
): string {
  if (mark !== undefined) return `quarantined by ${mark.by}`;
  if (sent === undefined) return "missing: no record has this id";
  if (sent.redacted !== undefined) return `redacted by ${sent.redacted.by}`;
  return replaced
    ? "superseded, and the record that replaced it is gone"
    : "the record with this id is not the one that was sent";
}

/** Delays between attempts while the store is unavailable: a brief outage is not reported. */
const RETRY_DELAYS_MS = [50, 200, 800] as const;

async function retryWhileUnavailable<T>({ random }: Workspace, run: () => Promise<T>): Promise<T> {
  for (const pause of RETRY_DELAYS_MS) {
    try {
      return await run();
    } catch (error) {
      if (!(isBatonError(error) && error.retryable)) throw error;
      await setTimeout(pause * (0.5 + random() / 2));
    }
  }
  return run();
}
