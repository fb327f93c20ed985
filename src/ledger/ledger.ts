/**
 * Reads the ledger of a task: original intent, binding constraints, open decisions and progress, which follow
 * the task to its end whatever a hop leaves out. The ledger belongs to the task, so all lines of the task
 * share it. Each handoff reads it again: one query, plus one for each task it inherits from. A child task
 * has the current items of its parents, except those it was released from; its additions stay on the child.
 */

import { clip } from "../base/clip.ts";
import { sha256 } from "../base/digest.ts";
import { BatonError } from "../base/errors.ts";
import { FORMAT_LIMITS } from "../base/limits.ts";
import { AgentName, Slug } from "../envelope/schema.ts";
import {
  LEDGER,
  type Provenance,
  type StoredConstraint,
  type StoredDecision,
  type StoredLedger,
  type StoredProgress,
  type StoredRelease,
  storedLedgerOf,
} from "../memory/stored-ledger.ts";
import type { Store } from "../store/store.ts";
import type { Workspace } from "../workspace/workspace.ts";

/** Names the task that has the item on its ledger: the requested task or one it inherits from. */
interface TaskOwned {
  readonly task: string;
}

export type LedgerConstraint = StoredConstraint & TaskOwned;
export type LedgerDecision = StoredDecision & TaskOwned;
export type LedgerProgress = StoredProgress & TaskOwned;
export type LedgerRelease = StoredRelease & TaskOwned;

/** The original intent of the task itself or of a topmost parent task. */
export interface LedgerIntent extends TaskOwned {
  readonly intent: string;
  /** The memory id of the full text, if the intent was too long for an envelope. */
  readonly brief?: string | undefined;
}

/** The ledger of a task, including inherited items. */
export interface Ledger {
  readonly task: string;
  /** The original intent, verbatim; its first part if `brief` has the full text. */
  readonly intent: string;
  /** The memory id of the full intent; absent if `intent` is complete. */
  readonly brief?: string | undefined;
  /** The handoff that started the task. */
  readonly begun: Provenance;
  /** The original intents of the topmost parent tasks; empty if the task has no parents. */
  readonly origins: readonly LedgerIntent[];
  /** The must-constraints in force. */
  readonly constraints: readonly LedgerConstraint[];
  /** The open decisions. */
  readonly decisions: readonly LedgerDecision[];
  /** What is done, must not be redone or is blocked, until it is released. */
  readonly progress: readonly LedgerProgress[];
  /** The released items with agent and reason, oldest first. */
  readonly released: readonly LedgerRelease[];
  /** The tasks it inherits from directly. */
  readonly from: readonly string[];
}

/** The items in force for a task, and the entry that stores the task's own part. */
export interface ResolvedLedger
  extends Pick<Ledger, "constraints" | "decisions" | "origins" | "progress" | "released"> {
  readonly task: string;
  /** The stored ledger of the task itself; undefined before the task starts. */
  readonly kept: StoredLedger | undefined;
  /** The revision of that entry; 0 if there is none. */
  readonly revision: number;
  readonly from: readonly string[];
  /** All tasks it inherits from, directly or not; ancestors before descendants. */
  readonly inherited: readonly string[];
}

/** Returns the ledger of a task; undefined if the task has none. */
export async function ledgerOf(workspace: Workspace, task: string): Promise<Ledger | undefined> {
  const { kept, revision: _, inherited: __, ...family } = await resolveLedger(workspace, task);
  if (kept === undefined) return undefined;
  const { intent, brief, begun } = kept;
  return { ...family, intent, ...(brief === undefined ? {} : { brief }), begun };
}

/** Returns the empty ledger of a task that was just created, without a query. */
export const newLedger = (task: string): ResolvedLedger => ({
  ...NO_ITEMS,
  task,
  kept: undefined,
  revision: 0,
  from: [],
  inherited: [],
});

/** The most tasks that one ledger reads; more parents than that cannot be followed by a reader either. */
const MAX_TASKS = 256;

/** Where ledgers are read from. */
export interface LedgerSource {
  readonly name: string;
  readonly store: Pick<Store, "findEntry">;
}

/**
 * Returns the items in force for a task, including inherited ones. `parents`: tasks that it is about to
 * inherit from in addition. Throws `limit_exceeded` above `MAX_TASKS` tasks.
 */
export async function resolveLedger(
  { name: workspace, store }: LedgerSource,
  task: string,
  parents: readonly string[] = [],
): Promise<ResolvedLedger> {
  const found = new Map<string, { kept: StoredLedger; revision: number } | undefined>();
  const read = async (name: string): Promise<void> => {
    const entry = await store.findEntry(workspace, LEDGER, name);
    found.set(
      name,
      entry && { kept: normalizeRedacted(storedLedgerOf(entry)), revision: entry.revision },
    );
  };
  const others = parents.filter((name) => name !== task);
  let next: readonly string[] = [task, ...new Set(others)];
  while (next.length > 0) {
    if (found.size + next.length > MAX_TASKS) throw tooManyParents(task);
    await Promise.all(next.map(read));
    const further = next.flatMap((name) => found.get(name)?.kept.from ?? []);
    next = [...new Set(further)].filter((name) => !found.has(name));
  }
  const kept = found.get(task)?.kept;
  const from = [...new Set([...(kept?.from ?? []), ...others])];
  const kin: LedgerLineage = {
    task,
    ledgerOf: (name) => found.get(name)?.kept,
    parentsOf: (name) => (name === task ? from : (found.get(name)?.kept.from ?? [])),
  };
  const revision = found.get(task)?.revision ?? 0;
  return { task, kept, revision, from, inherited: ancestorsOf(kin), ...resolveItems(kin) };
}

/** A task with the stored ledgers of itself and of the tasks it inherits from. */
interface LedgerLineage {
  readonly task: string;
  readonly ledgerOf: (task: string) => StoredLedger | undefined;
  readonly parentsOf: (task: string) => readonly string[];
}

type LedgerItems = Pick<
  ResolvedLedger,
  "constraints" | "decisions" | "origins" | "progress" | "released"
>;

const NO_ITEMS: LedgerItems = {
  constraints: [],
  decisions: [],
  origins: [],
  progress: [],
  released: [],
};

/** Returns the items in force. Each ancestor is read once, however many paths lead to it. */
function resolveItems(kin: LedgerLineage): LedgerItems {
  const all = [...ancestorsOf(kin), kin.task].map((task) => ({ task, kept: kin.ledgerOf(task) }));
  const each = <T>(pick: (kept: StoredLedger) => readonly T[]): (T & TaskOwned)[] =>
    all.flatMap(({ task, kept }) => (kept ? pick(kept) : []).map((item) => ({ ...item, task })));
  const released = each((kept) => kept.released);
  const on = <T extends TaskOwned & { readonly id: string }>(
    items: readonly T[],
    kindOf: (item: T) => StoredRelease["kind"],
    textOf: (item: T) => string,
  ): T[] => {
    const isOn = (item: T): boolean => isInEffect(kin, item, released.filter(isOf(item)));
    const isOf = (item: T) => (off: LedgerRelease) =>
      off.kind === kindOf(item) && off.said === textOf(item) && isIdOrAlternative(item.id, off.id);
    return withUniqueIds(items.filter(isOn), kin.task, textOf);
  };
  return {
    constraints: on(
      each((kept) => kept.constraints),
      () => "constraint",
      ({ rule }) => rule,
    ),
    decisions: on(
      each((kept) => kept.decisions),
      () => "decision",
      ({ question }) => question,
    ),
    progress: on(
      each((kept) => kept.progress ?? []),
      ({ kind }) => kind,
      ({ text }) => text,
    ),
    origins: originsOf(kin),
    released,
  };
}

/** Returns the tasks it inherits from, ancestors before descendants; cycles are cut. */
function ancestorsOf({ task, parentsOf }: LedgerLineage): readonly string[] {
  const seen = new Set([task]);
  const order: string[] = [];
  const visit = (name: string): void => {
    if (seen.has(name)) return;
    seen.add(name);
    parentsOf(name).forEach(visit);
    order.push(name);
  };
  parentsOf(task).forEach(visit);
  return order;
}

/** Returns whether the item reaches the task on at least one path without a release of it. */
function isInEffect(
  { task, parentsOf }: LedgerLineage,
  { task: setIn }: TaskOwned,
  released: readonly LedgerRelease[],
): boolean {
  const off = new Set(released.map((each) => each.task));
  const seen = new Set<string>();
  const leads = (name: string): boolean => {
    if (name === setIn) return true;
    if (off.has(name) || seen.has(name)) return false;
    seen.add(name);
    return parentsOf(name).some(leads);
  };
  return off.size === 0 || leads(task);
}

/** Returns the intents of the topmost tasks: those without parents, or with parents only in a cycle. */
function originsOf({ task, ledgerOf: keptOf, parentsOf }: LedgerLineage): LedgerIntent[] {
  const found = new Map<string, readonly string[]>([[task, []]]);
  const topsOf = (name: string): readonly string[] => {
    const before = found.get(name);
    if (before !== undefined) return before;
    found.set(name, []);
    const further = parentsOf(name).flatMap(topsOf);
    const tops = further.length > 0 || keptOf(name) === undefined ? further : [name];
    found.set(name, [...new Set(tops)]);
    return tops;
  };
  return [...new Set(parentsOf(task).flatMap(topsOf))].flatMap((top) => {
    const { intent, brief } = keptOf(top) ?? {};
    return intent === undefined ? [] : [{ task: top, intent, ...(brief && { brief }) }];
  });
}

/**
 * Removes duplicates, since two parents can inherit an item from the same grandparent. If two different items
 * share an id, the one that is inherited or comes later gets another id, so that neither is lost.
 */
function withUniqueIds<T extends TaskOwned & { readonly id: string }>(
  items: readonly T[],
  task: string,
  textOf: (item: T) => string,
): T[] {
  const own = items.filter((item) => item.task === task);
  const taken = new Map(own.map((item) => [item.id, textOf(item)]));
  const seen = new Set<string>();
  return items.flatMap((item) => {
    const text = textOf(item);
    const key = JSON.stringify([item.id, text]);
    if (seen.has(key)) return [];
    seen.add(key);
    const isTaken = (id: string): boolean => (taken.get(id) ?? text) !== text;
    let id = item.id;
    for (let length = 8; isTaken(id); length++) id = otherName(item.id, text, length);
    taken.set(id, text);
    return [{ ...item, id }];
  });
}

const otherName = (id: string, text: string, length: number): string =>
  `${id.slice(0, 100)}-${sha256(text).slice(0, length)}`;

/** Returns whether `name` is the id, or one that withUniqueIds() made from it here or in a child task. */
const isIdOrAlternative = (id: string, name: string): boolean =>
  name === id || name.startsWith(`${id.slice(0, 100)}-`);

/** Makes redacted fields valid again: a redacted text can be too long, and a redacted id can be invalid. */
function normalizeRedacted(kept: StoredLedger): StoredLedger {
  if (!JSON.stringify(kept).includes("[redacted]")) return kept;
  const line = (text: string): string => clip(text, FORMAT_LIMITS.lineLength);
  const idOf = (id: string): string =>
    Slug.safeParse(id).success ? id : `redacted-${sha256(id).slice(0, 12)}`;
  const nameOf = (by: string): string => (AgentName.safeParse(by).success ? by : "redacted");
  return {
    ...kept,
    intent: clip(kept.intent, FORMAT_LIMITS.textLength),
    constraints: kept.constraints.map((each) => ({
      ...each,
      id: idOf(each.id),
      rule: line(each.rule),
      ...(each.source && { source: line(each.source) }),
    })),
    decisions: kept.decisions.map((each) => ({
      ...each,
      id: idOf(each.id),
      question: line(each.question),
      options: each.options.map(line),
    })),
    progress: kept.progress?.map((each) => ({
      ...each,
      id: idOf(each.id),
      text: line(each.text),
      ...(each.on && { on: line(each.on) }),
    })),
    released: kept.released.map((each) => ({
      ...each,
      by: nameOf(each.by),
      id: idOf(each.id),
      reason: line(each.reason),
    })),
  };
}

function tooManyParents(task: string): BatonError {
  return new BatonError("limit_exceeded", {
    message: `"${task}" would inherit from more than ${MAX_TASKS} tasks.`,
    path: "parents",
    hint: "Name fewer parent tasks, or start a task without parents.",
    details: { max: MAX_TASKS, task },
  });
}
