/**
 * Updates about accepted work: the lease was lost, the sender extended the handoff, or a memory it builds on
 * was quarantined. Served by `GET /v1/work/:handle/news`, with long polling.
 */

import { canonicalJson, sha256 } from "../base/digest.ts";
import { type BatonError, isBatonError } from "../base/errors.ts";
import type { Warning } from "../delivery/work/warnings.ts";
import type { LocalAgent } from "../hub/agent.ts";
import type { LocalWork } from "../hub/local-work.ts";
import type { SerializedWork } from "../hub/serialized.ts";
import type { LongPoll } from "./long-poll.ts";

/** What has happened to the work since the version its holder knows. */
export interface WorkUpdates {
  /** Set when the lease was lost: the error that every other call throws. */
  readonly lost?: object | undefined;
  /** The newest envelope, when the sender has extended the handoff. */
  readonly extended?: SerializedWork["envelope"] | undefined;
  /** The primer of that envelope. */
  readonly primer?: string | undefined;
  /** Every warning that applies now. */
  readonly warnings: readonly Warning[];
  /** A digest of the warnings, to be passed back as `warned`. */
  readonly warned: string;
}

/** What the holder has seen last. */
interface LastSeenWork {
  readonly handle: string;
  readonly envelope?: string | undefined;
  readonly warned?: string | undefined;
}

/** Returns the updates, waiting for one until the long poll ends. */
export async function readWorkUpdates(
  agent: LocalAgent,
  known: LastSeenWork,
  { wait, signal }: LongPoll,
): Promise<WorkUpdates> {
  try {
    const work = await agent.held(known.handle, known.envelope);
    const seen = { ...known, envelope: work.envelope.id };
    const now = await pollUpdates(agent, seen);
    if (!wait || hasUpdates(now, seen)) return now;
    return await waitForUpdates(agent, work, seen, signal);
  } catch (error) {
    if (!isLost(error)) throw error;
    return { lost: error.toJSON(), warnings: [], warned: digestOf([]) };
  }
}

const isLost = (error: unknown): error is BatonError =>
  isBatonError(error) && (error.code === "lease_lost" || error.code === "cancelled");

async function pollUpdates(
  agent: LocalAgent,
  { handle, envelope }: LastSeenWork,
): Promise<WorkUpdates> {
  const work = await agent.resume(handle); // A holder that polls is alive: this renews its lease.
  const warnings = await work.warnings();
  const extended = work.envelope as WorkUpdates["extended"];
  return {
    ...(extended?.id === envelope ? {} : { extended, primer: work.primer }),
    warnings,
    warned: digestOf(warnings),
  };
}

/** A holder that passes no `warned` has seen no warnings. */
const hasUpdates = ({ extended, warned }: WorkUpdates, known: LastSeenWork): boolean =>
  extended !== undefined || warned !== (known.warned ?? digestOf([]));

const digestOf = (warnings: WorkUpdates["warnings"]): string =>
  sha256(canonicalJson(warnings, "invalid_input")).slice(0, 16);

/** Polls on every event of the work, because an event may report what the holder already knows. */
async function waitForUpdates(
  agent: LocalAgent,
  work: LocalWork,
  known: LastSeenWork,
  signal: AbortSignal,
): Promise<WorkUpdates> {
  let changed = Promise.withResolvers<void>();
  const onChange = (): void => changed.resolve();
  signal.addEventListener("abort", onChange);
  work.on("extended", onChange);
  work.on("warned", onChange);
  work.signal.addEventListener("abort", onChange);
  if (signal.aborted) onChange();
  try {
    for (;;) {
      await changed.promise;
      changed = Promise.withResolvers();
      const now = await pollUpdates(agent, known);
      if (signal.aborted || hasUpdates(now, known)) return now;
    }
  } finally {
    signal.removeEventListener("abort", onChange);
    work.unwatch();
  }
}
