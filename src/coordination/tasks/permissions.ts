/**
 * Who may close, reopen or cancel a task: who added it or handed over something of it, who has held work
 * of it, and agents with a role that may (the coordinator's, and those that release from ledgers).
 */
import { BatonError } from "../../base/errors.ts";
import { readReleasers } from "../../ledger/releasers.ts";
import type { Author } from "../../memory/record.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import type { TaskSnapshot } from "./read.ts";

const COORDINATOR = "coordinator";

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
  // The role it has now, not the one it had when it began.
  const registered = await workspace.store.findAgent(workspace.name, agent);
  if (registered !== undefined && roles.has(registered.role)) return;
  const may = [...named].filter(Boolean).sort();
  const allowed = [...may, ...[...roles].map((role) => `role:${role}`)];
  throw new BatonError("not_permitted", {
    message: `"${task}" may be ${verb} by ${allowed.join(", ")}.`,
    path: "task",
    hint: "Ask one of them; hub.settings.get() names the roles.",
    details: { task, may: allowed },
  });
}
