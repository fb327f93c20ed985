/** How long whoever is asked has to decide about a failure; then it goes to the hub. */
import type { PolicyInput } from "../../envelope/schema.ts";
import { FORMAT_LIMITS, type Limits } from "../../limits.ts";
import { SYSTEM } from "../../memory/agents.ts";

/** A person is reminded so often before its time is up. */
const REMINDERS = 4;

const within = (ms: number): number => Math.min(ms, FORMAT_LIMITS.durationMs);

/** An agent accepts it in time, and then decides in time; a person is reminded until its time is up. */
export function askingPolicy(
  { coordinatorMs, personMs }: Limits,
  kind: "agent" | "person",
): Exclude<PolicyInput, "direct"> {
  const tried = { attempts: FORMAT_LIMITS.attempts, fallback: [SYSTEM] };
  if (kind === "agent") {
    const acceptMs = within(coordinatorMs);
    return { ...tried, acceptMs, deadlineMs: within(2 * coordinatorMs) };
  }
  const remindMs = Math.ceil(within(personMs) / REMINDERS);
  return { ...tried, remindMs, deadlineMs: within(personMs) };
}
