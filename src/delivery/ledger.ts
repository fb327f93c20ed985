/**
 * The ledger of a task: what follows it to its end, whatever a hop leaves out. It belongs to the task,
 * so that all its lines have the same, and it is read anew for every handoff: one look, and one more
 * for each task it is a child of. A child has what its parents have now, but for what it was released
 * from itself; what it adds is its own.
 */
import { sha256 } from "../canonical.ts";
import { clip } from "../clip.ts";
import { AgentName, Slug } from "../envelope/schema.ts";
import { BatonError } from "../errors.ts";
import { FORMAT_LIMITS } from "../limits.ts";
import {
  type KeptConstraint,
  type KeptDecision,
  type KeptLedger,
  type KeptRelease,
  keptLedger,
  LEDGER,
  type Saying,
} from "../memory/ledger.ts";
import type { Workspace } from "../store/workspace.ts";

/** Kept in the ledger of this task: the one that was asked for, or one it inherits from. */
interface Of {
  readonly task: string;
}

export type LedgerConstraint = KeptConstraint & Of;
export type LedgerDecision = KeptDecision & Of;
export type LedgerRelease = KeptRelease & Of;

/** What was wanted in the first place, of the task itself or of one at the top of its family. */
export interface LedgerIntent extends Of {
  readonly intent: string;
  readonly brief?: string | undefined;
}

export interface Ledger {
  readonly task: string;
  /** What was wanted when the task began, word for word; its beginning, where `brief` has all of it. */
  readonly intent: string;
  readonly brief?: string | undefined;
  readonly begun: Saying;
  /** What the tasks at the top of the family were begun for; empty of one that is no child. */
  readonly origins: readonly LedgerIntent[];
  /** Every must-constraint that holds. */
  readonly constraints: readonly LedgerConstraint[];
  /** Every decision that is open. */
  readonly decisions: readonly LedgerDecision[];
  /** What was taken off, by whom and why, oldest first. */
  readonly released: readonly LedgerRelease[];
  /** The tasks it inherits from. */
  readonly from: readonly string[];
}

/** What holds for a task, and the entry it is kept in. */
export interface Family extends Pick<Ledger, "constraints" | "decisions" | "origins" | "released"> {
  readonly task: string;
  /** What is stored of the task itself, and its revision; nothing yet at its beginning. */
  readonly kept: KeptLedger | undefined;
  readonly revision: number;
  readonly from: readonly string[];
}

export async function ledgerOf(workspace: Workspace, task: string): Promise<Ledger | undefined> {
  const { kept, revision: _, ...family } = await readFamily(workspace, task);
  if (kept === undefined) return undefined;
  const { intent, brief, begun } = kept;
  return { ...family, intent, ...(brief === undefined ? {} : { brief }), begun };
}

/** Of a task that nobody can have heard of yet. */
export const newFamily = (task: string): Family => ({
  ...NOTHING,
  task,
  kept: undefined,
  revision: 0,
  from: [],
});

/** Tasks of one family that are looked at: more parents than anybody can follow. */
const MOST_TASKS = 256;

/** What holds for a task, with what it inherits; `parents`: tasks it is about to inherit from as well. */
export async function readFamily(
  workspace: Workspace,
  task: string,
  parents: readonly string[] = [],
): Promise<Family> {
  const found = new Map<string, { kept: KeptLedger; revision: number } | undefined>();
  const read = async (name: string): Promise<void> => {
    const entry = await workspace.store.findEntry(workspace.name, LEDGER, name);
    found.set(name, entry && { kept: tidy(keptLedger(entry)), revision: entry.revision });
  };
  const others = parents.filter((name) => name !== task);
  let next: readonly string[] = [task, ...new Set(others)];
  while (next.length > 0) {
    if (found.size + next.length > MOST_TASKS) throw tooManyParents(task);
    await Promise.all(next.map(read));
    const further = next.flatMap((name) => found.get(name)?.kept.from ?? []);
    next = [...new Set(further)].filter((name) => !found.has(name));
  }
  const kept = found.get(task)?.kept;
  const from = [...new Set([...(kept?.from ?? []), ...others])];
  const inherited = from.map((parent) =>
    holding(parent, (name) => found.get(name)?.kept, new Set([task])),
  );
  return {
    task,
    kept,
    revision: found.get(task)?.revision ?? 0,
    from,
    ...together(task, kept, inherited),
  };
}

type Holding = Pick<Family, "constraints" | "decisions" | "origins" | "released">;

/** What holds for a task of the family; `below` are those on the way here: a circle ends there. */
function holding(
  task: string,
  ledgerIn: (task: string) => KeptLedger | undefined,
  below: ReadonlySet<string>,
): Holding {
  if (below.has(task)) return NOTHING;
  const kept = ledgerIn(task);
  const way = new Set([...below, task]);
  const inherited = (kept?.from ?? []).map((parent) => holding(parent, ledgerIn, way));
  const held = together(task, kept, inherited);
  if (held.origins.length > 0 || kept === undefined) return held;
  const { intent, brief } = kept;
  return { ...held, origins: [{ task, intent, ...(brief && { brief }) }] };
}

const NOTHING: Holding = { constraints: [], decisions: [], origins: [], released: [] };

/** What a task keeps itself, and what it inherits and was not released from. */
function together(
  task: string,
  kept: KeptLedger | undefined,
  inherited: readonly Holding[],
): Holding {
  const mine = <T>(items: readonly T[] = []): (T & Of)[] =>
    items.map((item) => ({ ...item, task }));
  const all = <T>(pick: (held: Holding) => readonly T[]): T[] => inherited.flatMap(pick);
  const released = [...all((held) => held.released), ...mine(kept?.released)];
  const one = <T>(items: readonly T[], keyOf: (item: T) => string): T[] => [
    ...new Map(items.map((item) => [keyOf(item), item])).values(),
  ];
  return {
    constraints: [
      ...stillOn(
        all((held) => held.constraints),
        kept,
        ({ rule }) => rule,
      ),
      ...mine(kept?.constraints),
    ],
    decisions: [
      ...stillOn(
        all((held) => held.decisions),
        kept,
        ({ question }) => question,
      ),
      ...mine(kept?.decisions),
    ],
    origins: one(
      all((held) => held.origins),
      (origin) => origin.task,
    ),
    released: one(released, (each) => JSON.stringify([each.task, each.record, each.id])),
  };
}

/**
 * One of each that the task was not released from: two parents may have one from the same grandparent.
 * Where two mean different things by one id, the second goes by another: neither may be lost.
 */
function stillOn<T extends { readonly id: string }>(
  items: readonly T[],
  kept: KeptLedger | undefined,
  said: (item: T) => string,
): T[] {
  const off = new Set(kept?.released.map((each) => JSON.stringify([each.id, each.said])));
  const on = new Map<string, T>();
  const seen = new Set<string>();
  for (const item of items) {
    const text = said(item);
    const other = `${item.id.slice(0, 100)}-${sha256(text).slice(0, 8)}`;
    const isOff = [item.id, other].some((id) => off.has(JSON.stringify([id, text])));
    const key = JSON.stringify([item.id, text]);
    if (isOff || seen.has(key)) continue;
    seen.add(key);
    const id = on.has(item.id) ? other : item.id;
    on.set(id, { ...item, id });
  }
  return [...on.values()];
}

/** What was redacted can have become too long, or no id any more; it travels all the same. */
function tidy(kept: KeptLedger): KeptLedger {
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
    message: `"${task}" would inherit from more than ${MOST_TASKS} tasks.`,
    path: "parents",
    hint: "Name fewer tasks as its parents, or begin a task of its own.",
    details: { max: MOST_TASKS, task },
  });
}
