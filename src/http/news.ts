/**
 * What a holder is told of without having asked for anything else: that the work is not its own any more,
 * that the sender added to it, that something it carries was quarantined.
 */

import { canonicalJson, sha256 } from "../base/canonical.ts";
import { type BatonError, isBatonError } from "../base/errors.ts";
import type { LocalAgent } from "../hub/agent.ts";
import type { LocalWork } from "../hub/work.ts";
import type { InputOf, WorkNews } from "../wire/calls.ts";
import type { Waiting } from "./wait.ts";

/** What the holder knows. */
type Known = Omit<InputOf<"awaitWork">, "waitMs">;

/** The news there are, or will be before the wait is over. */
export async function newsOf(
  agent: LocalAgent,
  known: Known,
  { wait, signal }: Waiting,
): Promise<WorkNews> {
  try {
    const work = await agent.held(known.handle, known.envelope);
    const told = { ...known, envelope: work.envelope.id };
    const now = await look(agent, told);
    if (!wait || isNews(now, told)) return now;
    return await watch(agent, work, told, signal);
  } catch (error) {
    if (!isLost(error)) throw error;
    return { lost: error.toJSON(), warnings: [], warned: digestOf([]) };
  }
}

const isLost = (error: unknown): error is BatonError =>
  isBatonError(error) && (error.code === "lease_lost" || error.code === "cancelled");

async function look(agent: LocalAgent, { handle, envelope }: Known): Promise<WorkNews> {
  const work = await agent.resume(handle); // Who listens is there: its lease is renewed.
  const warnings = await work.warnings();
  const extended = work.envelope as WorkNews["extended"];
  return {
    ...(extended?.id === envelope ? {} : { extended }),
    warnings,
    warned: digestOf(warnings),
  };
}

/** Whoever was never told of warnings knows of none. */
const isNews = ({ extended, warned }: WorkNews, known: Known): boolean =>
  extended !== undefined || warned !== (known.warned ?? digestOf([]));

const digestOf = (warnings: WorkNews["warnings"]): string =>
  sha256(canonicalJson(warnings, "invalid_input")).slice(0, 16);

/** Looks each time the work stirs; what it tells may be known already. */
async function watch(
  agent: LocalAgent,
  work: LocalWork,
  known: Known,
  signal: AbortSignal,
): Promise<WorkNews> {
  let stirred = Promise.withResolvers<void>();
  const stir = (): void => stirred.resolve();
  signal.addEventListener("abort", stir);
  work.onExtended = stir;
  work.onWarned = stir;
  work.signal.addEventListener("abort", stir);
  if (signal.aborted) stir();
  try {
    for (;;) {
      await stirred.promise;
      stirred = Promise.withResolvers();
      const now = await look(agent, known);
      if (signal.aborted || isNews(now, known)) return now;
    }
  } finally {
    signal.removeEventListener("abort", stir);
    work.unwatch();
  }
}
