/** Failures of a workspace: what waits for a decision, and what was decided. */
import * as z from "zod";
import { checkLimit } from "../../base/limits.ts";
import { DeliveryId, Name } from "../../envelope/schema.ts";
import { parseOr } from "../../envelope/violations.ts";
import {
  DECISION,
  decisionsOn,
  FAILURE,
  type GivenUpTry,
  type KeptFailure,
  tryName,
  tryOf,
} from "../../history/failure-decisions.ts";
import { isOpen } from "../../store/rows.ts";
import { entriesOf, entryValue } from "../../workspace/entries.ts";
import { followUp } from "../../workspace/follow-up.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import { type Found, findFailure, findTry, forget, standingOf } from "./found.ts";
import { type FailureInfo, infoOf } from "./info.ts";
import { adviceOn, type Proposal } from "./proposals.ts";

export const FailuresQuerySchema = z.strictObject({
  /** Of what was decided, only after this one: the last of a page is the cursor for the next. */
  after: z.looseObject({ delivery: DeliveryId, attempt: z.int().min(0) }).optional(),
  limit: z.int().positive().optional(),
  task: Name.optional(),
  /** Only what waits for a decision. */
  undecided: z.boolean().default(false),
});
export type FailuresQuery = z.input<typeof FailuresQuerySchema>;

/** A failure, and what the rules would do about it where nobody has decided. */
export interface ListedFailure extends FailureInfo {
  readonly advice?: Proposal | undefined;
}

/** What waits for a decision first (on the first page), then what was decided. */
export async function listFailures(
  workspace: Workspace,
  query: FailuresQuery,
): Promise<readonly ListedFailure[]> {
  const { limits } = workspace;
  const how = { code: "invalid_input", what: "The query" } as const;
  const {
    after,
    limit = limits.pageSize,
    task,
    undecided,
  } = parseOr(FailuresQuerySchema, query, how);
  checkLimit(limits, "pageSize", { actual: limit, path: "limit" });
  const listed: ListedFailure[] = [];
  for await (const of of tries(workspace, { after, task, undecided })) {
    const found = await findTry(workspace, of);
    if (isTakenBack(found)) {
      const isOver = standingOf(found, workspace.clock.now()) !== "pending";
      if (isOver) await followUp(`forget ${of.delivery}`, () => forget(workspace, of));
      continue;
    }
    listed.push(await listedAs(workspace, found));
    if (listed.length >= limit) break;
  }
  return listed;
}

/** One, by what was given up or by its report. */
export async function showFailure(workspace: Workspace, id: string): Promise<ListedFailure> {
  return listedAs(workspace, await findFailure(workspace, id));
}

async function listedAs(workspace: Workspace, found: Found): Promise<ListedFailure> {
  const info = await infoOf(workspace, found);
  if (found.decision !== undefined) return info;
  const advice = await adviceOn(workspace, info);
  return { ...info, ...(advice && { advice }) };
}

/** Nobody is to decide about it any more, and nobody has. */
const isTakenBack = ({ report, decision }: Found): boolean =>
  decision === undefined && (report === undefined || !isOpen(report.delivery.state));

interface Which {
  readonly after: GivenUpTry | undefined;
  readonly task: string | undefined;
  readonly undecided: boolean;
}

async function* tries(workspace: Workspace, which: Which): AsyncGenerator<GivenUpTry> {
  const { after, task, undecided } = which;
  for await (const entry of after === undefined ? entriesOf(workspace, FAILURE) : []) {
    const kept = entryValue<KeptFailure>(entry);
    if (task === undefined || kept?.task === task) yield tryOf(entry);
  }
  if (undecided) return;
  if (task === undefined) yield* decided(workspace, after);
  else yield* decidedOf(workspace, task);
}

async function* decided(
  { store, name: workspace, limits }: Workspace,
  from: GivenUpTry | undefined,
): AsyncGenerator<GivenUpTry> {
  const limit = limits.pageSize;
  let after = from && tryName(from);
  for (;;) {
    const cursor = after === undefined ? {} : { after };
    const page = await store.listEntries({ workspace, kind: DECISION, limit, ...cursor });
    yield* page.map(tryOf);
    if (page.length < limit) return;
    after = page.at(-1)?.name;
  }
}

async function* decidedOf(workspace: Workspace, task: string): AsyncGenerator<GivenUpTry> {
  const line = await workspace.store.readLine(workspace.name, task);
  const ids = new Set(line.flatMap(({ deliveries }) => deliveries.map(({ id }) => id)));
  for (const delivery of ids) {
    for (const { attempt } of await decisionsOn(workspace, delivery)) yield { delivery, attempt };
  }
}
