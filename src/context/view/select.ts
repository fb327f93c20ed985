/**
 * Choosing what a view shows, within its room: what must travel, then what the sender wants seen, then
 * the best value per token. Pure, and the same for the same input: ties go by the order of sections,
 * then by id.
 *
 * How much of a record is shown is chosen with it: each has forms (a line, a summary, the gist, all of
 * it), and what one form adds to the one before it, per token it takes more, is what competes. Forms
 * that another makes pointless, being worth less per token than the step over them, are not offered.
 */
import { DETAIL_LEVELS, type DetailLevel, type ViewStrategy } from "../../envelope/schema.ts";
import { SECTIONS, type Section } from "../../profiles/view-parts.ts";

/** One way to show an item. */
export interface Form {
  readonly level: DetailLevel;
  readonly tokens: number;
  /** The level whose length it keeps to: a short record in full is no longer than a summary. */
  readonly fits: DetailLevel;
}

export interface Item {
  readonly id: string;
  readonly section: Section;
  readonly group?: Group | undefined;
  /** 0: kept out. */
  readonly value: number;
  readonly must: boolean;
  /** At least one; from the least to the most. */
  readonly forms: readonly Form[];
  /** What the sender wants seen of it. */
  readonly atLeast?: DetailLevel | undefined;
  /** Its gist is enough, unless the sender wants more. */
  readonly log?: boolean | undefined;
}

/** Items of a section whose first line says what they have in common. */
export interface Group {
  /** Of the section and the line. */
  readonly key: string;
  readonly text: string;
  readonly tokens: number;
}

export interface SelectionBudget {
  /** Tokens for items and headings. */
  readonly tokens: number;
  /** What the heading of a section takes, once. */
  readonly headings: Readonly<Record<Section, number>>;
}

/** What a level is worth of the whole. */
const WORTH: Readonly<Record<DetailLevel, number>> = {
  reference: 0.2,
  summary: 0.55,
  detail: 0.8,
  full: 1,
};

/** The items that are shown, each with the form it is shown in. */
export function select(
  items: readonly Item[],
  room: SelectionBudget,
  strategy: ViewStrategy,
): ReadonlyMap<string, Form> {
  const shelf = new Selection(room);
  const open = items.filter((item) => !item.must && item.value > 0);
  for (const item of items) if (item.must) shelf.put(item, last(item.forms));
  for (const item of open) {
    const wished = item.atLeast && item.forms.find(({ level }) => isWithin(item.atLeast, level));
    if (wished !== undefined) shelf.putIfFits(item, wished);
  }
  for (const { item, form, before } of stepsOf(shelf, open, strategy)) {
    // Whose smaller form found no room gets no larger one here.
    if (shelf.shownOf(item) === before) shelf.putIfFits(item, form);
  }
  fill(shelf, open, strategy);
  return shelf.shown;
}

/** What room is left goes to whatever still fits, the most valuable first. */
function fill(shelf: Selection, items: readonly Item[], strategy: ViewStrategy): void {
  for (const item of items.toSorted((a, b) => b.value - a.value || inOrder(a, b))) {
    const shown = shelf.shownOf(item);
    for (const form of usable(item, strategy).toReversed()) {
      if (shown !== undefined && WORTH[form.level] <= WORTH[shown.level]) break;
      if (shelf.putIfFits(item, form)) break;
    }
  }
}

/** What is shown so far, and the room that is left. */
class Selection {
  readonly shown = new Map<string, Form>();
  readonly #headed = new Set<string>();
  readonly #headings: SelectionBudget["headings"];
  #left: number;

  constructor({ tokens, headings }: SelectionBudget) {
    this.#left = tokens;
    this.#headings = headings;
  }

  shownOf({ id }: Item): Form | undefined {
    return this.shown.get(id);
  }

  put(item: Item, form: Form): void {
    this.#left -= this.#costOf(item, form);
    this.#headed.add(item.section);
    if (item.group !== undefined) this.#headed.add(item.group.key);
    this.shown.set(item.id, form);
  }

  putIfFits(item: Item, form: Form): boolean {
    if (this.#costOf(item, form) > this.#left) return false;
    this.put(item, form);
    return true;
  }

  #costOf(item: Item, { tokens }: Form): number {
    const heading = this.#headed.has(item.section) ? 0 : this.#headings[item.section];
    const { group } = item;
    const line = group === undefined || this.#headed.has(group.key) ? 0 : group.tokens;
    return tokens - (this.shownOf(item)?.tokens ?? 0) + heading + line;
  }
}

/** Showing more of an item, and what that is worth. */
interface Step {
  readonly item: Item;
  readonly form: Form;
  /** What has to be shown for this to be the next step. */
  readonly before: Form | undefined;
  readonly rate: number;
}

function stepsOf(shelf: Selection, items: readonly Item[], strategy: ViewStrategy): Step[] {
  const steps = items.flatMap((item) =>
    upgradeSteps(item, shelf.shownOf(item), usable(item, strategy)),
  );
  // In full, the most valuable comes first, whatever it takes.
  const rank = ({ item, rate }: Step): number => (strategy === "full" ? item.value : rate);
  return steps.sort((a, b) => rank(b) - rank(a) || inOrder(a.item, b.item));
}

/** The steps of one item, each worth less per token than the one before it. */
function upgradeSteps(item: Item, shown: Form | undefined, forms: readonly Form[]): Step[] {
  const steps: Step[] = [];
  let before = shown;
  let rest = forms.filter(({ level }) => shown === undefined || WORTH[level] > WORTH[shown.level]);
  while (rest.length > 0) {
    const from = before;
    const rates = rest.map((form) => rateOf(item, form, from));
    const best = rates.reduce((at, rate, i) => (rate >= (rates[at] ?? 0) ? i : at), 0);
    const form = rest[best] as Form;
    steps.push({ item, form, before, rate: rates[best] ?? 0 });
    before = form;
    rest = rest.slice(best + 1);
  }
  return steps;
}

function rateOf({ value }: Item, form: Form, before: Form | undefined): number {
  const worth = WORTH[form.level] - (before === undefined ? 0 : WORTH[before.level]);
  return (value * worth) / Math.max(1, form.tokens - (before?.tokens ?? 0));
}

/** The forms a strategy offers. */
function usable({ forms, log }: Item, strategy: ViewStrategy): readonly Form[] {
  const allowed = forms.filter(
    ({ fits }) => isWithin(fits, MAX_LEVEL[strategy]) && !(log && !isWithin(fits, "summary")),
  );
  return strategy === "full" ? allowed.slice(-1) : allowed;
}

/** How long a form each strategy offers. */
const MAX_LEVEL: Readonly<Record<ViewStrategy, DetailLevel>> = {
  full: "full",
  priority: "full",
  summary: "summary",
  lazy: "reference",
};

/** Whether one level is no more than the other. */
const isWithin = (level: DetailLevel = "reference", other: DetailLevel): boolean =>
  DETAIL_LEVELS.indexOf(level) <= DETAIL_LEVELS.indexOf(other);

const last = (forms: readonly Form[]): Form => forms[forms.length - 1] as Form;

function inOrder(a: Item, b: Item): number {
  const bySection = SECTIONS.indexOf(a.section) - SECTIONS.indexOf(b.section);
  return bySection || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0);
}
