/**
 * The registry of agents: a canonical id that never changes, aliases and a profile. A registration is durable
 * and does not mean that the agent is running. Looking up an agent without a profile never creates one.
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
import { keyRecord } from "./agent-keys.ts";
import { refuseLookAlikes, reservedName } from "./agent-names.ts";
import { registerAudited } from "./audit/register-audited.ts";
import { redactSecrets } from "./redaction/secret-policy.ts";
import { SYSTEM, systemAuthor } from "./system-author.ts";
import { type RecordSigner, recordSigner } from "./witness.ts";

const Description = z.string().max(FORMAT_LIMITS.lineLength);

/** The profile that an agent is registered with. */
export const AgentProfileSchema = z.strictObject({
  aliases: z.array(AgentName).max(FORMAT_LIMITS.tags).optional(),
  capabilities: z.array(Name).max(FORMAT_LIMITS.listItems).optional(),
  description: Description.optional(),
  /** Ed25519 private key: PEM or KeyObject. Stays with the caller; the registry stores the public key. */
  key: z.custom<string | KeyObject>((value) => value !== undefined).optional(),
  model: Description.optional(),
  /** A person answers in its own time, an agent runs; distinguished so that people can be shown as such. */
  kind: z.enum(["agent", "person"]).optional(),
  name: Description.optional(),
  owner: Description.optional(),
  /** The default policy of handoffs to this agent. */
  policy: PolicyDraft.optional(),
  role: Name.optional(),
  status: z.enum(AGENT_STATUSES).optional(),
  /** The model's context window, in tokens. */
  window: z.int().positive().optional(),
});

/** The profile as a caller passes it. */
export type AgentProfile = z.input<typeof AgentProfileSchema>;
type ProfileFields = Omit<
  z.output<typeof AgentProfileSchema>,
  "aliases" | "key" | "role" | "status"
>;

/** A registered agent. */
export interface AgentInfo extends ProfileFields {
  readonly id: string;
  readonly role?: string;
  readonly status: AgentRow["status"];
  readonly aliases: readonly string[];
  /** Ed25519, SPKI in hex; absent if the agent does not sign. */
  readonly publicKey?: string;
}

/** An acting agent, with its signer if the caller passed its key. */
export interface Identity {
  readonly agent: AgentInfo;
  readonly signer: RecordSigner | undefined;
}

/**
 * Returns the reader for an agent's session. An agent that has a key but was opened without it has not proven
 * its identity, and sees only what every agent sees.
 */
export function readerOf({ agent, signer }: Identity, session: string): Reader {
  const isProven = agent.publicKey === undefined || agent.publicKey === signer?.publicKey;
  return isProven ? { agent: agent.id, session, user: agent.owner ?? "" } : ANONYMOUS_READER;
}

/** Converts a stored row into an AgentInfo. */
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

/** Returns an agent by id or alias. Throws `unknown_agent`, with similar names. */
export async function requireAgent(workspace: Workspace, name: string): Promise<AgentRow> {
  const checked = parseOrThrow(AgentName, name, {
    code: "invalid_input",
    what: "The agent's name",
    prefix: "agent",
  });
  const row = await workspace.store.findAgent(workspace.name, checked);
  return row ?? Promise.reject(await unknownAgent(workspace, checked));
}

/** A receiver, with what its senders need. */
export interface Addressee {
  readonly id: string;
  /** The person the agent belongs to; empty if none. */
  readonly owner: string;
  readonly policy: PolicyInput | undefined;
}

interface CachedAddressee {
  readonly addressee: Addressee;
  readonly at: number;
}

/** The most cached names. Names are never reassigned, so a cached name stays valid. */
const MAX_CACHED_NAMES = 10_000;
/** How long a cached profile is used. */
const PROFILE_CACHE_MS = 1_000;
const addresseeCaches = new WeakMap<object, Map<string, CachedAddressee>>();

/** Returns the agent with this name or alias; undefined if there is none. Cached for up to 1 s. */
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

/** Builds `unknown_agent`, with similar names. */
export async function unknownAgent(
  workspace: Workspace,
  name: string,
  path = "agent",
): Promise<BatonError> {
  const agents = await workspace.store.listAgents(workspace.name);
  const names = agents.flatMap((agent) => [agent.id, ...agent.aliases]);
  const near = nearestNames(name, names);
  return new BatonError("unknown_agent", {
    message: `No agent named "${name}" is registered in workspace "${workspace.name}".`,
    path,
    hint:
      near.length > 0
        ? `Did you mean ${near.map((each) => `"${each}"`).join(" or ")}?`
        : `Register it first: hub.agent("${name}", { role: "…" }).`,
    details: { name, near },
  });
}

/**
 * Registers an agent, or updates its profile. Throws `alias_taken` if a name belongs to another agent or
 * looks like one of its names,
 * `identity_mismatch` without the agent's key, and `invalid_input` for an invalid profile.
 */
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
  if (name === SYSTEM || checked.aliases?.includes(SYSTEM)) throw reservedName(SYSTEM, SYSTEM);
  return register(workspace, name, checked);
}

/** Redacts secrets in the profile, except the signing key, which is not stored. */
async function redactProfile(workspace: Workspace, agent: string, profile: AgentProfile) {
  const isDescribed = typeof profile === "object" && profile !== null && !Array.isArray(profile);
  if (!isDescribed) return { agent, profile };
  const { key, ...described } = profile;
  const redacted = await redactSecrets(workspace, { agent, profile: described });
  return { ...redacted, profile: { ...redacted.profile, ...(key === undefined ? {} : { key }) } };
}

async function register(
  workspace: Workspace,
  name: string,
  checked: z.output<typeof AgentProfileSchema>,
): Promise<Identity> {
  const plain = checked.key === undefined ? undefined : signerOf(checked.key);
  const agent = await putAgent(workspace, name, { checked, signer: plain });
  return { agent: agentInfo(agent), signer: plain && (await recordSigner(workspace, plain)) };
}

interface Registration {
  readonly checked: z.output<typeof AgentProfileSchema>;
  readonly signer: Signer | undefined;
}

async function putAgent(
  workspace: Workspace,
  name: string,
  { checked, signer }: Registration,
): Promise<AgentRow> {
  return retryWrite(
    { what: `The registration of "${name}" was changed`, path: "agent" },
    async () => {
      const current = await workspace.store.findAgent(workspace.name, name);
      if (current !== undefined) requireAgentKey(current, signer);
      const wanted = mergeProfile(name, current, { ...checked, publicKey: signer?.publicKey });
      if (current !== undefined && sameAs(current, wanted)) return current;
      if (name !== SYSTEM) await refuseLookAlikes(workspace, { current, wanted, reserved: SYSTEM });
      const { id, publicKey } = wanted;
      const isKeyed = publicKey !== (current?.publicKey ?? "");
      const outcome = await registerAudited(workspace, {
        ...{ author: await systemAuthor(workspace), action: "agent", current, agent: wanted },
        ...(isKeyed && { key: keyRecord(workspace, { action: "set", agent: id, publicKey }) }),
      });
      if (outcome.kind === "registered") return outcome.agent;
      if (outcome.kind === "name_taken") throw aliasTaken(outcome);
      return RETRY;
    },
  );
}

/** Pauses, disables or activates an agent. Does not require the agent's key. */
export async function setStatus(
  workspace: Workspace,
  name: string,
  status: AgentRow["status"],
): Promise<AgentInfo> {
  return retryWrite({ what: `The agent "${name}" was changed`, path: "agent" }, async () => {
    const current = await requireAgent(workspace, name);
    const { digest: _d, keyedAt: _k, revision: _r, ...row } = current;
    const outcome = await registerAudited(workspace, {
      author: await systemAuthor(workspace),
      action: status === "paused" ? "agents.pause" : "agents.unpause",
      current,
      agent: { ...row, status },
    });
    return outcome.kind === "registered" ? agentInfo(outcome.agent) : RETRY;
  });
}

/** Throws `identity_mismatch` if the agent has a key and the signer is not that key. */
export function requireAgentKey(
  agent: Pick<AgentRow, "id" | "publicKey">,
  signer: Signer | undefined,
): void {
  if (agent.publicKey === "" || agent.publicKey === signer?.publicKey) return;
  throw new BatonError("identity_mismatch", {
    message: `Agent "${agent.id}" has a key, and it was opened without it or with another key.`,
    path: "profile.key",
    hint: `Open it with its private key: hub.agent("${agent.id}", { key }).`,
  });
}

type AgentRowInput = Omit<AgentRow, "revision" | "keyedAt" | "digest">;

/** Merges the given fields into the current row; aliases are only ever added. */
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
    hint: "Choose another alias; a name belongs to one agent only.",
    details: { name: outcome.name, by: outcome.by },
  });
}
