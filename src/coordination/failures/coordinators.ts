/** Who decides about failures: agents of this role; where nobody who has it is at work, the hub itself. */
import { agentInfo } from "../../memory/agents.ts";
import type { Workspace } from "../../workspace/workspace.ts";

export const COORDINATOR = "coordinator";

export interface CoordinatorAvailability {
  /** Somebody can be told, now or when it is resumed. */
  readonly isRegistered: boolean;
  /** Somebody is given work now. */
  readonly isActive: boolean;
  /** Nobody who is given work is anything but a person: they are given a person's time. */
  readonly arePersons: boolean;
}

export async function readCoordinatorAvailability({
  store,
  name,
}: Workspace): Promise<CoordinatorAvailability> {
  const agents = (await store.listAgents(name)).filter(({ role }) => role === COORDINATOR);
  const active = agents.filter(({ status }) => status === "active");
  return {
    isRegistered: agents.some(({ status }) => status !== "disabled"),
    isActive: active.length > 0,
    arePersons: active.length > 0 && active.every((row) => agentInfo(row).kind === "person"),
  };
}
