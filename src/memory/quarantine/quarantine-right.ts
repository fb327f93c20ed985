/**
 * Checks who may quarantine and lift: an agent may quarantine the records that it wrote itself, and lift what
 * it quarantined of them. The shared context, which binds all agents, and records of other agents are for
 * the keeper roles, and for callers whose token has access coordinator. The rule applies to every record that
 * a call would hide, however the call selects it.
 */
import { BatonError } from "../../base/errors.ts";
import type { MemoryRow } from "../../store/rows.ts";
import { isRowInScope } from "../../store/visibility.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import { checkKeeper, SHARED_TAG } from "../keepers.ts";
import { type Author, memoryOf } from "../record.ts";
import type { QuarantineMark } from "./quarantine-mark.ts";

/** At most this many records are named in an error. */
const MOST_NAMED = 20;

/** Returns whether an agent wrote the record, and it is not an item of the shared context. */
function isOwn(row: MemoryRow, { agent }: Author): boolean {
  const { agent: author, tags = [] } = memoryOf(row);
  return author === agent && !tags.includes(SHARED_TAG);
}

/** Throws `not_permitted` unless the caller may quarantine all of these records. */
export async function requireQuarantineRight(
  workspace: Workspace,
  by: Author,
  rows: readonly MemoryRow[],
): Promise<void> {
  const others = rows.filter((row) => !isOwn(row, by));
  if (others.length === 0) return;
  await requireRole(workspace, by, (may) => {
    const visible = others.filter((row) => isRowInScope(row, workspace.reader));
    const records = visible.slice(0, MOST_NAMED).map(({ id }) => id);
    const number = others.length === rows.length ? "" : `${others.length} of ${rows.length}: `;
    return new BatonError("not_permitted", {
      message: `${by.agent} can quarantine only records that it wrote itself, outside the shared context (${number}${namesOf(records, others.length)}); all others require ${may.join(" or ")}.`,
      path: "what",
      hint: 'Propose it (agent.context.propose({ quarantine: "…" }, { reason: "…" })); it is sent to one of these roles.',
      details: { agent: by.agent, may, records, hidden: others.length - visible.length },
    });
  });
}

/** Throws `not_permitted` unless the caller may lift the quarantine of these records. */
export async function requireLiftRight(
  workspace: Workspace,
  by: Author,
  { rows, marks }: LiftedRecords,
): Promise<void> {
  const own = new Set(rows.filter((row) => isOwn(row, by)).map(({ id }) => id));
  const others = [...marks].filter(([id, mark]) => mark.by !== by.agent || !own.has(id));
  if (others.length === 0) return;
  await requireRole(
    workspace,
    by,
    (may) =>
      new BatonError("not_permitted", {
        message: `${by.agent} can lift only its own quarantine of records that it wrote itself; all others require ${may.join(" or ")}.`,
        path: "what",
        hint: `Ask an agent with one of these roles to lift it.`,
        details: { agent: by.agent, may },
      }),
  );
}

/** The records of a lift, and the marks that they have. */
interface LiftedRecords {
  readonly rows: readonly MemoryRow[];
  readonly marks: ReadonlyMap<string, QuarantineMark>;
}

async function requireRole(
  workspace: Workspace,
  by: Author,
  refusal: (may: readonly string[]) => BatonError,
): Promise<void> {
  if (by.isCoordinator) return;
  const { isKeeper, may } = await checkKeeper(workspace, by.agent);
  if (!isKeeper) throw refusal(may);
}

function namesOf(records: readonly string[], total: number): string {
  const [first] = records;
  if (first === undefined) return total === 1 ? "a private record" : `${total} private records`;
  return total === 1 ? first : `${first} and ${total - 1} more`;
}
