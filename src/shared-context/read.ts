/**
 * Reads the shared context as text for a role, within a token budget. Must-constraints are always included,
 * or the call is refused with their names; the other items follow by their weight for the role and by age,
 * newest first, as far as they fit. Items are read from the store each time, so that a redaction or
 * quarantine takes effect at once; only token counts are cached. The same state always gives the same text.
 */
import * as z from "zod";
import { Name } from "../envelope/schema.ts";
import { parseOrThrow } from "../envelope/violations.ts";
import type { FullProfile } from "../profiles/role-profiles.ts";
import { roleProfile } from "../profiles/workspace-profiles.ts";
import { boundaryFrom, withBoundary } from "../text/fence.ts";
import { tokenizerFor } from "../text/tokens.ts";
import type { Workspace } from "../workspace/workspace.ts";
import { fitToBudget, pricedLine } from "./budget-fit.ts";
import {
  CONTEXT_SECTIONS,
  type ContextBody,
  type ContextItem,
  type ContextSection,
  isFor,
  isMust,
  MEMORY_TYPE,
} from "./items.ts";
import { headOf } from "./render.ts";
import { type LiveItem, liveItems, readContextVersion } from "./stored-items.ts";

/** Input of readContext(). */
export const ContextQuerySchema = z.strictObject({
  /** The model to count tokens for. Default: the model the agent is registered with. */
  model: z.string().min(1).optional(),
  /** The role to select items for. Default: the agent's role. */
  role: Name.optional(),
  /** Default: all sections. */
  sections: z.array(z.enum(CONTEXT_SECTIONS)).min(1).optional(),
  /** The token budget. Default: 2000. */
  tokens: z.int().positive().default(2_000),
});

export type ContextQuery = z.input<typeof ContextQuerySchema>;

/** Why an item is omitted: over budget, for other roles, weight 0 for this role, redacted or quarantined. */
export type ContextOmissionReason = "budget" | "role" | "weight" | "redacted" | "quarantined";

/** An item that is not in the text. */
export interface ContextOmission {
  readonly section: ContextSection;
  readonly key: string;
  readonly why: ContextOmissionReason;
  /** The tokens its line would take; 0 if it is redacted or quarantined. */
  readonly tokens: number;
}

/** The rendered shared context. */
export interface SharedContextText {
  /** The version of the whole context; pass it to `changes` as `after` to get later changes. */
  readonly version: number;
  /** The text for the model; empty if there is no shared context. */
  readonly text: string;
  readonly tokens: number;
  /** The items in the text, in order. */
  readonly items: readonly ContextItem[];
  readonly omitted: readonly ContextOmission[];
}

/** The reading agent's role and model, used if the query does not name them. */
export interface ContextReader {
  readonly role?: string | undefined;
  readonly model?: string | undefined;
}

const EMPTY_CONTEXT = { text: "", tokens: 0, items: [], omitted: [] } as const;

/** Returns the shared context for a reader. Throws `budget_too_small` if the musts exceed the budget. */
export async function readContext(
  workspace: Workspace,
  reader: ContextReader,
  query: ContextQuery = {},
): Promise<SharedContextText> {
  const asked = parseOrThrow(ContextQuerySchema, query, {
    code: "invalid_input",
    what: "The query",
  });
  const role = asked.role ?? reader.role;
  const model = asked.model ?? reader.model;
  // Read first: what is written meanwhile is reported again as a change, never missed.
  const { version } = await readContextVersion(workspace);
  if (version === 0) return { version, ...EMPTY_CONTEXT };
  const [live, profile, tokenizer] = await Promise.all([
    liveItems(workspace, asked.sections),
    roleProfile(workspace, role),
    tokenizerFor(model),
  ]);
  // Without a model the budget counts o200k tokens, and no margin is needed.
  const margin = model === undefined ? 0 : tokenizer.margin;
  const budget = Math.floor(asked.tokens * (1 - margin));
  const { shown, weightless, others, gone } = partitionItems(live, { role, profile });
  const head = headOf(version, role);
  const lines = rankItems(shown, profile).map((item) => pricedLine(item, tokenizer));
  const fitted = fitToBudget({
    head,
    gone: gone.length,
    lines,
    tokenizer,
    budget,
    margin,
  });
  const left = (items: readonly ContextItem[], why: ContextOmissionReason): ContextOmission[] =>
    items.map((item) => ({ ...placeOf(item), why, tokens: pricedLine(item, tokenizer).tokens }));
  return {
    version,
    text: withBoundary(fitted.text, boundaryFrom(fitted.items.map(({ memory }) => memory))),
    tokens: fitted.tokens,
    items: fitted.items,
    omitted: [
      ...fitted.left.map(({ item, tokens }) => ({
        ...placeOf(item),
        why: "budget" as const,
        tokens,
      })),
      ...left(weightless, "weight"),
      ...left(others, "role"),
      ...gone.map(({ section, key, kind }) => ({ section, key, why: kind, tokens: 0 })),
    ],
  };
}

const placeOf = ({ section, key }: ContextBody): Pick<ContextOmission, "section" | "key"> => ({
  section,
  key,
});

type UnavailableItem = Exclude<LiveItem, { kind: "item" }>;

/** Splits live items into those to show, those without weight, those for other roles and unavailable ones. */
function partitionItems(
  live: readonly LiveItem[],
  { role, profile }: { readonly role: string | undefined; readonly profile: FullProfile },
) {
  const all = live.flatMap((each) => (each.kind === "item" ? [each.item] : []));
  const own = all.filter((item) => isFor(item, role));
  const weighs = (item: ContextItem): boolean => isMust(item) || weightOf(item, profile) > 0;
  return {
    shown: own.filter(weighs),
    weightless: own.filter((item) => !weighs(item)),
    others: all.filter((item) => !isFor(item, role)),
    gone: live.filter((each): each is UnavailableItem => each.kind !== "item"),
  };
}

/** The factor on the weight of a may-constraint, compared with a should. */
const MAY = 0.5;

function weightOf(item: ContextItem, { types }: FullProfile): number {
  const type = MEMORY_TYPE[item.section];
  const weight = Object.hasOwn(types, type) ? (types[type] ?? 1) : 1;
  return item.section === "constraints" && item.level === "may" ? MAY * weight : weight;
}

/**
 * Sorts items: musts first, then by the role's weight times an age factor that is 1 for the oldest item and
 * almost 1.5 for the newest.
 */
export function rankItems(items: readonly ContextItem[], profile: FullProfile): ContextItem[] {
  const byAge = items.toSorted((a, b) => a.version - b.version);
  const worth = new Map(
    byAge.map((item, i) => [item, weightOf(item, profile) * (1 + i / (2 * byAge.length))]),
  );
  const worthOf = (item: ContextItem): number =>
    isMust(item) ? Number.POSITIVE_INFINITY : (worth.get(item) ?? 0);
  return items.toSorted((a, b) => {
    const [x, y] = [worthOf(a), worthOf(b)];
    return x === y ? b.version - a.version : y - x;
  });
}
