/**
 * The ledger of a task: what follows it to its end, whatever a hop leaves out. It belongs to the task,
 * so that all its lines have the same, and it is read anew for every handoff: one look, and one more
 * for each task it is a child of. A child has what its parents have now, but for what it was released
 * from itself; what it adds is its own.
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
import type { Workspace } from "../workspace/workspace.ts";

/** Kept in the ledger of this task: the one that was asked for, or one it inherits from. */
interface TaskOwned {
  readonly task: string;
}

export type LedgerConstraint = StoredConstraint & TaskOwned;
export type LedgerDecision = StoredDecision & TaskOwned;
export type LedgerProgress = StoredProgress & TaskOwned;
export type LedgerRelease = StoredRelease & TaskOwned;

/** What was wanted in the first place, of the task itself or of one at the top of its family. */
export interface LedgerIntent extends TaskOwned {
  readonly intent: string;
  readonly brief?: string | undefined;
}

export interface Ledger {
  readonly task: string;
  /** What was wanted when the task began, word for word; its beginning, where `brief` has all of it. */
  readonly intent: string;
  readonly brief?: string | undefined;
  readonly begun: Provenance;
  /** What the tasks at the top of the family were begun for; empty of one that is no child. */
  readonly origins: readonly LedgerIntent[];
  /** Every must-constraint that holds. */
  readonly constraints: readonly LedgerConstraint[];
  /** Every decision that is open. */
  readonly decisions: readonly LedgerDecision[];
  /** What is done, not to be redone, or blocked, until it is released. */
  readonly progress: readonly LedgerProgress[];
  /** What was taken off, by whom and why, oldest first. */
  readonly released: readonly LedgerRelease[];
  /** The tasks it inherits from. */
  readonly from: readonly string[];
}

/** What holds for a task, and the entry it is kept in. */
export interface ResolvedLedger
  extends Pick<Ledger, "constraints" | "decisions" | "origins" | "progress" | "released"> {
  readonly task: string;
  /** What is stored of the task itself, and its revision; nothing yet at its beginning. */
  readonly kept: StoredLedger | undefined;
  readonly revision: number;
  readonly from: readonly string[];
  /** All tasks above it, the eldest first. */
  readonly inherited: readonly string[];
}

export async function ledgerOf(workspace: Workspace, task: string): Promise<Ledger | undefined> {
  const { kept, revision: _, inherited: __, ...family } = await resolveLedger(workspace, task);
  if (kept === undefined) return undefined;
  const { intent, brief, begun } = kept;
  return { ...family, intent, ...(brief === undefined ? {} : { brief }), begun };
}

/** Of a task that nobody can have heard of yet. */
export const newLedger = (task: string): ResolvedLedger => ({
  ...NO_ITEMS,
  task,
  kept: undefined,
  revision: 0,
  from: [],
  inherited: [],
});

/** Tasks of one family that are looked at: more parents than anybody can follow. */
const MAX_TASKS = 256;

/** What holds for a task, with what it inherits; `parents`: tasks it is about to inherit from as well. */
export async function resolveLedger(
  workspace: Workspace,
  task: string,
  parents: readonly string[] = [],
): Promise<ResolvedLedger> {
  const found = new Map<string, { kept: StoredLedger; revision: number } | undefined>();
  const read = async (name: string): Promise<void> => {
    const entry = await workspace.store.findEntry(workspace.name, LEDGER, name);
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

/** A task, and what is kept of it and of those it inherits from. */
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

/** What holds for a task. Each one above it is looked at once, however many ways lead there. */
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

/** The tasks it inherits from, the eldest first; a circle ends where it comes round. */
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

/** Whether it comes down to the task on some way on which nobody was released from it. */
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

/** The tops of the family: who inherits from nobody, or only from who was begun below it. */
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
 * One of each: two parents may have one from the same grandparent. Where two mean different things by
 * one id, the one that is not the task's own, or comes later, goes by another: neither may be lost.
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

/** Whether something that says the same goes by this name for the other, here or further down. */
const isIdOrAlternative = (id: string, name: string): boolean =>
  name === id || name.startsWith(`${id.slice(0, 100)}-`);

/** What was redacted can have become too long, or no id any more; it travels all the same. */
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
    hint: "Name fewer tasks as its parents, or begin a task of its own.",
    details: { max: MAX_TASKS, task },
  });
}
