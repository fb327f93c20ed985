/** Lists the failures of a workspace: those that wait for a decision, then decided ones. */

import * as z from "zod";
import { checkLimit } from "../../base/limits.ts";
import type { Page } from "../../base/page.ts";
import { Name } from "../../envelope/schema.ts";
import { parseOrThrow } from "../../envelope/violations.ts";
import {
  DECISION,
  FAILURE,
  type FailedAttempt,
  failedAttemptName,
  failedAttemptOf,
  listDecisions,
  type StoredFailure,
} from "../../history/failure-decisions.ts";
import { isOpen } from "../../store/rows.ts";
import { entriesOf, entryValue } from "../../workspace/entries.ts";
import { runFollowUp } from "../../workspace/follow-up.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import {
  deleteFailureEntry,
  type FailureSnapshot,
  failureStatusOf,
  findFailure,
  findFailureByAttempt,
} from "./find-failure.ts";
import { type FailureInfo, failureInfoOf } from "./info.ts";
import { adviceOn, type Proposal } from "./proposals.ts";

/** The cursor of a page: a position among the waiting or among the decided failures. */
const CURSOR = /^(open|decided):([^#]+)#(\d{1,9})$/;

const FailureCursor = z.string().refine((text) => CURSOR.test(text), {
  error: "is not a valid cursor",
  params: { rule: "cursor", hint: "Pass `next` of the previous page." },
});

/** The query of `failures.list()`. */
export const FailuresQuerySchema = z.strictObject({
  /** The `next` of the page before. */
  after: FailureCursor.optional(),
  limit: z.int().positive().optional(),
  task: Name.optional(),
  /** True: only failures that wait for a decision. Default: false. */
  undecided: z.boolean().default(false),
});
export type FailuresQuery = z.input<typeof FailuresQuerySchema>;

/** A failure, with what the rules would decide while it waits for a decision. */
export interface ListedFailure extends FailureInfo {
  readonly advice?: Proposal | undefined;
}

/**
 * Returns a page of failures: those that wait for a decision first, then decided ones. Default limit:
 * `limits.pageSize`.
 */
export async function listFailures(
  workspace: Workspace,
  query: FailuresQuery,
): Promise<Page<ListedFailure>> {
  const { limits } = workspace;
  const how = { code: "invalid_input", what: "The query" } as const;
  const {
    after,
    limit = limits.pageSize,
    task,
    undecided,
  } = parseOrThrow(FailuresQuerySchema, query, how);
  checkLimit(limits, "pageSize", { actual: limit, path: "limit" });
  const items: ListedFailure[] = [];
  let next: string | undefined;
  for await (const { of, cursor } of listAttempts(workspace, { after, task, undecided })) {
    const found = await findFailureByAttempt(workspace, of);
    if (isWithdrawn(found)) {
      const isOver = failureStatusOf(found, workspace.clock.now()) !== "pending";
      if (isOver)
        await runFollowUp(`forget ${of.delivery}`, () => deleteFailureEntry(workspace, of));
      continue;
    }
    if (items.length === limit) return next === undefined ? { items } : { items, next };
    items.push(await listedFailureOf(workspace, found));
    next = cursor;
  }
  return { items };
}

/** Returns one failure, by the delivery that was given up or by its report. Throws `unknown_delivery`. */
export async function showFailure(workspace: Workspace, id: string): Promise<ListedFailure> {
  return listedFailureOf(workspace, await findFailure(workspace, id));
}

async function listedFailureOf(
  workspace: Workspace,
  found: FailureSnapshot,
): Promise<ListedFailure> {
  const info = await failureInfoOf(workspace, found);
  if (found.decision !== undefined) return info;
  const advice = await adviceOn(workspace, info);
  return { ...info, ...(advice && { advice }) };
}

/** Returns true if the report was closed without a decision. */
const isWithdrawn = ({ report, decision }: FailureSnapshot): boolean =>
  decision === undefined && (report === undefined || !isOpen(report.delivery.state));

interface FailureFilter {
  readonly after: string | undefined;
  readonly task: string | undefined;
  readonly undecided: boolean;
}

interface ListedAttempt {
  readonly of: FailedAttempt;
  readonly cursor: string;
}

const listedAttemptOf = (part: "open" | "decided", of: FailedAttempt): ListedAttempt => ({
  of,
  cursor: `${part}:${of.delivery}#${of.attempt}`,
});

async function* listAttempts(
  workspace: Workspace,
  which: FailureFilter,
): AsyncGenerator<ListedAttempt> {
  const { after, task, undecided } = which;
  const [, part, delivery = "", attempt] = CURSOR.exec(after ?? "") ?? [];
  const last =
    part === undefined ? undefined : failedAttemptName({ delivery, attempt: Number(attempt) });
  if (part !== "decided") {
    for await (const entry of entriesOf(workspace, FAILURE, "", last)) {
      const kept = entryValue<StoredFailure>(entry);
      if (task === undefined || kept?.task === task)
        yield listedAttemptOf("open", failedAttemptOf(entry));
    }
  }
  if (undecided) return;
  const from = part === "decided" ? last : undefined;
  const all =
    task === undefined
      ? listDecidedAttempts(workspace, from)
      : listDecidedAttemptsOfTask(workspace, task, from);
  for await (const of of all) yield listedAttemptOf("decided", of);
}

async function* listDecidedAttempts(
  workspace: Workspace,
  from: string | undefined,
): AsyncGenerator<FailedAttempt> {
  for await (const entry of entriesOf(workspace, DECISION, "", from)) yield failedAttemptOf(entry);
}

/** Lists them in the order of their names, like the others, so that a page can continue after any of them. */
async function* listDecidedAttemptsOfTask(
  workspace: Workspace,
  task: string,
  from = "",
): AsyncGenerator<FailedAttempt> {
  const line = await workspace.store.readLine(workspace.name, task);
  const ids = new Set(line.flatMap(({ deliveries }) => deliveries.map(({ id }) => id)));
  for (const delivery of [...ids].sort()) {
    const attempts = (await listDecisions(workspace, delivery)).map(({ attempt }) => attempt);
    const names = attempts.map((attempt) => failedAttemptName({ delivery, attempt })).sort();
    for (const name of names) if (name > from) yield failedAttemptOf({ name });
  }
}
