/** How long whoever is asked has to decide about a failure; then it goes to the hub. */

import { FORMAT_LIMITS, type Limits } from "../../base/limits.ts";
import { AT_ONCE_MS } from "../../delivery/settings/policy.ts";
import type { PolicyInput } from "../../envelope/schema.ts";
import { SYSTEM } from "../../memory/agents.ts";

/** A person is reminded so often before its time is up. */
const REMINDERS = 4;

const capDuration = (ms: number): number => Math.min(ms, FORMAT_LIMITS.durationMs);

/** Who is asked, as far as that goes. */
interface AskedAgent {
  readonly id?: string;
  readonly kind?: "agent" | "person" | undefined;
}

/**
 * An agent accepts it in time, and then decides in time; a person is reminded until its time is up; the hub
 * decides at once.
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
