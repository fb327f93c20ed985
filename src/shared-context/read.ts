/**
 * Reading the shared context: for a role, within a number of tokens. Must-constraints come always, or the
 * call is refused and names them; the rest by what the role looks for, what was written last first, as
 * far as it fits. Read from the store each time, so that nothing is told that was redacted or quarantined
 * a moment ago; only counts of tokens are remembered. The same from the same, whenever it is asked.
 */
import * as z from "zod";
import { Name } from "../envelope/schema.ts";
import { parseOrThrow } from "../envelope/violations.ts";
import type { FullProfile } from "../profiles/role-profiles.ts";
import { roleProfile } from "../profiles/workspace-profiles.ts";
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

export const ContextQuerySchema = z.strictObject({
  /** Counts as this model does, instead of the one the agent is registered with. */
  model: z.string().min(1).optional(),
  /** As for this role, instead of the agent's own. */
  role: Name.optional(),
  sections: z.array(z.enum(CONTEXT_SECTIONS)).min(1).optional(),
  tokens: z.int().positive().default(2_000),
});

export type ContextQuery = z.input<typeof ContextQuerySchema>;

/** Why an item is not shown: no room, for other roles, of no weight to this one, or taken away. */
export type ContextOmissionReason = "budget" | "role" | "weight" | "redacted" | "quarantined";

export interface ContextOmission {
  readonly section: ContextSection;
  readonly key: string;
  readonly why: ContextOmissionReason;
  /** What it would take to show it; 0 of what nobody can be shown. */
  readonly tokens: number;
}

export interface SharedContextText {
  /** How many changes there were: what comes after it is asked for with `changes`. */
  readonly version: number;
  /** To paste; empty where there is no shared context. */
  readonly text: string;
  readonly tokens: number;
  /** What is shown, in order. */
  readonly items: readonly ContextItem[];
  readonly omitted: readonly ContextOmission[];
}

/** Who reads, where the query does not say. */
export interface ContextReader {
  readonly role?: string | undefined;
  readonly model?: string | undefined;
}

const EMPTY_CONTEXT = { text: "", tokens: 0, items: [], omitted: [] } as const;

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
  // First: what is written meanwhile is told again as a change, never missed.
  const { version } = await readContextVersion(workspace);
  if (version === 0) return { version, ...EMPTY_CONTEXT };
  const [live, profile, tokenizer] = await Promise.all([
    liveItems(workspace, asked.sections),
    roleProfile(workspace, role),
    tokenizerFor(model),
  ]);
  // Without a model nobody knows how it counts: then the budget is one of o200k.
  const margin = model === undefined ? 0 : tokenizer.margin;
  const budget = Math.floor(asked.tokens * (1 - margin));
  const { told, weightless, others, gone } = partitionItems(live, { role, profile });
  const head = headOf(version, role);
  const lines = rankItems(told, profile).map((item) => pricedLine(item, tokenizer));
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
    text: fitted.text,
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

/** What may be shown to a role, and what may not. */
function partitionItems(
  live: readonly LiveItem[],
  { role, profile }: { readonly role: string | undefined; readonly profile: FullProfile },
) {
  const all = live.flatMap((each) => (each.kind === "item" ? [each.item] : []));
  const own = all.filter((item) => isFor(item, role));
  const weighs = (item: ContextItem): boolean => isMust(item) || weightOf(item, profile) > 0;
  return {
    told: own.filter(weighs),
    weightless: own.filter((item) => !weighs(item)),
    others: all.filter((item) => !isFor(item, role)),
    gone: live.filter((each): each is UnavailableItem => each.kind !== "item"),
  };
}

/** Of a constraint that only may be kept, less than of one that should. */
const MAY = 0.5;

function weightOf(item: ContextItem, { types }: FullProfile): number {
  const type = MEMORY_TYPE[item.section];
  const weight = Object.hasOwn(types, type) ? (types[type] ?? 1) : 1;
  return item.section === "constraints" && item.level === "may" ? MAY * weight : weight;
}

/** Musts first; then by what the role looks for, of which the newest counts half as much again as the oldest. */
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
