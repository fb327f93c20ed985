/**
 * Keeping the ledger: what is read of it when a handoff is planned, and what is written of it with the
 * handoff. Only what changes is written, so a hop that adds nothing and releases nothing writes nothing.
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

/** What a task began with. */
type Beginning = Pick<StoredLedger, "begun" | "brief" | "intent">;

/** The intents a handoff owes: of the tops of its family, then of its own task. */
export function intentsOf({ origins, kept, task }: ResolvedLedger): LedgerIntent[] {
  const { intent, brief } = kept ?? {};
  const own = intent === undefined ? [] : [{ task, intent, ...(brief && { brief }) }];
  return [...origins, ...own];
}

/** The original intents that a handoff says in other words, word for word, one below the other. */
export function originOf(intents: readonly LedgerIntent[], said: string): string | undefined {
  const others = [...new Map(intents.map((each) => [each.intent, each])).values()].filter(
    ({ intent }) => intent !== said && intent !== "",
  );
  const texts = others.map(({ intent }) => intent);
  const whole = texts.join("\n\n");
  if (texts.length === 0 || whole.length <= FORMAT_LIMITS.textLength) return whole || undefined;
  const room = FORMAT_LIMITS.textLength - MORE_ORIGINS_NOTE.length;
  let fits = texts.length;
  while (fits > 1 && texts.slice(0, fits).join("\n\n").length > room) fits--;
  const first = texts.slice(0, fits).join("\n\n");
  return first.length > room ? first : `${first}${MORE_ORIGINS_NOTE}`;
}

/** Where there is no room for all of them. */
const MORE_ORIGINS_NOTE = "\n\n(There are more: see `origins` of the task's ledger.)";

export interface LedgerUpdate {
  readonly family: ResolvedLedger;
  /** What it begins with, where it begins now. */
  readonly beginning: Beginning;
  readonly carried: CarriedItems;
  readonly releases: readonly CheckedRelease[];
  /** It goes into the queue with this. */
  readonly queue?: StoredQueueState | undefined;
}

/** What is written of it; undefined when nothing changes. */
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
    // Of a task in the queue it is always written: it may be about to be closed.
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

/** Nothing where there is none: most ledgers of short tasks have no progress to keep. */
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
    hint: "Release items that are settled, or continue in a child task: it inherits the ledger.",
    details: { limit: "ledgerItems", max, actual },
  });
}
