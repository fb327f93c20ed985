/**
 * Warnings: what a piece of work carries that was quarantined, whenever that was. Computed from the
 * marks, so that nobody has to have been there when it happened, and that lifting ends them. A work
 * carries what its envelope refers to, and what the envelopes before it did that came to the same
 * delivery: their holder may have seen those.
 */
import { anyMarked, marksOf, type QuarantineMark } from "../memory/quarantine-mark.ts";
import { type AuthoredRecord, type Memory, memoryOf } from "../memory/record.ts";
import type { TrailStep } from "../store/rows.ts";
import type { Claimed } from "../store/store.ts";
import type { Workspace } from "../store/workspace.ts";

export interface Warning extends QuarantineMark {
  /** What was quarantined. */
  readonly memory: string;
}

export async function warningsOf(workspace: Workspace, claimed: Claimed): Promise<Warning[]> {
  if (!(await anyMarked(workspace))) return [];
  const marks = await marksOf(workspace, await carriedBy(workspace, claimed));
  return [...marks].map(([memory, mark]) => ({ memory, ...mark }));
}

/** The handoff records of a delivery, newest first, and all they summarize. */
async function carriedBy(
  { store, name }: Workspace,
  { delivery, envelope }: Claimed,
): Promise<string[]> {
  const carried = new Set<string>();
  const visited = new Set<string>();
  let next = [envelope.memory];
  while (next.length > 0) {
    for (const id of next) visited.add(id);
    const records = (await store.readMemories(name, next)).map(memoryOf);
    const own = records.filter(
      ({ id, trail = [] }) =>
        id === envelope.memory || trail.some((step) => isAbout(step, delivery.id)),
    );
    for (const record of own)
      for (const id of [record.id, ...summarizedBy(record)]) carried.add(id);
    next = own.flatMap(continuedBy).filter((id) => !visited.has(id));
  }
  return [...carried];
}

function isAbout(step: TrailStep, delivery: string): boolean {
  return step.verb === "publish"
    ? step.deliveries.some(([id]) => id === delivery)
    : step.delivery === delivery;
}

const targets = ({ relations = [] }: AuthoredRecord, kind: string): string[] =>
  relations.filter((relation) => relation.kind === kind).map(({ to }) => to);

const summarizedBy = (record: Memory): string[] => targets(record, "summarizes");
const continuedBy = (record: Memory): string[] => targets(record, "continues-from");
