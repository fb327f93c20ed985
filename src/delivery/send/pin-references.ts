/**
 * Pins the references of a handoff: stores the digest of what each points to at the time of sending. A
 * handoff with a reference that cannot be resolved is refused, unless the sender marked the reference as
 * optional: then it becomes a gap. Gaps in the work that the sender itself received are passed on.
 */

import { BatonError } from "../../base/errors.ts";
import { FORMAT_LIMITS } from "../../base/limits.ts";
import { gapReason } from "../../context/view/freshness.ts";
import type { CheckedDraft, Envelope } from "../../envelope/schema.ts";
import { marksOf, refuseQuarantined } from "../../memory/quarantine/quarantine-mark.ts";
import { readVisible } from "../../memory/read.ts";
import { memoryOf } from "../../memory/record.ts";
import type { ViewGap } from "../../memory/view-gap.ts";
import { digestOf, redactionOf } from "../../store/redaction.ts";
import type { MemoryRow } from "../../store/rows.ts";
import { ANONYMOUS_READER, isRowInScope } from "../../store/visibility.ts";
import type { Workspace } from "../../workspace/workspace.ts";

/** The pinned references of a handoff, and those that could not be resolved. */
export interface PinnedReferences {
  readonly refs: Envelope["refs"];
  readonly gaps: readonly ViewGap[];
}

/** Pins the references of a draft. Throws `dangling_reference`, `invisible_reference` and `quarantined`. */
export async function pinReferences(
  workspace: Workspace,
  draft: CheckedDraft,
  carried: readonly ViewGap[] = [],
): Promise<PinnedReferences> {
  const wanted = draft.refs.map((ref) => (typeof ref === "string" ? { id: ref } : ref));
  if (wanted.length === 0) return { refs: [], gaps: carried };
  const ids = wanted.map((ref) => ref.id);
  const rows = new Map((await readVisible(workspace, ids)).map((row) => [row.id, row]));
  refusePrivate([...rows.values()], ids);
  const cited = wanted.map(({ id, optional }, i) => ({ id, optional, path: `refs[${i}]` }));
  for (const { id, optional, path } of cited) {
    if (!optional && !rows.has(id)) throw dangling(id, path);
  }
  await refuseQuarantined(
    workspace,
    cited.filter(({ optional }) => !optional),
  );
  const own = await missingOf(
    workspace,
    wanted.filter(({ optional }) => optional).map(({ id }) => id),
    rows,
  );
  const refs = wanted.flatMap(({ optional: _, ...ref }) => {
    const row = rows.get(ref.id);
    return row === undefined || own.has(ref.id) ? [] : [{ digest: digestOf(row), ...ref }];
  });
  const named = new Set([...ids]);
  const gaps = [...own.values(), ...carried.filter(({ id }) => !named.has(id))];
  return { refs, gaps: gaps.slice(0, FORMAT_LIMITS.references) };
}

/** Returns a gap for each optional reference with nothing to show: missing, quarantined or redacted. */
async function missingOf(
  workspace: Workspace,
  optional: readonly string[],
  rows: ReadonlyMap<string, MemoryRow>,
): Promise<ReadonlyMap<string, ViewGap>> {
  const marks = await marksOf(workspace, optional);
  return new Map(
    optional
      .filter((id) => {
        const row = rows.get(id);
        return row === undefined || marks.has(id) || redactionOf(row) !== undefined;
      })
      .map((id) => {
        const row = rows.get(id);
        return [id, { id, reason: gapReason(row && memoryOf(row), marks.get(id)) }];
      }),
  );
}

function dangling(reference: string, path: string): BatonError {
  return new BatonError("dangling_reference", {
    message: `${path}: memory ${reference} does not exist.`,
    path,
    hint: 'Check the id and the workspace, or mark the reference as optional: { id: "mem_…", optional: true }.',
    details: { reference },
  });
}

/** Refuses private records: any agent may read a handoff, its record, and what it references. */
function refusePrivate(rows: readonly MemoryRow[], ids: readonly string[]): void {
  const hidden = rows.find((row) => !isRowInScope(row, ANONYMOUS_READER));
  if (hidden === undefined) return;
  const path = `refs[${ids.indexOf(hidden.id)}]`;
  throw new BatonError("invisible_reference", {
    message: `${path}: ${hidden.id} is private, but any agent can read what a handoff references.`,
    path,
    hint: "Write what matters of it into the handoff, or into a memory with scope team.",
    details: { reference: hidden.id },
  });
}
