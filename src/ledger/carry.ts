/**
 * Merges a handoff's constraints, decisions and progress with its task's ledger: computes what the envelope
 * carries and what the ledger gets. The hop's items come first, in their order; then the ledger items it
 * left out. An item that the hop rewords travels as it was set, and an item copied from before its release
 * stays released. Pure: permissions to release are checked before.
 */
import { clip } from "../base/clip.ts";
import { BatonError } from "../base/errors.ts";
import { FORMAT_LIMITS } from "../base/limits.ts";
import type { CheckedDraft, Envelope } from "../envelope/schema.ts";
import { constraintOf, decisionOf } from "../envelope/seal.ts";
import type { Provenance, StoredRelease } from "../memory/stored-ledger.ts";
import type { ResolvedLedger } from "./ledger.ts";
import { addedProgress, type NewProgress } from "./progress.ts";

type Constraint = Envelope["constraints"][number];
type Decision = Envelope["decisions"][number];
type Flag = NonNullable<Envelope["flags"]>[number];

/** The items that a hop states itself. */
export interface HopItems {
  readonly constraints: CheckedDraft["constraints"];
  readonly decisions: CheckedDraft["decisions"];
  readonly releases: readonly CheckedRelease[];
  readonly blocked?: CheckedDraft["blocked"];
  readonly doNotRedo?: CheckedDraft["doNotRedo"];
  readonly done?: CheckedDraft["done"];
}

/** A release that was checked: the item is on the ledger, and the agent may release it. */
export interface CheckedRelease extends Omit<StoredRelease, "at" | "by" | "record"> {}

/** A new ledger item; `said` is set if an earlier envelope has the item and the ledger does not. */
export type AddedItem<Item> = Item & { readonly said?: Provenance };

/** The result of merging a hop with the ledger. */
export interface CarriedItems {
  readonly constraints: Constraint[];
  readonly decisions: Decision[];
  /** Items that the hop rewords, weakens or repeats after their release. */
  readonly flags: readonly Flag[];
  /** New to the ledger; empty in most hops. */
  readonly added: {
    readonly constraints: readonly AddedItem<Constraint>[];
    readonly decisions: readonly AddedItem<Decision>[];
    readonly progress: readonly NewProgress[];
    /** Decisions on the ledger that get additional options. */
    readonly widened: readonly Decision[];
  };
}

/** Merges a hop with the ledger. `before`: the continued envelope; its items count even without a ledger. */
export function carry(
  family: ResolvedLedger,
  own: HopItems,
  before: Envelope | undefined,
): CarriedItems {
  const constraints = merge(CONSTRAINTS, {
    live: family.constraints.map(asConstraint),
    before: before?.constraints.map((item) => ({ ...item, said: provenanceOf(before) })) ?? [],
    given: own.constraints,
    releases: own.releases,
    released: family.released,
  });
  const decisions = merge(DECISIONS, {
    live: family.decisions.map(asDecision),
    before: before?.decisions.map((item) => ({ ...item, said: provenanceOf(before) })) ?? [],
    given: own.decisions,
    releases: own.releases,
    released: family.released,
  });
  return {
    constraints: constraints.all,
    decisions: decisions.all,
    flags: [...constraints.flags, ...decisions.flags],
    added: {
      constraints: constraints.added,
      decisions: decisions.added,
      progress: addedProgress(family, own),
      widened: decisions.widened,
    },
  };
}

const asConstraint = ({ id, rule, source }: ResolvedLedger["constraints"][number]): Constraint => ({
  id,
  level: "must",
  rule,
  ...(source === undefined ? {} : { source }),
});

const asDecision = ({
  id,
  question,
  options,
  owner,
}: ResolvedLedger["decisions"][number]): Decision => ({
  id,
  options: [...options],
  ...(owner === undefined ? {} : { owner }),
  question,
});

const provenanceOf = ({ id: envelope, from, metadata }: Envelope): Provenance => ({
  at: metadata.createdAt,
  by: from.agent,
  envelope,
});

/** How constraints and decisions differ in being read and compared. */
interface Kind<Item, Given> {
  readonly kind: StoredRelease["kind"];
  readonly path: "constraints" | "decisions";
  read(given: Given): Item;
  /** Returns the text that identifies the item. */
  textOf(item: Item): string;
  /** Returns the id derived from the text. */
  idOf(item: Item): string;
  /** Returns whether the item stays on the ledger. */
  travels(item: Item): boolean;
  /** Returns whether the item has something new for the ledger. */
  isWider(item: Item, kept: Item): boolean;
  /** Merges an item of the ledger with a hop's repetition of it; `why` says what differs, if anything. */
  again(kept: Item, said: Item): { readonly item: Item; readonly why?: string };
}

const CONSTRAINTS: Kind<Constraint, CheckedDraft["constraints"][number]> = {
  kind: "constraint",
  path: "constraints",
  read: constraintOf,
  textOf: ({ rule }) => rule,
  idOf: ({ rule }) => constraintOf(rule).id,
  travels: ({ level }) => level === "must",
  isWider: () => false,
  again: (kept, said) => {
    if (said.rule !== kept.rule) return { item: kept, why: rewordedNote(said.rule) };
    if (said.level === "must") return { item: { ...said, ...kept } };
    return { item: kept, why: `has the level ${said.level} here; on the ledger it is a must` };
  },
};

const DECISIONS: Kind<Decision, CheckedDraft["decisions"][number]> = {
  kind: "decision",
  path: "decisions",
  read: decisionOf,
  textOf: ({ question }) => question,
  idOf: ({ question }) => decisionOf(question).id,
  travels: () => true,
  isWider: (item, kept) => item.options.length > kept.options.length,
  again: (kept, said) => {
    const options = [...new Set([...kept.options, ...said.options])];
    const fits = options.length <= FORMAT_LIMITS.listItems;
    const item = fits ? { ...kept, options } : kept;
    if (said.question !== kept.question) return { item, why: rewordedNote(said.question) };
    return { item: { ...said, ...item } };
  },
};

const rewordedNote = (text: string): string =>
  clip(`the ledger keeps the original wording; here it reads: ${text}`, FORMAT_LIMITS.lineLength);

interface MergeInput<Item, Given> {
  /** The items on the ledger. */
  readonly live: readonly Item[];
  readonly before: readonly AddedItem<Item>[];
  readonly given: readonly Given[];
  readonly releases: readonly CheckedRelease[];
  readonly released: readonly Pick<StoredRelease, "id" | "kind" | "reason" | "said">[];
}

interface MergedItems<Item> {
  readonly all: Item[];
  readonly added: readonly AddedItem<Item>[];
  readonly widened: readonly Item[];
  readonly flags: readonly Flag[];
}

function merge<Item extends { readonly id: string }, Given>(
  how: Kind<Item, Given>,
  { live, before, given, releases, released }: MergeInput<Item, Given>,
): MergedItems<Item> {
  const now = releases.filter(({ kind }) => kind === how.kind);
  const off = [...released, ...now].filter(({ kind }) => kind === how.kind);
  const releaseOf = (item: Item) =>
    off.findLast(({ id, said }) => id === item.id && said === how.textOf(item));
  const carried = new Map(
    live
      .filter(({ id }) => !now.some((each) => each.id === id))
      .map((item) => [item.id, { ...asBefore(item), ...item }]),
  );
  const added = before.filter(
    (item) => how.travels(item) && releaseOf(item) === undefined && !carried.has(item.id),
  );
  for (const { said: _, ...item } of added) carried.set(item.id, item as unknown as Item);
  const all = new Map<string, Item>();
  const mine = new Map<string, Item>();
  const widened: Item[] = [];
  const flags: Flag[] = [];
  for (const [i, each] of given.entries()) {
    const said = how.read(each);
    const path = `${how.path}[${i}]`;
    const kept = isNamed(each) ? carried.get(said.id) : sameText(said);
    if (kept !== undefined) {
      const { item, why } = how.again(all.get(kept.id) ?? kept, said);
      all.set(item.id, item);
      if (releaseOf(said) !== undefined) continue; // A copy from before its release; it was set again since.
      if (how.isWider(item, kept)) widened.push(item);
      if (why !== undefined) flags.push({ about: kept.id, path, why });
      continue;
    }
    const release = how.travels(said) ? (releaseOf(said) ?? releaseSince(said.id)) : undefined;
    if (release !== undefined) {
      // A copy of a received item stays released without a flag; setting it again gets a flag that says how.
      if (copyIn(said) === undefined)
        flags.push({ about: said.id, path, why: releasedNote(release) });
      continue;
    }
    const item = besides(said);
    all.set(item.id, item);
    if (how.travels(item)) mine.set(item.id, item);
  }
  for (const item of carried.values()) if (!all.has(item.id)) all.set(item.id, item);
  return { all: [...all.values()], added: [...added, ...mine.values()], widened, flags };

  /** Gives different items with one id separate ids, and merges an item that the hop states twice. */
  function besides(said: Item): Item {
    let item = said;
    for (let n = 1; ; n++) {
      const twin = all.get(item.id) ?? carried.get(item.id);
      if (twin === undefined) return item;
      if (how.textOf(twin) === how.textOf(said)) {
        const isStronger = how.travels(said) && !how.travels(twin);
        return isStronger ? { ...twin, ...item } : how.again(twin, item).item;
      }
      item = { ...said, id: n === 1 ? how.idOf(said) : `${how.idOf(said)}-${n}` };
    }
  }

  /** Finds the release of the received item with this id: a reworded copy of it stays released as well. */
  function releaseSince(id: string) {
    const handed = before.filter((each) => each.id === id).map(how.textOf);
    return released.findLast(
      (each) => each.kind === how.kind && each.id === id && handed.includes(each.said),
    );
  }

  function copyIn(item: Item): AddedItem<Item> | undefined {
    return before.find((each) => each.id === item.id && how.textOf(each) === how.textOf(item));
  }

  /** Returns fields of the received copy that only a later version of the format knows, to pass them on. */
  function asBefore(item: Item): object {
    const { said: _, ...known } = copyIn(item) ?? {};
    return known;
  }

  function sameText(said: Item): Item | undefined {
    return [...carried.values()].find((item) => how.textOf(item) === how.textOf(said));
  }
}

const releasedNote = ({ reason }: Pick<StoredRelease, "reason">): string =>
  clip(
    `omitted because it was released; use a new id to set it again. Reason: ${reason}`,
    FORMAT_LIMITS.lineLength,
  );

const isNamed = (given: unknown): boolean =>
  typeof given === "object" && given !== null && "id" in given && given.id !== undefined;

/** Throws `limit_exceeded` if a list is longer than an envelope allows; nothing is dropped silently. */
export function refuseTooMany(
  { constraints, decisions }: CarriedItems,
  family: ResolvedLedger,
): void {
  refuseOver("constraints", constraints.length, family.constraints.length);
  refuseOver("decisions", decisions.length, family.decisions.length);
}

function refuseOver(path: "constraints" | "decisions", actual: number, carried: number): void {
  const max = FORMAT_LIMITS.listItems;
  if (actual <= max) return;
  throw new BatonError("limit_exceeded", {
    message: `${path} has ${actual} items including ${carried} from the ledger; the limit is ${max}.`,
    path,
    hint: "Release settled items, or combine several into one.",
    details: { limit: "listItems", max, actual, carried },
  });
}
