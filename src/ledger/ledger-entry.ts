/**
 * Builds the stored ledger entry of a task from a handoff's additions and releases. Only changes are
 * written: a hop that adds and releases nothing writes no entry.
 */

import { BatonError } from "../base/errors.ts";
import { FORMAT_LIMITS } from "../base/limits.ts";
import type { Envelope } from "../envelope/schema.ts";
import {
  LEDGER,
  type Provenance,
  type StoredConstraint,
  type StoredDecision,
  type StoredLedger,
  type StoredQueueState,
} from "../memory/stored-ledger.ts";
import type { PutEntry } from "../store/store.ts";
import { toEntryText } from "../workspace/entries.ts";
import type { AddedItem, CarriedItems, CheckedRelease } from "./carry.ts";
import type { LedgerIntent, ResolvedLedger } from "./ledger.ts";
import type { NewProgress } from "./progress.ts";

/** The fields that a new ledger starts with. */
type Beginning = Pick<StoredLedger, "begun" | "brief" | "intent">;

/** Returns the original intents of a handoff: of the topmost parent tasks, then of the task itself. */
export function intentsOf({ origins, kept, task }: ResolvedLedger): LedgerIntent[] {
  const { intent, brief } = kept ?? {};
  const own = intent === undefined ? [] : [{ task, intent, ...(brief && { brief }) }];
  return [...origins, ...own];
}

/**
 * Returns the original intents that differ from the handoff's intent, verbatim and separated by blank lines;
 * undefined if there are none. Ends with a note if not all of them fit into `FORMAT_LIMITS.textLength`.
 */
export function originOf(intents: readonly LedgerIntent[], said: string): string | undefined {
  const others = [...new Map(intents.map((each) => [each.intent, each])).values()].filter(
    ({ intent }) => intent !== said && intent !== "",
  );
  const texts = others.map(({ intent }) => intent);
  const whole = texts.join("\n\n");
  if (texts.length === 0 || whole.length <= FORMAT_LIMITS.textLength) return whole || undefined;
  const mostLength = FORMAT_LIMITS.textLength - MORE_ORIGINS_NOTE.length;
  let fits = texts.length;
  while (fits > 1 && texts.slice(0, fits).join("\n\n").length > mostLength) fits--;
  const first = texts.slice(0, fits).join("\n\n");
  return first.length > mostLength ? first : `${first}${MORE_ORIGINS_NOTE}`;
}

/** Appended when not all original intents fit. */
const MORE_ORIGINS_NOTE = "\n\n(There are more: see `origins` in the task's ledger.)";

/** A change to the ledger of a task. */
export interface LedgerUpdate {
  readonly family: ResolvedLedger;
  /** The initial fields, used if the task has no ledger yet. */
  readonly beginning: Beginning;
  readonly carried: CarriedItems;
  readonly releases: readonly CheckedRelease[];
  /** The queue state; set when the task is put into the queue. */
  readonly queue?: StoredQueueState | undefined;
}

/**
 * Returns the entry to write; undefined if nothing changes. Throws `limit_exceeded` if the ledger would have
 * more than `FORMAT_LIMITS.ledgerItems` items.
 */
export function ledgerEntry(
  { family, beginning, carried, releases, queue }: LedgerUpdate,
  said: Provenance & { readonly record: string },
): PutEntry | undefined {
  const { kept, revision, task } = family;
  const { added } = carried;
  const base = kept ?? { ...beginning, constraints: [], decisions: [], from: [], released: [] };
  const own = new Set(base.decisions.map(({ id }) => id));
  const widened = added.widened.filter(({ id }) => own.has(id));
  const isSame =
    kept !== undefined &&
    // The entry of a queued task is always written, so that a concurrent close of the task is detected.
    (queue ?? kept.queue) === undefined &&
    kept.from.length === family.from.length &&
    [added.constraints, added.decisions, added.progress, widened, releases].every(
      ({ length }) => length === 0,
    );
  if (isSame) return undefined;
  const isOff = (kind: CheckedRelease["kind"], { id }: { readonly id: string }): boolean =>
    releases.some((each) => each.kind === kind && each.id === id);
  const options = new Map(added.widened.map((each) => [each.id, each.options]));
  const next: StoredLedger = {
    ...base,
    constraints: [
      ...base.constraints.filter((each) => !isOff("constraint", each)),
      ...added.constraints.map((each) => storedConstraintOf(each, said)),
    ],
    decisions: [
      ...base.decisions.filter((each) => !isOff("decision", each)),
      ...added.decisions.map((each) => storedDecisionOf(each, said)),
    ].map((each) => ({ ...each, options: options.get(each.id) ?? each.options })),
    from: family.from,
    ...progressOf(base, { added: added.progress, isOff, said }),
    ...(queue && { queue }),
    released: [
      ...base.released,
      ...releases.map((each) => ({ ...each, at: said.at, by: said.by, record: said.record })),
    ],
  };
  refuseTooLong(next, task);
  return { kind: LEDGER, name: task, value: toEntryText(next), basedOn: revision };
}

/** Returns the progress after additions and releases; no field if empty, as in most short tasks. */
function progressOf(
  { progress = [] }: Pick<StoredLedger, "progress">,
  {
    added,
    isOff,
    said,
  }: {
    readonly added: readonly NewProgress[];
    readonly isOff: (kind: CheckedRelease["kind"], item: { readonly id: string }) => boolean;
    readonly said: Provenance & { readonly record: string };
  },
): Pick<StoredLedger, "progress"> {
  const now = [
    ...progress.filter((each) => !isOff(each.kind, each)),
    ...added.map((each) => ({ ...said, ...each })),
  ];
  return now.length === 0 ? {} : { progress: now };
}

function storedConstraintOf(
  { id, rule, source, said }: AddedItem<Envelope["constraints"][number]>,
  now: Provenance,
): StoredConstraint {
  return { ...(said ?? now), id, rule, ...(source === undefined ? {} : { source }) };
}

function storedDecisionOf(
  { id, question, options, owner, said }: AddedItem<Envelope["decisions"][number]>,
  now: Provenance,
): StoredDecision {
  return {
    ...(said ?? now),
    id,
    options,
    question,
    ...(owner === undefined ? {} : { owner }),
  };
}

function refuseTooLong(
  { constraints, decisions, progress = [], released }: StoredLedger,
  task: string,
): void {
  const actual = constraints.length + decisions.length + progress.length + released.length;
  const max = FORMAT_LIMITS.ledgerItems;
  if (actual <= max) return;
  throw new BatonError("limit_exceeded", {
    message: `The ledger of "${task}" would have ${actual} items; the limit is ${max}.`,
    path: progress.length > actual / 2 ? "done" : "constraints",
    hint: "Release settled items, or continue in a child task, which inherits the ledger.",
    details: { limit: "ledgerItems", max, actual },
  });
}
