/** Lists the active reservations: all of them, or those that overlap with given globs. */

import * as z from "zod";
import { type Glob as Parsed, parseGlobs } from "../../base/globs.ts";
import { checkLimit, FORMAT_LIMITS } from "../../base/limits.ts";
import { type Page, pageOf } from "../../base/page.ts";
import { AgentName, DeliveryId, Name } from "../../envelope/schema.ts";
import { parseOrThrow } from "../../envelope/violations.ts";
import { entriesOf } from "../../workspace/entries.ts";
import { storeTime } from "../../workspace/store-time.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import { findOverlap } from "./conflicts.ts";
import {
  type Candidate,
  candidateOf,
  filterActive,
  RESERVATION,
  type Reservation,
} from "./reservation.ts";

const Glob = z.string().min(1).max(FORMAT_LIMITS.lineLength);
const Globs = z.array(Glob).min(1).max(FORMAT_LIMITS.listItems);

/** Parses one glob or a list of globs. Throws `invalid_input`. */
export const checkedGlobs = (globs: string | readonly string[], path: string): readonly Parsed[] =>
  parseGlobs(
    parseOrThrow(Globs, typeof globs === "string" ? [globs] : globs, {
      code: "invalid_input",
      what: "The globs",
      prefix: path,
    }),
    { path },
  );

/** The query of `tasks.reservations()`. */
export const ReservationsSchema = z.strictObject({
  /** The `next` of the page before. */
  after: DeliveryId.optional(),
  agent: AgentName.optional(),
  limit: z.int().positive().optional(),
  task: Name.optional(),
  /** Only reservations that overlap with these globs. */
  touching: z.union([z.string(), z.array(z.string())]).optional(),
});
export type ReservationsQuery = z.input<typeof ReservationsSchema>;

/**
 * Returns a page of active reservations, in the order their work was sent. Default limit: `limits.pageSize`.
 */
export async function listReservations(
  workspace: Workspace,
  query: ReservationsQuery,
): Promise<Page<Reservation>> {
  const { limits } = workspace;
  const {
    after,
    limit = limits.pageSize,
    touching,
    ...filter
  } = parseOrThrow(ReservationsSchema, query, { code: "invalid_input", what: "The query" });
  checkLimit(limits, "pageSize", { actual: limit, path: "limit" });
  const globs = touching === undefined ? undefined : checkedGlobs(touching, "touching");
  const now = await storeTime(workspace);
  const good: Reservation[] = [];
  let some: Candidate[] = [];
  for await (const entry of entriesOf(workspace, RESERVATION, "", after)) {
    const candidate = candidateOf(entry);
    if (matchesFilter(candidate, filter, globs)) some.push(candidate);
    if (some.length <= limit - good.length) continue;
    good.push(...(await filterActive(workspace, some, now)));
    some = [];
    if (good.length > limit) break;
  }
  good.push(...(await filterActive(workspace, some, now)));
  return pageOf(good, limit, ({ delivery }) => delivery);
}

function matchesFilter(
  { kept }: Candidate,
  filter: { readonly agent?: string | undefined; readonly task?: string | undefined },
  globs: readonly Parsed[] | undefined,
): boolean {
  const { agent = kept.agent, task = kept.task } = filter;
  if (kept.agent !== agent || kept.task !== task) return false;
  return globs === undefined || findOverlap(globs, kept.globs) !== undefined;
}
