/**
 * The recipe of a view as stored in its record: packed, so that the largest one fits into a record. Any agent
 * can write a memory of type view; one that does not match the schema is ignored.
 */
import * as z from "zod";
import type { Recipe } from "../../context/view/recipe.ts";
import { OMISSION_REASONS, UNCHECKED_REASONS } from "../../context/view/view.ts";
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
  artifacts: z.array(z.enum([...FRESHNESS, "unchecked", ...UNCHECKED_REASONS])),
  boundary: z.string().regex(/^\d{3}$/),
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
  /** Absent from views that were composed before earlier handoffs were included. */
  earlier: z.array(z.tuple([z.string(), z.string(), Count])).default([]),
  gaps: z.array(z.object({ id: MemoryId, reason: z.string() })),
  /** Parts of the envelope are stored without its id: #done[0-11]. */
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
  /** Empty if the receiver has no role. */
  role: z.string(),
  sections: z.array(
    z.object({ section: SectionName, tokens: Count, shown: Count, omitted: Count }),
  ),
  /** By their index in the record's references, or by id. An empty string stands for an absent value. */
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

/** The data of a view's record. */
export const StoredViewSchema = z.object({
  /** The options it was requested with, as JSON. */
  asked: z.string(),
  delivery: DeliveryId,
  recipe: PackedRecipeSchema,
});

type PackedRecipe = z.output<typeof PackedRecipeSchema>;

/** Packs a recipe for storage; records are replaced by their index in `refs`. */
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

/** Returns a stored recipe in its original form. */
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
