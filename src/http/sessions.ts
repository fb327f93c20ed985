/**
 * Agents as callers come back: one session of one agent on one branch is one LocalAgent, kept for a few
 * seconds so that a call does not begin by looking its agent up. Short, because an agent can be disabled.
 */
import { ANY_AGENT } from "../access/kept-token.ts";
import { requireActing } from "../access/refusals.ts";
import type { LocalAgent } from "../agent.ts";
import { BatonError } from "../errors.ts";
import type { LocalHub } from "../hub.ts";
import { HEADERS } from "../wire/routes.ts";
import type { Caller } from "./caller.ts";

const KEPT_MS = 2_000;
const MOST_SESSIONS = 2_000;
const MOST_WORKSPACES = 1_000;

/** The session of callers that name none: a person with curl. */
const UNNAMED = "http";

interface Kept {
  readonly agent: Promise<LocalAgent>;
  readonly at: number;
}

export interface Seat {
  readonly caller: Caller;
  readonly instance: string | undefined;
  readonly branch: string | undefined;
}

export class Sessions {
  readonly #hub: LocalHub;
  readonly #hubs = new Map<string, LocalHub>();
  readonly #agents = new Map<string, Kept>();

  constructor(hub: LocalHub) {
    this.#hub = hub;
    this.#hubs.set(hub.workspace, hub);
  }

  /** The hub, in this workspace. */
  hubOf(workspace: string): LocalHub {
    const known = this.#hubs.get(workspace);
    if (known !== undefined) return known;
    if (this.#hubs.size >= MOST_WORKSPACES) this.#forgetHub();
    const hub = this.#hub.beside(workspace);
    this.#hubs.set(workspace, hub);
    return hub;
  }

  /** Who acts. Looked up again after two seconds at most. */
  agentOf({ caller, instance = UNNAMED, branch }: Seat): Promise<LocalAgent> {
    const name = caller.agent;
    if (name === undefined) return Promise.reject(nobody());
    const key = JSON.stringify([
      caller.workspace,
      caller.bound ?? "",
      name,
      instance,
      branch ?? "",
    ]);
    const kept = this.#agents.get(key);
    const now = performance.now();
    if (kept !== undefined && now - kept.at < KEPT_MS) return kept.agent;
    const agent = this.#open(caller, name, instance, branch);
    this.#agents.delete(key);
    this.#agents.set(key, { agent, at: now });
    agent.catch(() => this.#agents.delete(key));
    if (this.#agents.size > MOST_SESSIONS) this.#forgetAgent();
    return agent;
  }

  /** What was known of an agent is out of date. */
  forget(): void {
    this.#agents.clear();
  }

  async #open(
    { workspace, bound }: Caller,
    name: string,
    instance: string,
    branch: string | undefined,
  ): Promise<LocalAgent> {
    const agent = await this.hubOf(workspace).local(name, { instance, lease: "session" });
    requireActing({ agent: bound ?? ANY_AGENT }, agent.id); // Also by an alias: nobody acts as the hub.
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

const nobody = (): BatonError =>
  new BatonError("invalid_input", {
    message: "This is done by an agent, and the call names none.",
    path: HEADERS.agent,
    hint: `Say who acts: the header "${HEADERS.agent}: <name>", or a token of that agent's.`,
  });
