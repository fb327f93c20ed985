/**
 * A view as its record holds it: the recipe, packed, so that the largest one fits into a record. Anybody
 * may call a memory a view; what does not read as one is none.
 */
import * as z from "zod";
import type { Recipe } from "../../context/view/recipe.ts";
import { OMISSION_REASONS } from "../../context/view/view.ts";
import {
  DETAIL_LEVELS,
  DeliveryId,
  EnvelopeId,
  MemoryId,
  VIEW_STRATEGIES,
} from "../../envelope/schema.ts";
import { SECTIONS } from "../../profiles/view-parts.ts";

const SectionName = z.enum(SECTIONS);
const Count = z.int().min(0);
const Share = z.number().min(0);
const FRESHNESS = ["fresh", "stale", "gone"] as const;

const PackedRecipeSchema = z.object({
  artifacts: z.array(z.enum([...FRESHNESS, "unchecked"])),
  budget: z.object({
    tokens: z.int().positive(),
    from: z.enum(["call", "envelope", "profile", "window", "default"]),
    tokenizer: z.string(),
    exact: z.boolean(),
    margin: Share,
  }),
  completeness: Share,
  coverage: Share,
  digest: z.string(),
  envelope: EnvelopeId,
  /** Missing from views that were composed before earlier handoffs were shown. */
  earlier: z.array(z.tuple([z.string(), z.string(), Count])).default([]),
  gaps: z.array(z.object({ id: MemoryId, reason: z.string() })),
  /** A part of the envelope by its place alone: #done[0-11]. */
  omitted: z.array(
    z.tuple([
      z.string(),
      SectionName,
      Count,
      z.enum(OMISSION_REASONS),
      z.enum(DETAIL_LEVELS).optional(),
    ]),
  ),
  receiver: z.string(),
  /** An empty string: none. */
  role: z.string(),
  sections: z.array(
    z.object({ section: SectionName, tokens: Count, shown: Count, omitted: Count }),
  ),
  /** By their place in the record's references, or by id. An empty string: nothing to say of it. */
  shown: z.array(
    z.tuple([
      z.union([Count, MemoryId]),
      SectionName,
      z.enum(DETAIL_LEVELS),
      Count,
      z.enum([...FRESHNESS, ""]),
      z.union([MemoryId, z.literal("")]),
    ]),
  ),
  strategy: z.enum(VIEW_STRATEGIES),
  task: z.string(),
  tokens: Count,
  utilisation: Share,
  version: z.string(),
});

/** What the record of a view holds. */
export const StoredViewSchema = z.object({
  /** How it was asked for. */
  asked: z.string(),
  delivery: DeliveryId,
  recipe: PackedRecipeSchema,
});

type PackedRecipe = z.output<typeof PackedRecipeSchema>;

export function packRecipe(
  { shown, earlier, omitted, role = "", ...rest }: Recipe,
  refs: readonly string[],
): PackedRecipe {
  const places = new Map(refs.map((id, i) => [id, i]));
  const { envelope } = rest;
  const nameOf = (id: string): string =>
    id.startsWith(`${envelope}#`) ? id.slice(envelope.length) : id;
  return {
    ...rest,
    artifacts: [...rest.artifacts],
    earlier: earlier.map(({ id, label, tokens }) => [id, label, tokens]),
    gaps: [...rest.gaps],
    role,
    sections: [...rest.sections],
    shown: shown.map(
      ({
        id,
        section,
        level,
        tokens,
        freshness,
        insteadOf = "",
      }): PackedRecipe["shown"][number] => [
        places.get(id) ?? id,
        section,
        level,
        tokens,
        freshness ?? "",
        insteadOf,
      ],
    ),
    omitted: omitted.map(({ id, section, tokens, why, shown: level }) => [
      nameOf(id),
      section,
      tokens,
      why,
      ...(level === undefined ? ([] as const) : ([level] as const)),
    ]),
  };
}

export function unpackRecipe(
  { shown, earlier, omitted, role, ...rest }: PackedRecipe,
  refs: readonly string[],
): Recipe {
  return {
    ...rest,
    ...(role === "" ? {} : { role }),
    earlier: earlier.map(([id, label, tokens]) => ({ id, label, tokens })),
    shown: shown.map(([which, section, level, tokens, freshness, insteadOf]) => ({
      ...{ id: typeof which === "string" ? which : (refs[which] ?? ""), section, level, tokens },
      ...(insteadOf === "" ? {} : { insteadOf }),
      ...(freshness === "" ? {} : { freshness }),
    })),
    omitted: omitted.map(([id, section, tokens, why, level]) => ({
      id: id.startsWith("#") ? `${rest.envelope}${id}` : id,
      section,
      tokens,
      why,
      ...(level === undefined ? {} : { shown: level }),
    })),
  };
}
