/**
 * Agents as callers come back: one session of one agent on one branch is one LocalAgent, kept for a few
 * seconds so that a call does not begin by looking its agent up. Short, because an agent can be disabled.
 */

import { requireActAs } from "../access/refusals.ts";
import { ANY_AGENT } from "../access/stored-token.ts";
import { BatonError } from "../base/errors.ts";
import type { LocalAgent } from "../hub/agent.ts";
import type { LocalHub } from "../hub/hub.ts";
import { HEADERS } from "../operations/wire/headers.ts";
import { sessionNameFor } from "../operations/wire/session-name.ts";
import type { Caller } from "./caller.ts";

const AGENT_TTL_MS = 2_000;
const MAX_SESSIONS = 2_000;
const MAX_WORKSPACES = 1_000;

/** The session of callers that name none: a person with curl. */
const DEFAULT_SESSION = "http";
/** How long somebody may think before the next call. */
export const INTERACTIVE_SESSION_MS = 15 * 60_000;

interface CachedAgent {
  readonly agent: Promise<LocalAgent>;
  readonly at: number;
}

export interface SessionSlot {
  readonly caller: Caller;
  readonly instance: string | undefined;
  readonly branch: string | undefined;
  /** How long it may be silent; undefined: as long as a lease lasts. */
  readonly silentMs: number | undefined;
}

export class SessionCache {
  readonly #hub: LocalHub;
  readonly #hubs = new Map<string, LocalHub>();
  readonly #agents = new Map<string, CachedAgent>();

  constructor(hub: LocalHub) {
    this.#hub = hub;
    this.#hubs.set(hub.workspace, hub);
  }

  /** The hub, in this workspace. */
  hubOf(workspace: string): LocalHub {
    const known = this.#hubs.get(workspace);
    if (known !== undefined) return known;
    if (this.#hubs.size >= MAX_WORKSPACES) this.#forgetHub();
    const hub = this.#hub.beside(workspace);
    this.#hubs.set(workspace, hub);
    return hub;
  }

  /** Who acts. Looked up again after two seconds at most. */
  agentOf(seat: SessionSlot): Promise<LocalAgent> {
    const { caller, instance, branch, silentMs } = seat;
    const name = caller.agent;
    if (name === undefined) return Promise.reject(agentRequired());
    const { workspace, bound } = caller;
    const key = JSON.stringify([workspace, bound, name, instance, branch, silentMs]);
    const kept = this.#agents.get(key);
    const now = performance.now();
    if (kept !== undefined && now - kept.at < AGENT_TTL_MS) return kept.agent;
    const agent = this.#open(seat, name);
    this.#agents.delete(key);
    this.#agents.set(key, { agent, at: now });
    agent.catch(() => this.#agents.delete(key));
    if (this.#agents.size > MAX_SESSIONS) this.#forgetAgent();
    return agent;
  }

  /** What was known of an agent is out of date. */
  forget(): void {
    this.#agents.clear();
  }

  async #open(
    { caller, instance, branch, silentMs }: SessionSlot,
    name: string,
  ): Promise<LocalAgent> {
    const { workspace, bound } = caller;
    // Who names no session is a person or a model, and thinks between two calls.
    const patience = silentMs ?? (instance === undefined ? INTERACTIVE_SESSION_MS : undefined);
    const session = sessionNameFor(bound, instance ?? DEFAULT_SESSION);
    const agent = await this.hubOf(workspace).local(name, session, patience);
    requireActAs({ agent: bound ?? ANY_AGENT }, agent.id); // Also by an alias: nobody acts as the hub.
    return branch === undefined ? agent : agent.onBranchOf(branch);
  }

  #forgetAgent(): void {
    const [oldest] = this.#agents.keys();
    if (oldest !== undefined) this.#agents.delete(oldest);
  }

  /** Never the hub's own, which is the first. */
  #forgetHub(): void {
    const [, second] = this.#hubs.keys();
    if (second === undefined) return;
    const hub = this.#hubs.get(second);
    this.#hubs.delete(second);
    hub?.close().catch(() => {}); // The store stays open; whatever is under way on it goes on.
  }
}

const agentRequired = (): BatonError =>
  new BatonError("invalid_input", {
    message: "This is done by an agent, and the call names none.",
    path: HEADERS.agent,
    hint: `Say who acts: the header "${HEADERS.agent}: <name>", or a token of that agent's.`,
  });
