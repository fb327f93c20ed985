/**
 * Adds progress to a task's ledger: what is done, what must not be redone, what is blocked. Every later
 * receiver of the task gets these items, whatever the hops in between leave out, until they are released
 * with a reason.
 */

import { sha256 } from "../base/digest.ts";
import type { CheckedDraft } from "../envelope/schema.ts";
import { blockedOf } from "../envelope/seal.ts";
import type { Provenance, StoredProgress } from "../memory/stored-ledger.ts";
import type { ResolvedLedger } from "./ledger.ts";

/** A progress item that a handoff adds. */
export type NewProgress = Omit<StoredProgress, keyof Provenance>;

type ReportedProgress = Partial<Pick<CheckedDraft, "blocked" | "doNotRedo" | "done">>;

/** Returns the items that a handoff reports and the ledger does not contain yet. */
export function addedProgress(
  { progress, task }: Pick<ResolvedLedger, "progress" | "task">,
  { blocked = [], doNotRedo = [], done = [] }: ReportedProgress,
): NewProgress[] {
  const reported = [
    ...blocked.map(blockedOf).map(({ what, on }, i) => item("blocked", i, what, on)),
    ...doNotRedo.map((text, i) => item("doNotRedo", i, text)),
    ...done.map((text, i) => item("done", i, text)),
  ];
  const known = new Set(progress.map(({ kind, text }) => keyOf(kind, text)));
  const taken = new Set(progress.filter((each) => each.task === task).map(({ id }) => id));
  return reported.flatMap((each) => {
    const key = keyOf(each.kind, each.text);
    if (known.has(key)) return [];
    known.add(key);
    const named = { ...each, id: freeId(each, taken) };
    taken.add(named.id);
    return [named];
  });
}

type ProgressWithoutId = Omit<NewProgress, "id">;

const item = (
  kind: StoredProgress["kind"],
  i: number,
  text: string,
  on?: string,
): ProgressWithoutId => ({
  kind,
  path: `${kind}[${i}]`,
  text,
  ...(on === undefined ? {} : { on }),
});

const keyOf = (kind: string, text: string): string => `${kind} ${text}`;

const PREFIX: Readonly<Record<StoredProgress["kind"], string>> = {
  blocked: "blocked",
  doNotRedo: "redo",
  done: "done",
};

/** Returns an id short enough to appear in a view; longer only if two items would get the same id. */
function freeId({ kind, text }: ProgressWithoutId, taken: ReadonlySet<string>): string {
  const digest = sha256(text);
  let length = 6;
  while (taken.has(`${PREFIX[kind]}-${digest.slice(0, length)}`)) length++;
  return `${PREFIX[kind]}-${digest.slice(0, length)}`;
}
