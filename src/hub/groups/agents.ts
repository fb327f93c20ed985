/** `hub.agents`: the registered agents and the circuit breakers of receivers. */
import type { Access } from "../../access/levels.ts";
import { batonVersion } from "../../base/version.ts";
import { type BreakerInfo, listBreakers, resetBreaker } from "../../delivery/settings/breaker.ts";
import {
  type KeyRevocation,
  type KeyRotation,
  keysOf,
  revokeKey,
  rotateKey,
} from "../../memory/agent-keys.ts";
import { type AgentInfo, agentInfo, requireAgent, setStatus } from "../../memory/agents.ts";
import { SYSTEM } from "../../memory/system-author.ts";
import type { AgentKey } from "../../store/verify/key-history.ts";
import type { Workspace } from "../../workspace/workspace.ts";

/** The identity and access level of the caller. */
export interface WhoAmI {
  /** The version of Baton that the hub runs. */
  readonly version: string;
  readonly workspace: string;
  /** The agent that the token belongs to; undefined if the caller may act as any agent. */
  readonly agent?: string | undefined;
  readonly access: Access;
  /** How long a lease lasts without renewal, in milliseconds. */
  readonly leaseMs: number;
}

/** `hub.agents`: lists, pauses and unpauses agents, and resets circuit breakers. */
export interface HubAgents {
  /** Returns the identity and access level of the caller. In this process: access "admin", no agent. */
  me(): Promise<WhoAmI>;
  /** Returns every registered agent, without the hub's own ("baton"). */
  list(): Promise<AgentInfo[]>;
  /** Returns one agent by canonical id or alias. Throws `unknown_agent`. */
  get(name: string): Promise<AgentInfo>;
  /** Stops delivering work to an agent; its inbox is kept. Throws `unknown_agent`. */
  pause(name: string): Promise<void>;
  /** Resumes delivering work to a paused agent. Throws `unknown_agent`. */
  unpause(name: string): Promise<void>;
  /** Returns the signing keys that an agent has or had, oldest first. Throws `unknown_agent`. */
  keys(name: string): Promise<readonly AgentKey[]>;
  /**
   * Replaces the signing key of an agent; what earlier keys signed stays valid. The previous key authorizes it
   * (`signRotation()`); without its signature, over HTTP, requires access admin. Throws `identity_mismatch`.
   */
  rotateKey(name: string, rotation: KeyRotation, by?: string): Promise<readonly AgentKey[]>;
  /**
   * Revokes a signing key from a time on: `verify` reports what it signed from then on. An agent whose current
   * key is revoked is disabled until its key is rotated. Over HTTP, requires access admin.
   */
  revokeKey(name: string, revocation?: KeyRevocation, by?: string): Promise<readonly AgentKey[]>;
  /**
   * Returns the receivers that recently lost deliveries: whether the breaker of each is open, and which
   * deliveries it lost.
   */
  breakers(): Promise<BreakerInfo[]>;
  /** Closes the circuit breaker of a receiver. */
  resetBreaker(receiver: string): Promise<void>;
}

/** Returns `hub.agents` for a workspace. */
export function hubAgents(workspace: Workspace): HubAgents {
  const { store, name: within } = workspace;
  return {
    async me() {
      const { limits } = workspace;
      return {
        version: batonVersion(),
        workspace: within,
        access: "admin",
        leaseMs: limits.leaseMs,
      };
    },
    async list() {
      const agents = await store.listAgents(within);
      return agents.filter(({ id }) => id !== SYSTEM).map(agentInfo);
    },
    get: async (name) => agentInfo(await requireAgent(workspace, name)),
    async pause(name) {
      const { status } = await requireAgent(workspace, name);
      if (status === "active") await setStatus(workspace, name, "paused");
    },
    async unpause(name) {
      const { status } = await requireAgent(workspace, name);
      if (status === "paused") await setStatus(workspace, name, "active");
    },
    keys: async (name) => keysOf(workspace, (await requireAgent(workspace, name)).id),
    rotateKey: (name, rotation, by) =>
      rotateKey(workspace, () => requireAgent(workspace, name), { rotation, by }),
    revokeKey: (name, revocation = {}, by) =>
      revokeKey(workspace, () => requireAgent(workspace, name), { revocation, by }),
    breakers: () => listBreakers(workspace),
    resetBreaker: (receiver) => resetBreaker(workspace, receiver),
  };
}
