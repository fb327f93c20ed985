/**
 * The registry of agents: a canonical id that never changes, names it is also known by, and what is
 * known about it. Registration is durable and says nothing about being alive. Asking for an agent
 * without describing it never creates one.
 */

import type { KeyObject } from "node:crypto";
import * as z from "zod";
import { canonicalJson } from "../base/digest.ts";
import { BatonError } from "../base/errors.ts";
import { FORMAT_LIMITS } from "../base/limits.ts";
import { nearestNames } from "../base/nearest-names.ts";
import { type Signer, signerOf } from "../base/signing-keys.ts";
import { AgentName, Name, PolicyDraft, type PolicyInput } from "../envelope/schema.ts";
import { parseOrThrow } from "../envelope/violations.ts";
import { AGENT_STATUSES, type AgentRow, parseText } from "../store/rows.ts";
import { ANONYMOUS_READER, type Reader } from "../store/visibility.ts";
import { RETRY, retryWrite } from "../workspace/retry.ts";
import type { Workspace } from "../workspace/workspace.ts";
import { redactSecrets } from "./redaction/secret-policy.ts";

const Description = z.string().max(FORMAT_LIMITS.lineLength);

export const AgentProfileSchema = z.strictObject({
  aliases: z.array(AgentName).max(FORMAT_LIMITS.tags).optional(),
  capabilities: z.array(Name).max(FORMAT_LIMITS.listItems).optional(),
  description: Description.optional(),
  /** Ed25519 private key: PEM or KeyObject. Kept by the caller; the registry gets the public half. */
  key: z.custom<string | KeyObject>((value) => value !== undefined).optional(),
  model: Description.optional(),
  /** A person answers when it suits; an agent runs. Told apart so that people are shown to people. */
  kind: z.enum(["agent", "person"]).optional(),
  name: Description.optional(),
  owner: Description.optional(),
  /** How handoffs to it are tried, unless they say otherwise. */
  policy: PolicyDraft.optional(),
  role: Name.optional(),
  status: z.enum(AGENT_STATUSES).optional(),
  /** The model's context window, in tokens. */
  window: z.int().positive().optional(),
});

export type AgentProfile = z.input<typeof AgentProfileSchema>;
type ProfileFields = Omit<
  z.output<typeof AgentProfileSchema>,
  "aliases" | "key" | "role" | "status"
>;

/** An agent as the registry knows it. */
export interface AgentInfo extends ProfileFields {
  readonly id: string;
  readonly role?: string;
  readonly status: AgentRow["status"];
  readonly aliases: readonly string[];
  /** Ed25519, SPKI in hex; absent for an agent that does not sign. */
  readonly publicKey?: string;
}

/** Who acts: a registered agent, and its key when the caller has it. */
export interface Identity {
  readonly agent: AgentInfo;
  readonly signer: Signer | undefined;
}

/**
 * Who looks, when this agent does in a session. One that has a key and was opened without it has not
 * shown who it is, and sees what everybody sees.
 */
export function readerOf({ agent, signer }: Identity, session: string): Reader {
  const isProven = agent.publicKey === undefined || agent.publicKey === signer?.publicKey;
  return isProven ? { agent: agent.id, session, user: agent.owner ?? "" } : ANONYMOUS_READER;
}

export function agentInfo(row: AgentRow): AgentInfo {
  const described = profileFieldsOf(row);
  const { id, role, status, aliases, publicKey } = row;
  return {
    ...described,
    id,
    ...(role === "" ? {} : { role }),
    status,
    aliases,
    ...(publicKey === "" ? {} : { publicKey }),
  };
}

function profileFieldsOf({ id, profile }: AgentRow): ProfileFields {
  return parseText({ id: `agent ${id}`, text: profile });
}

/** Finds an agent by canonical id or alias; without one, says which names are near. */
export async function requireAgent(workspace: Workspace, name: string): Promise<AgentRow> {
  const checked = parseOrThrow(AgentName, name, {
    code: "invalid_input",
    what: "The agent's name",
    prefix: "agent",
  });
  const row = await workspace.store.findAgent(workspace.name, checked);
  return row ?? Promise.reject(await unknownAgent(workspace, checked));
}

/** An agent as a receiver: what of it matters to whoever sends. */
export interface Addressee {
  readonly id: string;
  /** The person it belongs to, or empty. */
  readonly owner: string;
  readonly policy: PolicyInput | undefined;
}

interface CachedAddressee {
  readonly addressee: Addressee;
  readonly at: number;
}

/** Names are never given back, so what one means can be remembered; so many of them at most. */
const MAX_CACHED_NAMES = 10_000;
/** How long what an agent's profile says is believed. */
const PROFILE_CACHE_MS = 1_000;
const addresseeCaches = new WeakMap<object, Map<string, CachedAddressee>>();

/** The agent behind a name; undefined when nobody has it. */
export async function findAddressee(
  workspace: Workspace,
  name: string,
): Promise<Addressee | undefined> {
  const known = addresseeCaches.get(workspace.root) ?? new Map<string, CachedAddressee>();
  addresseeCaches.set(workspace.root, known);
  const meant = known.get(name);
  if (meant !== undefined && performance.now() - meant.at < PROFILE_CACHE_MS)
    return meant.addressee;
  const agent = await workspace.store.findAgent(workspace.name, name);
  if (agent === undefined) return undefined;
  if (known.size >= MAX_CACHED_NAMES) known.clear();
  const { policy, owner = "" } = profileFieldsOf(agent);
  const addressee = { id: agent.id, owner, policy };
  known.set(name, { addressee, at: performance.now() });
  return addressee;
}

export async function unknownAgent(
  workspace: Workspace,
  name: string,
  path = "agent",
): Promise<BatonError> {
  const agents = await workspace.store.listAgents(workspace.name);
  const names = agents.flatMap((agent) => [agent.id, ...agent.aliases]);
  const near = nearestNames(name, names);
  return new BatonError("unknown_agent", {
    message: `No agent is registered as "${name}" in workspace "${workspace.name}".`,
    path,
    hint:
      near.length > 0
        ? `Did you mean ${near.map((each) => `"${each}"`).join(" or ")}?`
        : `Register it first: hub.agent("${name}", { role: "…" }).`,
    details: { name, near },
  });
}

/** Registers an agent, or adds to what is known of it. */
export async function registerAgent(
  workspace: Workspace,
  given: string,
  described: AgentProfile,
): Promise<Identity> {
  const { agent: name, profile } = await redactProfile(workspace, given, described);
  parseOrThrow(AgentName, name, {
    code: "invalid_input",
    what: "The agent's name",
    prefix: "agent",
  });
  const checked = parseOrThrow(AgentProfileSchema, profile, {
    code: "invalid_input",
    what: `The profile of agent "${name}"`,
    prefix: "profile",
    unwritten: "profile.key",
  });
  if (name === SYSTEM || checked.aliases?.includes(SYSTEM)) throw reserved();
  return register(workspace, name, checked);
}

/** A key is for signing here, and is not kept. */
async function redactProfile(workspace: Workspace, agent: string, profile: AgentProfile) {
  const isDescribed = typeof profile === "object" && profile !== null && !Array.isArray(profile);
  if (!isDescribed) return { agent, profile };
  const { key, ...described } = profile;
  const said = await redactSecrets(workspace, { agent, profile: described });
  return { ...said, profile: { ...said.profile, ...(key === undefined ? {} : { key }) } };
}

/** What policy decides is written in this name, and nobody else's. */
export const SYSTEM = "baton";

export async function registerSystem(workspace: Workspace): Promise<void> {
  await register(workspace, SYSTEM, { description: "The hub itself, carrying out policies." });
}

function reserved(): BatonError {
  return new BatonError("alias_taken", {
    message: `"${SYSTEM}" is the hub itself.`,
    path: "agent",
    hint: "Choose another name.",
    details: { name: SYSTEM, by: SYSTEM },
  });
}

async function register(
  workspace: Workspace,
  name: string,
  checked: z.output<typeof AgentProfileSchema>,
): Promise<Identity> {
  const signer = checked.key === undefined ? undefined : signerOf(checked.key);
  return retryWrite(
    { what: `The registration of "${name}" was overtaken`, path: "agent" },
    async () => {
      const current = await workspace.store.findAgent(workspace.name, name);
      if (current !== undefined) requireAgentKey(current, signer);
      const wanted = mergeProfile(name, current, { ...checked, publicKey: signer?.publicKey });
      if (current !== undefined && sameAs(current, wanted))
        return { agent: agentInfo(current), signer };
      const outcome = await workspace.store.registerAgent({
        workspace: workspace.name,
        agent: wanted,
        basedOn: current?.revision ?? 0,
      });
      if (outcome.kind === "registered") return { agent: agentInfo(outcome.agent), signer };
      if (outcome.kind === "name_taken") throw aliasTaken(outcome);
      return RETRY;
    },
  );
}

/** Pauses or resumes an agent: whoever runs the team may, key or not. */
export async function setStatus(
  workspace: Workspace,
  name: string,
  status: AgentRow["status"],
): Promise<AgentInfo> {
  return retryWrite({ what: `The agent "${name}" was changed`, path: "agent" }, async () => {
    const { digest: _d, keyedAt: _k, revision, ...row } = await requireAgent(workspace, name);
    const outcome = await workspace.store.registerAgent({
      workspace: workspace.name,
      agent: { ...row, status },
      basedOn: revision,
    });
    return outcome.kind === "registered" ? agentInfo(outcome.agent) : RETRY;
  });
}

/** Nobody changes a keyed agent, or writes as it, without its key. */
export function requireAgentKey(
  agent: Pick<AgentRow, "id" | "publicKey">,
  signer: Signer | undefined,
): void {
  if (agent.publicKey === "" || agent.publicKey === signer?.publicKey) return;
  throw new BatonError("identity_mismatch", {
    message: `Agent "${agent.id}" is registered with a key, and this is not its key.`,
    path: "profile.key",
    hint: `Open it with its private key: hub.agent("${agent.id}", { key }).`,
  });
}

type AgentRowInput = Omit<AgentRow, "revision" | "keyedAt" | "digest">;

/** What was said now, over what was known before; aliases are only ever added. */
function mergeProfile(
  name: string,
  current: AgentRow | undefined,
  given: z.output<typeof AgentProfileSchema> & { publicKey: string | undefined },
): AgentRowInput {
  const { aliases = [], key: _key, role, status, publicKey, ...described } = given;
  const id = current?.id ?? name;
  const before = current === undefined ? {} : profileFieldsOf(current);
  const names = new Set([...(current?.aliases ?? []), ...aliases]);
  names.delete(id);
  return {
    id,
    role: role ?? current?.role ?? "",
    status: status ?? current?.status ?? "active",
    aliases: [...names].sort(),
    publicKey: publicKey ?? current?.publicKey ?? "",
    profile: canonicalJson({ ...before, ...described }, "invalid_input", "profile"),
  };
}

function sameAs(current: AgentRow, wanted: AgentRowInput): boolean {
  return (
    current.role === wanted.role &&
    current.status === wanted.status &&
    current.publicKey === wanted.publicKey &&
    current.profile === wanted.profile &&
    current.aliases.join("\n") === wanted.aliases.join("\n")
  );
}

function aliasTaken(outcome: { readonly name: string; readonly by: string }): BatonError {
  return new BatonError("alias_taken", {
    message: `The name "${outcome.name}" already belongs to agent "${outcome.by}".`,
    path: "profile.aliases",
    hint: "Choose another alias; a name means one agent.",
    details: { name: outcome.name, by: outcome.by },
  });
}
