/**
 * What a handoff carries of its task's ledger, and what it adds to it. The hop's own comes first, in the
 * order it was written; then whatever it left out. What it says in other words travels as it was set,
 * and what it copies from before a release stays off. Pure: who may release was looked at before.
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

/** What a hop says itself. */
export interface HopItems {
  readonly constraints: CheckedDraft["constraints"];
  readonly decisions: CheckedDraft["decisions"];
  readonly releases: readonly CheckedRelease[];
  readonly blocked?: CheckedDraft["blocked"];
  readonly doNotRedo?: CheckedDraft["doNotRedo"];
  readonly done?: CheckedDraft["done"];
}

/** A release that was found to be of something on the ledger. */
export interface CheckedRelease extends Omit<StoredRelease, "at" | "by" | "record"> {}

/** Something the ledger gets; with its own saying where an envelope has it and the ledger has not. */
export type AddedItem<Item> = Item & { readonly said?: Provenance };

export interface CarriedItems {
  readonly constraints: Constraint[];
  readonly decisions: Decision[];
  /** Where the hop says something in other words. */
  readonly flags: readonly Flag[];
  /** New to the ledger: nothing, in most hops. */
  readonly added: {
    readonly constraints: readonly AddedItem<Constraint>[];
    readonly decisions: readonly AddedItem<Decision>[];
    readonly progress: readonly NewProgress[];
    /** Of decisions that the ledger has: with options it had not. */
    readonly widened: readonly Decision[];
  };
}

/** `before`: the envelope that is continued. What it carries counts, also where no ledger was kept. */
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

/** How constraints and decisions are told apart, and compared. */
interface Kind<Item, Given> {
  readonly kind: StoredRelease["kind"];
  readonly path: "constraints" | "decisions";
  read(given: Given): Item;
  /** What it says, word for word. */
  textOf(item: Item): string;
  /** The id that follows from what it says. */
  idOf(item: Item): string;
  /** Whether it follows the line. */
  travels(item: Item): boolean;
  /** Whether the ledger has to learn it anew. */
  isWider(item: Item, kept: Item): boolean;
  /** What becomes of one that the ledger has when a hop says it again, and what is odd about that. */
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
    return { item: kept, why: `says ${said.level} where the line says must` };
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

const rewordedNote = (said: string): string =>
  clip(`the line keeps it as it was set; here it says: ${said}`, FORMAT_LIMITS.lineLength);

interface MergeInput<Item, Given> {
  /** What the ledger has. */
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
      if (releaseOf(said) !== undefined) continue; // Copied from before it was released, and set anew.
      if (how.isWider(item, kept)) widened.push(item);
      if (why !== undefined) flags.push({ about: kept.id, path, why });
      continue;
    }
    const release = how.travels(said) ? (releaseOf(said) ?? releaseSince(said.id)) : undefined;
    if (release !== undefined) {
      // A copy of what was handed over stays off; who sets it again is told how.
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

  /** Two that a hop calls by one id stay two; said twice it is one, with all that was said. */
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

  /** What it was handed under this id was released since: in other words it is still a copy. */
  function releaseSince(id: string) {
    const handed = before.filter((each) => each.id === id).map(how.textOf);
    return released.findLast(
      (each) => each.kind === how.kind && each.id === id && handed.includes(each.said),
    );
  }

  function copyIn(item: Item): AddedItem<Item> | undefined {
    return before.find((each) => each.id === item.id && how.textOf(each) === how.textOf(item));
  }

  /** With what a later version says of it, and nobody here knows. */
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
    `left out: it was released; under a new id it holds again. ${reason}`,
    FORMAT_LIMITS.lineLength,
  );

const isNamed = (given: unknown): boolean =>
  typeof given === "object" && given !== null && "id" in given && given.id !== undefined;

/** More than an envelope has room for is said, never cut. */
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
    message: `${path} has ${actual} with the ${carried} that the line carries; the limit is ${max}.`,
    path,
    hint: "Release what is settled, or put several into one.",
    details: { limit: "listItems", max, actual, carried },
  });
}
