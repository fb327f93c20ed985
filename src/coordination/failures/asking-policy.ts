/** The delivery policy of failure reports: how long the receiver has to decide before the hub does. */

import { FORMAT_LIMITS, type Limits } from "../../base/limits.ts";
import { AT_ONCE_MS } from "../../delivery/settings/policy.ts";
import type { PolicyInput } from "../../envelope/schema.ts";
import { SYSTEM } from "../../memory/system-author.ts";

/** How often a person is reminded before the time is up. */
const REMINDERS = 4;

const capDuration = (ms: number): number => Math.min(ms, FORMAT_LIMITS.durationMs);

/** The agent that is asked. */
interface AskedAgent {
  readonly id?: string;
  readonly kind?: "agent" | "person" | undefined;
}

/**
 * Returns the policy of a report. An agent must accept within `limits.coordinatorMs` and decide within twice
 * that; a person is reminded and has `limits.personMs`; the hub decides at once.
 */
export function askingPolicy(
  { coordinatorMs, personMs }: Limits,
  { id, kind = "agent" }: AskedAgent,
): Exclude<PolicyInput, "direct"> {
  if (id === SYSTEM) return { acceptMs: AT_ONCE_MS };
  const tried = { attempts: FORMAT_LIMITS.attempts, fallback: [SYSTEM] };
  if (kind === "agent") {
    const acceptMs = capDuration(coordinatorMs);
    return { ...tried, acceptMs, deadlineMs: capDuration(2 * coordinatorMs) };
  }
  const remindMs = Math.ceil(capDuration(personMs) / REMINDERS);
  return { ...tried, remindMs, deadlineMs: capDuration(personMs) };
}
