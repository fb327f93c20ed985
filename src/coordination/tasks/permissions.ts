/**
 * Checks which agents may close, reopen or cancel a task: the agents that added it, sent a handoff of it or
 * held work of it, and agents with the role coordinator or a role in `settings.releasers`.
 */
import { BatonError } from "../../base/errors.ts";
import { readReleasers } from "../../ledger/releasers.ts";
import type { Author } from "../../memory/record.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import type { TaskSnapshot } from "./read.ts";

const COORDINATOR = "coordinator";

/** Throws `not_permitted` if the agent may not do this to the task. */
export async function requireTaskPermission(
  workspace: Workspace,
  { agent }: Author,
  { task, kept, parts }: TaskSnapshot,
  verb: "cancelled" | "closed" | "reopened",
): Promise<void> {
  const named = new Set([
    kept.begun.by,
    ...(kept.queue ? [kept.queue.by] : []),
    ...parts.flatMap(({ delivery, envelope }) => [envelope.sender, delivery.holder]),
  ]);
  if (named.has(agent)) return;
  const roles = new Set([COORDINATOR, ...(await readReleasers(workspace))]);
  // The current role of the agent, not the one at the start of its session.
  const registered = await workspace.store.findAgent(workspace.name, agent);
  if (registered !== undefined && roles.has(registered.role)) return;
  const may = [...named].filter(Boolean).sort();
  const allowed = [...may, ...[...roles].map((role) => `role:${role}`)];
  throw new BatonError("not_permitted", {
    message: `${agent} may not do this: task "${task}" may be ${verb} only by ${allowed.join(", ")}.`,
    path: "task",
    hint: "Ask one of these agents; hub.settings.get() names the roles.",
    details: { task, may: allowed },
  });
}
