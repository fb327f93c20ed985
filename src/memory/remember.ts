/** Writes memories: one or many, all or none. */
import { BatonError } from "../base/errors.ts";
import { checkLimit } from "../base/limits.ts";
import type { PutEntry } from "../store/store.ts";
import type { Workspace } from "../workspace/workspace.ts";
import { citationsOf } from "./citations.ts";
import { refuseQuarantined } from "./quarantine/quarantine-mark.ts";
import { readVisible } from "./read.ts";
import {
  type Author,
  type Memory,
  type MemoryInput,
  memoryOf,
  placedMemory,
  type WrittenRecord,
  writeRecord,
} from "./record.ts";
import { refuseInvisibleReferences } from "./reference-visibility.ts";
import { refusalError } from "./refusals.ts";

/** Writes memories and returns them. Throws if any of them is refused; then none is written. */
export async function remember(
  workspace: Workspace,
  author: Author,
  inputs: readonly MemoryInput[],
): Promise<Memory[]> {
  const memories = await rememberWithEntries(workspace, author, inputs, []);
  if (memories === undefined)
    throw new Error("unexpected entry_changed for a write without entries");
  return memories;
}

/** Writes memories and entries together; returns undefined, with nothing written, if an entry has changed. */
export async function rememberWithEntries(
  workspace: Workspace,
  author: Author,
  inputs: readonly MemoryInput[],
  entries: readonly PutEntry[],
): Promise<Memory[] | undefined> {
  const written = writeAll(workspace, author, inputs);
  const single = inputs.length === 1;
  // Memories without references skip these checks, so that writes of one turn keep their order.
  if (written.some(({ record }) => record.mentions.length > 0)) {
    await refuseInvisibleReferences(workspace, written);
    const cited = inputs.flatMap((input, i) => citationsOf(input, single ? "" : `[${i}]`));
    await refuseQuarantined(workspace, cited);
  }
  const outcome = await workspace.store.appendMemories({
    workspace: workspace.name,
    branch: workspace.branch,
    memories: written.map(({ record }) => record),
    ...(entries.length === 0 ? {} : { entries }),
  });
  switch (outcome.kind) {
    case "appended":
      return outcome.places.map((place, i) =>
        placedMemory(written[i] as WrittenRecord, place, workspace.branch),
      );
    case "id_taken": {
      const before = await findEarlierWrite(workspace, written);
      if (before !== undefined) return before;
      throw await refusalError(workspace, outcome);
    }
    case "entry_changed":
      return undefined;
    case "lease_lost":
    case "tip_moved":
      throw new Error(`unexpected outcome of writing memories: ${outcome.kind}`);
    default:
      throw await refusalError(workspace, outcome);
  }
}

/** Creates records from inputs. Throws `invalid_input` for an empty list, `limit_exceeded` (appendBatch). */
export function writeAll(
  workspace: Workspace,
  author: Author,
  inputs: readonly MemoryInput[],
): WrittenRecord[] {
  if (inputs.length === 0) {
    throw new BatonError("invalid_input", {
      message: "The list of memories is empty.",
      hint: "Pass at least one memory.",
    });
  }
  checkLimit(workspace.limits, "appendBatch", { actual: inputs.length, path: "memories" });
  const { ids, clock, limits, branch } = workspace;
  const context = { ids, now: clock.now(), limits, branch };
  const single = inputs.length === 1;
  return inputs.map((input, i) => writeRecord(author, input, context, single ? "" : `[${i}]`));
}

/**
 * Finds the result of an earlier write with the same ids and content, so that a caller with its own ids can
 * retry when it does not know whether its write succeeded. Undefined if ids or content differ.
 */
export async function findEarlierWrite(
  workspace: Workspace,
  written: readonly WrittenRecord[],
): Promise<Memory[] | undefined> {
  const records = written.map(({ record }) => record);
  const ids = records.map((record) => record.id);
  const stored = await readVisible(workspace, ids);
  if (stored.length !== records.length) return undefined;
  const same = records.every(
    (record, i) => essence(record.text) === essence(stored[i]?.text ?? "{}"),
  );
  return same ? stored.map(memoryOf) : undefined;
}

/** Returns what the author wrote, without salt, time, session and witness, which differ in a retry. */
function essence(text: string): string {
  const {
    salt: _salt,
    createdAt: _at,
    instance: _i,
    session: _s,
    witness: _w,
    ...meant
  } = JSON.parse(text);
  return JSON.stringify(meant);
}
