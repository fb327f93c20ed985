/** Whom a handoff goes to: names become inboxes before anything is sealed. */

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

export interface ResolvedAddress {
  readonly to: Envelope["to"];
  /** One for an agent or a role; for a channel one for each subscriber. */
  readonly inboxes: readonly string[];
  /** How the receiver likes to be tried. */
  readonly policy: PolicyInput | undefined;
}

type To = NonNullable<CheckedDraft["to"]>;

/** An alias becomes the canonical id before it is sealed: the envelope is for good. */
export async function resolveAddress(
  workspace: Workspace,
  to: To,
  receivers?: readonly string[],
): Promise<ResolvedAddress> {
  const receiver = typeof to === "string" ? receiverOf(to) : to;
  if (receiver === undefined) throw new Error("the schema lets only addresses through");
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
    message: `Nobody would receive it: the channel "${channel}" has no subscribers.`,
    path: "to",
    hint: `Subscribe first (agent.channels.subscribe("${channel}")), or name receivers.`,
    details: { channel },
  });
}

/** A subscriber that was disabled is passed over: it holds up nobody. */
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

/** Fallbacks as inboxes, so that whoever carries the policy out has nothing to resolve. */
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
        message: `${path}: a channel cannot be fallen back on.`,
        path,
        hint: "Name an agent or a role.",
      });
    }),
  );
  return { ...policy, fallback };
}

/** Who is next when the tries of this receiver are used up; undefined when nobody is. */
export function nextFallback(
  { to, policy }: Pick<Envelope, "to" | "policy">,
  receiver: string,
): string | undefined {
  const line = [...new Set([addressOf(to), ...(policy?.fallback ?? [])])];
  const at = line.indexOf(receiver);
  if (at >= 0) return line[at + 1];
  // A subscriber's turn is before all of them; whom it was redriven to is not in the line at all.
  return to.kind === "channel" ? policy?.fallback?.[0] : undefined;
}

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
      : `Register somebody for it: hub.agent("…", { role: "${role}" }).`;
  return new BatonError("unknown_role", {
    message:
      kind === "receiver_disabled"
        ? `Everybody with the role "${role}" is disabled.`
        : `Nobody in workspace "${workspace.name}" has the role "${role}".`,
    path: "to",
    hint,
    details: { role, near },
  });
}
