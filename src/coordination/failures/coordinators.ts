/** Which agents decide about failures: those with the role coordinator; if none is active, the hub. */
import { agentInfo } from "../../memory/agents.ts";
import type { Workspace } from "../../workspace/workspace.ts";

/** The role that decides about failures. */
export const COORDINATOR = "coordinator";

/** Whether agents with the role coordinator exist and receive work. */
export interface CoordinatorAvailability {
  /** True if a coordinator can be notified, now or when it is unpaused. */
  readonly isRegistered: boolean;
  /** True if a coordinator receives work now. */
  readonly isActive: boolean;
  /** True if all active coordinators are persons, who get the time limit of a person. */
  readonly arePersons: boolean;
}

/** Returns the availability of coordinators in a workspace. */
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
