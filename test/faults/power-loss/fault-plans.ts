/** Scenarios with a fault at each write and each sync of a recorded run. */
import type { Recording } from "./power-loss.ts";
import type { Fault, Scenario } from "./scenarios.ts";

/** Longer than any run: the disk stays full, or stays broken. */
const FOR_GOOD = 1_000_000;
/** A failed commit is written twice, and the caller makes three attempts: all of them fail. */
const ALL_ATTEMPTS = 6;

const WRITE_FAULTS = [
  { error: "EIO", times: 1 },
  { error: "EIO", times: FOR_GOOD },
  { error: "ENOSPC", times: 1 },
  { error: "ENOSPC", times: FOR_GOOD },
] as const;
/** A full disk can also be reported at a sync: by file systems that allocate late, by quotas. */
const SYNC_FAULTS = [
  { error: "EIO", times: 1 },
  { error: "EIO", times: ALL_ATTEMPTS },
  { error: "EIO", times: FOR_GOOD },
  { error: "ENOSPC", times: 1 },
] as const;

/** The scenario of each fault at each write and sync that the recorded run made. */
export function faultScenarios({ scenario, calls, notes }: Recording): Scenario[] {
  const count = (...kinds: string[]) => calls.filter(({ kind }) => kinds.includes(kind)).length;
  const writes = faultsAt("write", count("write", "truncate") - notes.length, WRITE_FAULTS);
  const syncs = faultsAt("sync", count("sync"), SYNC_FAULTS);
  return [...writes, ...syncs].map((fault) => ({
    ...scenario,
    name: `${fault.op}-${fault.skip}-${fault.error}-${fault.times}`,
    fault,
  }));
}

const faultsAt = (
  op: Fault["op"],
  count: number,
  kinds: readonly Pick<Fault, "error" | "times">[],
): Fault[] =>
  Array.from({ length: count }, (_, skip) =>
    kinds.map((kind) => ({ op, file: "*", skip, ...kind })),
  ).flat();

/** A checkpoint in the background whose sync fails, after an incomplete one. */
export const failedCheckpoint = (seed: number): Scenario => ({
  name: `checkpoint-${seed}`,
  kind: "long",
  seed,
  fault: { op: "sync", file: "hub.db", skip: 0, times: 1, error: "EIO" },
});
