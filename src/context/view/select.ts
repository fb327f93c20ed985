/**
 * Selects what a view shows within its budget: what must be included, then what the sender wants shown, then
 * the best value per token. Pure and deterministic: ties are resolved by the order of sections, then by id.
 *
 * Each record has several forms (a line, a summary, the gist, all of it), and the selection also chooses the
 * form. Forms compete by the value that one adds to the previous one, per additional token. A form is skipped
 * if going directly to a longer one gives more value per token.
 */
import { DETAIL_LEVELS, type DetailLevel, type ViewStrategy } from "../../envelope/schema.ts";
import { SECTIONS, type Section } from "../../profiles/view-parts.ts";

/** One way to show an item. */
export interface Form {
  readonly level: DetailLevel;
  readonly tokens: number;
  /** The level with a length limit that it keeps: a short record in full is no longer than a summary. */
  readonly fits: DetailLevel;
}

/** Something that can be selected. */
export interface Item {
  readonly id: string;
  readonly section: Section;
  readonly group?: Group | undefined;
  /** Its value for the receiver; 0 excludes it. */
  readonly value: number;
  readonly must: boolean;
  /** At least one; shortest first. */
  readonly forms: readonly Form[];
  /** The least level that the sender wants shown. */
  readonly atLeast?: DetailLevel | undefined;
  /** Whether its gist is enough, unless the sender wants more. */
  readonly log?: boolean | undefined;
}

/** Items of a section with a common first line. */
export interface Group {
  /** Unique per section and line. */
  readonly key: string;
  readonly text: string;
  readonly tokens: number;
}

/** The space that a selection has. */
export interface SelectionBudget {
  /** Tokens for items and headings. */
  readonly tokens: number;
  /** Tokens of each section's heading, which is counted once. */
  readonly headings: Readonly<Record<Section, number>>;
}

/** Value of each level, as a share of the full text. */
const WORTH: Readonly<Record<DetailLevel, number>> = {
  reference: 0.2,
  summary: 0.55,
  detail: 0.8,
  full: 1,
};

/** Returns the items that are shown, each with its form. */
export function select(
  items: readonly Item[],
  limit: SelectionBudget,
  strategy: ViewStrategy,
): ReadonlyMap<string, Form> {
  const selection = new Selection(limit);
  const open = items.filter((item) => !item.must && item.value > 0);
  for (const item of items) if (item.must) selection.put(item, last(item.forms));
  for (const item of open) {
    const wished = item.atLeast && item.forms.find(({ level }) => isWithin(item.atLeast, level));
    if (wished !== undefined) selection.putIfFits(item, wished);
  }
  for (const { item, form, before } of stepsOf(selection, open, strategy)) {
    // An item with a smaller form that did not fit gets no larger one here.
    if (selection.shownOf(item) === before) selection.putIfFits(item, form);
  }
  fill(selection, open, strategy);
  return selection.shown;
}

/** Gives the remaining space to whatever still fits, most valuable first. */
function fill(selection: Selection, items: readonly Item[], strategy: ViewStrategy): void {
  for (const item of items.toSorted((a, b) => b.value - a.value || inOrder(a, b))) {
    const shown = selection.shownOf(item);
    for (const form of usable(item, strategy).toReversed()) {
      if (shown !== undefined && WORTH[form.level] <= WORTH[shown.level]) break;
      if (selection.putIfFits(item, form)) break;
    }
  }
}

/** The current selection, and the tokens left. */
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

/** Showing more of an item, and the value of that. */
interface Step {
  readonly item: Item;
  readonly form: Form;
  /** The form that must be shown for this to be the next step. */
  readonly before: Form | undefined;
  readonly rate: number;
}

function stepsOf(selection: Selection, items: readonly Item[], strategy: ViewStrategy): Step[] {
  const steps = items.flatMap((item) =>
    upgradeSteps(item, selection.shownOf(item), usable(item, strategy)),
  );
  // With the strategy "full", the most valuable item comes first, whatever it costs.
  const rank = ({ item, rate }: Step): number => (strategy === "full" ? item.value : rate);
  return steps.sort((a, b) => rank(b) - rank(a) || inOrder(a.item, b.item));
}

/** Returns the steps of one item, each worth less per token than the one before. */
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

/** Returns the forms that a strategy offers. */
function usable({ forms, log }: Item, strategy: ViewStrategy): readonly Form[] {
  const allowed = forms.filter(
    ({ fits }) => isWithin(fits, MAX_LEVEL[strategy]) && !(log && !isWithin(fits, "summary")),
  );
  return strategy === "full" ? allowed.slice(-1) : allowed;
}

/** The longest form that each strategy offers. */
const MAX_LEVEL: Readonly<Record<ViewStrategy, DetailLevel>> = {
  full: "full",
  priority: "full",
  summary: "summary",
  lazy: "reference",
};

/** Returns whether one level is at most the other. */
const isWithin = (level: DetailLevel = "reference", other: DetailLevel): boolean =>
  DETAIL_LEVELS.indexOf(level) <= DETAIL_LEVELS.indexOf(other);

const last = (forms: readonly Form[]): Form => forms[forms.length - 1] as Form;

function inOrder(a: Item, b: Item): number {
  const bySection = SECTIONS.indexOf(a.section) - SECTIONS.indexOf(b.section);
  return bySection || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0);
}
