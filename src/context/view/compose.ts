/**
 * Composes a view: what one receiver gets of a handoff within its token budget. Gathers candidates, selects
 * by value per token, renders, and counts the rendered text: it never exceeds the budget. If what must be
 * included does not fit, the call is refused and reports how many more tokens the budget needs.
 */
import * as z from "zod";
import { clip } from "../../base/clip.ts";
import { sha256 } from "../../base/digest.ts";
import { BatonError } from "../../base/errors.ts";
import { FORMAT_LIMITS } from "../../base/limits.ts";
import { type Envelope, Name, VIEW_STRATEGIES, type ViewStrategy } from "../../envelope/schema.ts";
import { parseOrThrow } from "../../envelope/violations.ts";
import type { FullProfile } from "../../profiles/role-profiles.ts";
import { SECTIONS, type Section } from "../../profiles/view-parts.ts";
import { roleProfile } from "../../profiles/workspace-profiles.ts";
import type { DeliveryWithEnvelopeRow } from "../../store/store.ts";
import { drawBoundary, withBoundary } from "../../text/fence.ts";
import { ENCODINGS, exactTokenizer, type Tokenizer, tokenizerFor } from "../../text/tokens.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import { budgetOf, usableTokens } from "./budget.ts";
import { headOf } from "./envelope-parts.ts";
import { type GatheredContext, gather } from "./gather.ts";
import { mergeRanges } from "./part-ranges.ts";
import { type Piece, piecesOf } from "./pieces.ts";
import { footerOf, headingOf, render } from "./render.ts";
import { type Form, select } from "./select.ts";
import type {
  OmittedMemory,
  SectionUse,
  ShownEarlier,
  ShownMemory,
  View,
  ViewBudget,
  ViewReceiver,
} from "./view.ts";

/** Options of a view. */
export const ViewOptionsSchema = z.strictObject({
  /** Counts tokens as this model does; default: the model that the receiver is registered with. */
  model: z.string().min(1).optional(),
  /** Number of recent memories of the task to consider. */
  recent: z.int().min(0).max(FORMAT_LIMITS.listItems).optional(),
  /** Uses the profile of this role; default: the receiver's role. */
  role: Name.optional(),
  strategy: z.enum(VIEW_STRATEGIES).optional(),
  /** Counts exactly, with this encoding. */
  tokenizer: z.enum(ENCODINGS).optional(),
  tokens: z.int().positive().optional(),
});

/** Options of a view: budget, role, strategy and how tokens are counted. */
export type ViewOptions = z.input<typeof ViewOptionsSchema>;

/** The envelope, and its delivery; absent in a preview. */
export interface ViewSource {
  readonly envelope: Envelope;
  readonly claimed?: DeliveryWithEnvelopeRow;
}

/** Returns the view of an envelope for a receiver. Throws `invalid_input` and `budget_too_small`. */
export async function composeView(
  workspace: Workspace,
  receiver: ViewReceiver,
  { envelope, claimed }: ViewSource,
  options: ViewOptions = {},
): Promise<View> {
  const asked = parseOrThrow(ViewOptionsSchema, options, {
    code: "invalid_input",
    what: "The options",
  });
  const role = asked.role ?? receiver.role;
  const [profile, tokenizer, gathered] = await Promise.all([
    roleProfile(workspace, role),
    asked.tokenizer === undefined
      ? tokenizerFor(asked.model ?? receiver.model)
      : exactTokenizer(asked.tokenizer),
    gather(workspace, envelope, { recent: asked.recent ?? envelope.recent, role, claimed }),
  ]);
  const budget = budgetOf({
    tokens: asked.tokens,
    envelope: envelope.budget?.tokens,
    profile,
    receiver,
    tokenizer,
  });
  const strategy = asked.strategy ?? envelope.strategy ?? profile.strategy ?? "priority";
  const to = { agent: receiver.agent, role };
  const delivery = claimed?.delivery.id;
  const boundary = drawBoundary(workspace.ids);
  return viewOf(gathered, {
    ...{ envelope, delivery, to, profile, tokenizer, budget, strategy, boundary },
  });
}

/** Receiver, profile and budget of a view. */
export interface ViewParameters {
  readonly envelope: Envelope;
  readonly delivery?: string | undefined;
  readonly to: Pick<ViewReceiver, "agent" | "role">;
  readonly profile: FullProfile;
  readonly tokenizer: Tokenizer;
  readonly budget: ViewBudget;
  readonly strategy: ViewStrategy;
  /** The number in the fences. */
  readonly boundary: string;
}

/** Returns the view of what was gathered. Pure: the same input gives the same view. */
export function viewOf(gathered: GatheredContext, composing: ViewParameters): View {
  const { envelope, to, tokenizer, budget, strategy, boundary } = composing;
  const pieces = piecesOf(gathered, composing);
  const page = new ViewLayout(pieces, headOf(envelope, to.agent), tokenizer);
  const usable = usableTokens(budget);
  refuseTooSmall(page, usable, budget);
  const { chosen, tokens, ...fitted } = page.fit(usable, strategy);
  const text = withBoundary(fitted.text, boundary);
  const omitted = omittedOf(pieces, chosen);
  return {
    envelope: envelope.id,
    version: envelope.version,
    task: envelope.task,
    receiver: to.agent,
    ...(to.role === undefined ? {} : { role: to.role }),
    strategy,
    budget,
    text,
    boundary,
    digest: sha256(text),
    tokens,
    sections: usesOf(pieces, chosen, { headings: page.headings, tokens }),
    shown: shownOf(pieces, chosen),
    earlier: earlierOf(pieces, chosen),
    omitted,
    gaps: gathered.gaps,
    artifacts: gathered.artifacts,
    completeness: share(gathered.resolved, gathered.requested),
    coverage: coverageOf(pieces, chosen),
    utilisation: tokens / budget.tokens,
  };
}

type SelectedForms = ReadonlyMap<string, Form>;

/** Lays out a view: its pieces, and what head, foot, headings and group lines take in addition. */
class ViewLayout {
  readonly headings: Readonly<Record<Section, number>>;
  readonly musts: readonly Piece[];
  readonly #pieces: readonly Piece[];
  readonly #head: string;
  readonly #tokenizer: Tokenizer;

  constructor(pieces: readonly Piece[], head: string, tokenizer: Tokenizer) {
    this.#pieces = pieces;
    this.#head = head;
    this.#tokenizer = tokenizer;
    this.musts = pieces.filter(({ must }) => must);
    this.headings = Object.fromEntries(
      SECTIONS.map((section) => [section, tokenizer.count(headingOf(section))]),
    ) as Record<Section, number>;
  }

  /** Tokens of a text that contains only what must be included. */
  get needed(): number {
    const sections = new Set(this.musts.map(({ section }) => section));
    const headings = [...sections].reduce((sum, section) => sum + this.headings[section], 0);
    const musts = this.musts.reduce((sum, piece) => sum + fullTokensOf(piece), 0);
    const groups = groupTokens(this.musts);
    return this.#frame(this.#pieces.length - this.musts.length) + headings + groups + musts;
  }

  /** Returns the fullest text within the given tokens. */
  fit(
    maxTokens: number,
    strategy: ViewStrategy,
  ): { chosen: SelectedForms; text: string; tokens: number } {
    let left = maxTokens - this.#frame(this.#pieces.length);
    for (;;) {
      const chosen = select(this.#pieces, { tokens: left, headings: this.headings }, strategy);
      const text = this.#textOf(chosen);
      const tokens = this.#tokenizer.count(text);
      if (tokens <= maxTokens) return { chosen, text, tokens };
      if (chosen.size === this.musts.length)
        throw new Error("blocks take more tokens together than separately");
      left -= tokens - maxTokens;
    }
  }

  #frame(omitted: number): number {
    return this.#tokenizer.count(this.#head) + this.#tokenizer.count(footerOf(omitted));
  }

  #textOf(chosen: SelectedForms): string {
    const blocks = this.#pieces.flatMap(({ id, section, group, textAt }) => {
      const form = chosen.get(id);
      return form === undefined ? [] : [{ section, group: group?.text, text: textAt(form.level) }];
    });
    return render({ head: this.#head, blocks, omitted: this.#pieces.length - chosen.size });
  }
}

/** Returns the tokens of the group lines of these pieces, each counted once. */
function groupTokens(pieces: readonly Piece[]): number {
  const lines = new Map(pieces.map(({ group }) => [group?.key, group?.tokens ?? 0]));
  return [...lines.values()].reduce((sum, tokens) => sum + tokens, 0);
}

const fullTokensOf = ({ forms }: Piece): number => forms.at(-1)?.tokens ?? 0;

const share = (part: number, whole: number): number => (whole === 0 ? 1 : part / whole);

/** Characters of an item in the error, enough to identify it. */
const EXCERPT = 80;

function refuseTooSmall(page: ViewLayout, usable: number, budget: ViewBudget): void {
  const { needed, musts } = page;
  if (needed <= usable) return;
  const atLeast = Math.ceil(needed / (1 - budget.margin));
  const kept = budget.exact
    ? ""
    : `, of which ${budget.tokens - usable} are reserved because ${budget.tokenizer} only estimates this model`;
  const items = musts.map((piece) => ({
    id: piece.id,
    section: piece.section,
    tokens: fullTokensOf(piece),
    text: clip(excerptOf(piece), EXCERPT),
  }));
  throw new BatonError("budget_too_small", {
    message: `What the view must include takes ${needed} tokens, ${needed - usable} more than fit: the budget is ${budget.tokens}${kept}.`,
    path: budget.from === "envelope" ? "budget.tokens" : "tokens",
    hint: `Pass at least ${atLeast} tokens, unpin or release what need not always be included, or shorten the longest items.`,
    details: { budget: budget.tokens, room: usable, needed, over: needed - usable, atLeast, items },
  });
}

const excerptOf = ({ candidate, textAt }: Piece): string =>
  (candidate?.memory.content ?? textAt("full")).replace(/\s+/gu, " ").trim();

function shownOf(pieces: readonly Piece[], chosen: SelectedForms): ShownMemory[] {
  return pieces.flatMap(({ id, section, candidate }): ShownMemory[] => {
    const form = chosen.get(id);
    if (form === undefined || candidate === undefined) return [];
    const { insteadOf, freshness } = candidate;
    return [
      {
        id,
        section,
        level: form.level,
        tokens: form.tokens,
        ...(insteadOf === undefined ? {} : { insteadOf }),
        ...(freshness === undefined ? {} : { freshness }),
      },
    ];
  });
}

function earlierOf(pieces: readonly Piece[], chosen: SelectedForms): ShownEarlier[] {
  return pieces.flatMap(({ id, label }): ShownEarlier[] => {
    const form = chosen.get(id);
    return form === undefined || label === undefined ? [] : [{ id, label, tokens: form.tokens }];
  });
}

function omittedOf(pieces: readonly Piece[], chosen: SelectedForms): OmittedMemory[] {
  return mergeRanges(
    pieces.flatMap((piece): OmittedMemory[] => {
      const form = chosen.get(piece.id);
      const { id, section, why } = piece;
      const omitted = { id, section, tokens: fullTokensOf(piece), why };
      if (form === undefined) return [omitted];
      // For a record, the level is stated where it is shown.
      const isPart = piece.candidate === undefined && form.level !== "full";
      return isPart && form.tokens > 0 ? [{ ...omitted, shown: form.level }] : [];
    }),
  );
}

/** Counts head and foot as part of the task section, so that the sections add up to the total. */
function usesOf(
  pieces: readonly Piece[],
  chosen: SelectedForms,
  { headings, tokens }: Pick<ViewLayout, "headings"> & { readonly tokens: number },
): SectionUse[] {
  const uses = SECTIONS.map((section) => {
    const own = pieces.filter((piece) => piece.section === section);
    const shown = own.filter(({ id }) => chosen.has(id));
    const forms = shown.flatMap(({ id }) => chosen.get(id) ?? []);
    const taken = forms.reduce((sum, form) => sum + form.tokens, groupTokens(shown));
    return {
      section,
      tokens: forms.length === 0 ? 0 : taken + headings[section],
      shown: forms.length,
      omitted: own.length - forms.length,
    };
  });
  const rest = tokens - uses.reduce((sum, use) => sum + use.tokens, 0);
  return uses
    .map((use) => (use.section === "task" ? { ...use, tokens: use.tokens + rest } : use))
    .filter(({ shown, omitted }) => shown + omitted > 0);
}

/** Returns the share of candidates that fit. Logs are excluded: they were not omitted for lack of space. */
function coverageOf(pieces: readonly Piece[], chosen: SelectedForms): number {
  const considered = pieces.filter(({ why, log }) => why === "budget" && log !== true);
  const whole = considered.reduce((sum, piece) => sum + fullTokensOf(piece), 0);
  const shown = considered.reduce(
    (sum, piece) => sum + Math.min(chosen.get(piece.id)?.tokens ?? 0, fullTokensOf(piece)),
    0,
  );
  return share(shown, whole);
}
