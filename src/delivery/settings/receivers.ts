/**
 * Receivers of a handoff: resolves names, roles, channels and fallbacks to inboxes before the envelope is
 * sealed.
 */

import { BatonError } from "../../base/errors.ts";
import { checkLimit } from "../../base/limits.ts";
import { nearestNames } from "../../base/nearest-names.ts";
import type { PolicyInput, SealedPolicy } from "../../envelope/schema.ts";
import { addressOf, type CheckedDraft, type Envelope, receiverOf } from "../../envelope/schema.ts";
import { findAddressee, unknownAgent } from "../../memory/agents.ts";
import { agentDisabled } from "../../memory/refusals.ts";
import { roleInbox } from "../../store/rows.ts";
import type { ReceiverRefusal } from "../../store/store.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import { requireOpenChannel, subscribersOf } from "./channels.ts";

/** The receiver of a handoff with its inboxes. */
export interface ResolvedAddress {
  readonly to: Envelope["to"];
  /** One for an agent or a role; for a channel, one per subscriber. */
  readonly inboxes: readonly string[];
  /** The policy of the receiver's profile; absent for roles and channels. */
  readonly policy: PolicyInput | undefined;
}

type To = NonNullable<CheckedDraft["to"]>;

/**
 * Resolves an address. An alias becomes the canonical id here, because the sealed envelope is permanent.
 * Throws `unknown_agent`, `unknown_channel`, `channel_paused`, `channel_closed` and `limit_exceeded`.
 */
export async function resolveAddress(
  workspace: Workspace,
  to: To,
  receivers?: readonly string[],
): Promise<ResolvedAddress> {
  const receiver = typeof to === "string" ? receiverOf(to) : to;
  if (receiver === undefined) throw new Error("the schema accepts only addresses");
  switch (receiver.kind) {
    case "agent": {
      const { id, policy } = await requireAddressee(workspace, receiver.agent, "to");
      return { to: { kind: "agent", agent: id }, inboxes: [id], policy };
    }
    case "role":
      return { to: receiver, inboxes: [roleInbox(receiver.role)], policy: undefined };
    case "channel": {
      await requireOpenChannel(workspace, receiver.channel);
      const inboxes = await channelInboxes(workspace, receiver.channel, receivers);
      return { to: receiver, inboxes, policy: undefined };
    }
  }
}

async function requireAddressee(workspace: Workspace, name: string, path: string) {
  const found = await findAddressee(workspace, name);
  if (found === undefined) throw await unknownAgent(workspace, name, path);
  return found;
}

async function channelInboxes(
  workspace: Workspace,
  channel: string,
  receivers: readonly string[] | undefined,
): Promise<readonly string[]> {
  const named =
    receivers === undefined
      ? await subscribersOf(workspace, channel)
      : await Promise.all(
          receivers.map((name, i) => requireAddressee(workspace, name, `receivers[${i}]`)),
        ).then((found) => [...new Set(found.map(({ id }) => id))]);
  checkLimit(workspace.limits, "receivers", { actual: named.length, path: "receivers" });
  if (named.length > 0) return named;
  throw noSubscribers(channel);
}

function noSubscribers(channel: string): BatonError {
  return new BatonError("unknown_channel", {
    message: `Channel "${channel}" has no subscribers, so no agent would receive the handoff.`,
    path: "to",
    hint: `Subscribe an agent first: agent.channels.subscribe("${channel}"), or pass receivers.`,
    details: { channel },
  });
}

/**
 * Returns the inboxes without disabled subscribers, which must not delay the others; throws if none is left.
 */
export async function withoutDisabled(
  workspace: Workspace,
  channel: string,
  inboxes: readonly string[],
): Promise<readonly string[]> {
  const agents = await workspace.store.listAgents(workspace.name);
  const disabled = new Set(agents.flatMap(({ id, status }) => (status === "disabled" ? id : [])));
  const left = inboxes.filter((inbox) => !disabled.has(inbox));
  if (left.length > 0) return left;
  throw noSubscribers(channel);
}

/** Resolves fallbacks to inboxes, so that the process that carries out the policy has nothing to resolve. */
export async function resolveFallbacks(
  workspace: Workspace,
  policy: SealedPolicy | undefined,
): Promise<SealedPolicy | undefined> {
  if (policy?.fallback === undefined) return policy;
  const fallback = await Promise.all(
    policy.fallback.map(async (address, i) => {
      const receiver = receiverOf(address);
      const path = `policy.fallback[${i}]`;
      if (receiver?.kind === "agent") {
        return (await requireAddressee(workspace, receiver.agent, path)).id;
      }
      if (receiver?.kind === "role") return roleInbox(receiver.role);
      throw new BatonError("invalid_envelope", {
        message: `${path}: a channel cannot be a fallback.`,
        path,
        hint: "Name an agent or a role.",
      });
    }),
  );
  return { ...policy, fallback };
}

/** Returns the receiver that follows when the attempts of this one are used up; undefined if none does. */
export function nextFallback(
  { to, policy }: Pick<Envelope, "to" | "policy">,
  receiver: string,
): string | undefined {
  const line = [...new Set([addressOf(to), ...(policy?.fallback ?? [])])];
  const at = line.indexOf(receiver);
  if (at >= 0) return line[at + 1];
  // Subscribers come before all fallbacks; a receiver it was redriven to is not in the list at all.
  return to.kind === "channel" ? policy?.fallback?.[0] : undefined;
}

/** Converts a store's refusal of a receiver to `unknown_agent`, `unknown_role` or `agent_disabled`. */
export async function receiverError(
  workspace: Workspace,
  { kind, receiver }: ReceiverRefusal,
): Promise<BatonError> {
  const [, role] = /^role:(.*)$/s.exec(receiver) ?? [];
  if (role !== undefined) return unknownRole(workspace, role, kind);
  if (kind === "receiver_disabled") return agentDisabled(receiver, "to");
  return unknownAgent(workspace, receiver, "to");
}

async function unknownRole(
  workspace: Workspace,
  role: string,
  kind: ReceiverRefusal["kind"],
): Promise<BatonError> {
  const agents = await workspace.store.listAgents(workspace.name);
  const roles = [...new Set(agents.map((agent) => agent.role).filter(Boolean))];
  const near = nearestNames(role, roles);
  const hint =
    near.length > 0
      ? `Did you mean ${near.map((each) => `"role:${each}"`).join(" or ")}?`
      : `Register an agent for it: hub.agent("…", { role: "${role}" }).`;
  return new BatonError("unknown_role", {
    message:
      kind === "receiver_disabled"
        ? `Every agent with the role "${role}" is disabled.`
        : `No agent in workspace "${workspace.name}" has the role "${role}".`,
    path: "to",
    hint,
    details: { role, near },
  });
}
