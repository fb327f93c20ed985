/**
 * Caches the agents of callers: one LocalAgent per session, agent and branch, kept for two seconds so that a
 * call does not begin with a lookup. The time is short because an agent can be disabled.
 */

import { requireActAs } from "../access/refusals.ts";
import { ANY_AGENT } from "../access/stored-token.ts";
import { BatonError } from "../base/errors.ts";
import type { LocalAgent } from "../hub/agent.ts";
import type { LocalHub } from "../hub/hub.ts";
import { HEADERS } from "../operations/wire/headers.ts";
import { sessionNameFor } from "../operations/wire/session-name.ts";
import type { Caller } from "./caller.ts";
import type { ServedFiles } from "./served-files.ts";

const AGENT_TTL_MS = 2_000;
const MAX_SESSIONS = 2_000;
const MAX_WORKSPACES = 1_000;

/** The session of callers that name none, such as a person with curl. */
const DEFAULT_SESSION = "http";
/** Session timeout of interactive callers (people and models), which pause between calls. */
export const INTERACTIVE_SESSION_MS = 15 * 60_000;

interface CachedAgent {
  readonly agent: Promise<LocalAgent>;
  readonly at: number;
}

/** What identifies a cached agent. */
export interface SessionSlot {
  readonly caller: Caller;
  readonly instance: string | undefined;
  readonly branch: string | undefined;
  /** Session timeout in milliseconds; undefined: the lease duration. */
  readonly silentMs: number | undefined;
}

/** Agents by session, and hubs by workspace. */
export class SessionCache {
  readonly #hub: LocalHub;
  readonly #files: ServedFiles;
  readonly #hubs = new Map<string, LocalHub>();
  readonly #agents = new Map<string, CachedAgent>();

  constructor(hub: LocalHub, files: ServedFiles = {}) {
    this.#hub = hub;
    this.#files = files;
    this.#hubs.set(hub.workspace, hub);
  }

  /** Returns the hub for a workspace. */
  hubOf(workspace: string): LocalHub {
    const known = this.#hubs.get(workspace);
    if (known !== undefined) return known;
    if (this.#hubs.size >= MAX_WORKSPACES) this.#forgetHub();
    const hub = this.#hub.beside(workspace);
    this.#hubs.set(workspace, hub);
    return hub;
  }

  /** Returns the acting agent, at most two seconds old. Rejects if the call names no agent. */
  agentOf(slot: SessionSlot): Promise<LocalAgent> {
    const { caller, instance, branch, silentMs } = slot;
    const name = caller.agent;
    if (name === undefined) return Promise.reject(agentRequired());
    const { workspace, bound } = caller;
    const key = JSON.stringify([workspace, bound, name, instance, branch, silentMs]);
    const kept = this.#agents.get(key);
    const now = performance.now();
    if (kept !== undefined && now - kept.at < AGENT_TTL_MS) return kept.agent;
    const agent = this.#open(slot, name);
    this.#agents.delete(key);
    this.#agents.set(key, { agent, at: now });
    agent.catch(() => this.#agents.delete(key));
    if (this.#agents.size > MAX_SESSIONS) this.#forgetAgent();
    return agent;
  }

  /** Drops all cached agents. */
  forget(): void {
    this.#agents.clear();
  }

  async #open(
    { caller, instance, branch, silentMs }: SessionSlot,
    name: string,
  ): Promise<LocalAgent> {
    const { workspace, bound } = caller;
    // A caller without a session is a person or a model, which pauses between calls.
    const sessionMs = silentMs ?? (instance === undefined ? INTERACTIVE_SESSION_MS : undefined);
    const session = sessionNameFor(bound, instance ?? DEFAULT_SESSION);
    const agent = await this.hubOf(workspace).local(name, session, {
      silentMs: sessionMs,
      files: Object.hasOwn(this.#files, workspace) ? this.#files[workspace] : undefined,
    });
    // Checked by canonical id: no caller acts as the hub, not even through an alias.
    requireActAs({ agent: bound ?? ANY_AGENT }, agent.id);
    return branch === undefined ? agent : agent.onBranchOf(branch);
  }

  #forgetAgent(): void {
    const [oldest] = this.#agents.keys();
    if (oldest !== undefined) this.#agents.delete(oldest);
  }

  /** Drops the oldest workspace, but never the hub's own, which is the first. */
  #forgetHub(): void {
    const [, second] = this.#hubs.keys();
    if (second === undefined) return;
    const hub = this.#hubs.get(second);
    this.#hubs.delete(second);
    hub?.close().catch(() => {}); // The store stays open, and calls in progress continue.
  }
}

const agentRequired = (): BatonError =>
  new BatonError("invalid_input", {
    message: "This operation requires an agent, and the request names none.",
    path: HEADERS.agent,
    hint: `Send the header "${HEADERS.agent}: <name>", or use a token of that agent.`,
  });
