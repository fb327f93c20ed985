/**
 * Channels and their subscriptions: a handoff to a channel is delivered to each subscriber (or to each named
 * receiver). Each gets a separate delivery, so that a slow subscriber does not delay the others. An agent
 * that subscribes later can request what was published before.
 */
import * as z from "zod";
import { BatonError } from "../../base/errors.ts";
import { looksLike } from "../../base/look-alikes.ts";
import { nearestNames } from "../../base/nearest-names.ts";
import { Name, TimeInput } from "../../envelope/schema.ts";
import { parseOrThrow } from "../../envelope/violations.ts";
import { changeSetting } from "../../memory/audit/change-setting.ts";
import { redactSecrets } from "../../memory/redaction/secret-policy.ts";
import { changeEntry, entriesOf, entryValue } from "../../workspace/entries.ts";
import type { Workspace } from "../../workspace/workspace.ts";

const CHANNEL = "channel";
const SUBSCRIPTION = "subscription";

/** States of a channel; a paused or closed channel refuses handoffs. */
export const CHANNEL_STATES = ["open", "paused", "closed"] as const;
/** State of a channel. */
export type ChannelState = (typeof CHANNEL_STATES)[number];
const State = z.enum(CHANNEL_STATES).optional();

interface ChannelValue {
  readonly state: ChannelState;
}

/** A channel with its state. */
export interface ChannelInfo extends ChannelValue {
  readonly name: string;
}

/** Returns the tag of the handoff records of a channel, by which earlier handoffs are found again. */
export const channelTag = (channel: string): string => `${CHANNEL}:${channel}`;

/** Returns the channel name if it is valid; throws `invalid_input` otherwise. */
export const parseChannelName = (name: unknown): string =>
  parseOrThrow(Name, name, { code: "invalid_input", what: "The channel", prefix: "channel" });

/**
 * Creates a channel or changes its state. Without `state`, an existing channel keeps its state (new: open).
 */
export async function setChannel(
  workspace: Workspace,
  channel: string,
  state?: ChannelState,
): Promise<ChannelInfo> {
  const redacted = await redactSecrets(workspace, { channel });
  const name = parseChannelName(redacted.channel);
  parseOrThrow(State, state, {
    code: "invalid_input",
    what: "The channel's state",
    prefix: "state",
  });
  await refuseLookAlike(workspace, name);
  const stored = await changeSetting<ChannelValue>(workspace, { kind: CHANNEL, name }, (now) => {
    const wanted = state ?? now?.state ?? "open";
    return now?.state === wanted ? undefined : { value: { state: wanted } };
  });
  return { name, state: stored?.state ?? "open" };
}

/** Throws `invalid_input` if a new channel looks like an existing one. */
async function refuseLookAlike(workspace: Workspace, channel: string): Promise<void> {
  const all = (await listChannels(workspace)).map(({ name }) => name);
  if (all.includes(channel)) return;
  const like = all.find((name) => looksLike(name, channel));
  if (like === undefined) return;
  throw new BatonError("invalid_input", {
    message: `The channel "${channel}" looks like the existing channel "${like}".`,
    path: "channel",
    hint: `Use "${like}", or choose a name that cannot be confused with it.`,
    details: { channel, like },
  });
}

/** Returns every channel of the workspace. */
export async function listChannels(workspace: Workspace): Promise<ChannelInfo[]> {
  const all: ChannelInfo[] = [];
  for await (const entry of entriesOf(workspace, CHANNEL)) {
    all.push({ name: entry.name, state: entryValue<ChannelValue>(entry)?.state ?? "open" });
  }
  return all;
}

/** Throws unless the channel exists and is open: `unknown_channel`, `channel_paused` or `channel_closed`. */
export async function requireOpenChannel(workspace: Workspace, channel: string): Promise<void> {
  const { state } = await requireChannel(workspace, channel);
  if (state === "open") return;
  throw new BatonError(state === "closed" ? "channel_closed" : "channel_paused", {
    message: `The channel "${channel}" is ${state}.`,
    path: "to",
    hint: `Open it: hub.channels.set("${channel}", "open").`,
    details: { channel },
  });
}

/** Returns a channel; throws `unknown_channel` with similar names if it does not exist. */
export async function requireChannel(workspace: Workspace, channel: string): Promise<ChannelInfo> {
  const entry = await workspace.store.findEntry(workspace.name, CHANNEL, parseChannelName(channel));
  if (entry !== undefined) {
    return { name: channel, state: entryValue<ChannelValue>(entry)?.state ?? "open" };
  }
  const near = nearestNames(
    channel,
    (await listChannels(workspace)).map(({ name }) => name),
  );
  throw new BatonError("unknown_channel", {
    message: `Channel "${channel}" does not exist in workspace "${workspace.name}".`,
    path: "to",
    hint:
      near.length > 0
        ? `Did you mean ${near.map((each) => `"${each}"`).join(" or ")}?`
        : `Create it first: hub.channels.set("${channel}").`,
    details: { channel, near },
  });
}

const subscription = (channel: string, agent: string) => ({
  kind: SUBSCRIPTION,
  name: `${channel}:${agent}`,
});

/** Subscribes an agent to a channel. Returns true if the subscription is new. */
export async function subscribe(
  workspace: Workspace,
  channel: string,
  agent: string,
): Promise<boolean> {
  await requireChannel(workspace, channel);
  let isNew = false;
  await changeEntry<object>(workspace, subscription(channel, agent), (now) => {
    isNew = now === undefined;
    return isNew ? { value: {} } : undefined;
  });
  return isNew;
}

/** Removes the subscription of an agent; does nothing if there is none. */
export async function unsubscribe(
  workspace: Workspace,
  channel: string,
  agent: string,
): Promise<void> {
  await changeEntry<object>(workspace, subscription(parseChannelName(channel), agent), () => ({
    value: undefined,
  }));
}

/** Returns the ids of the agents that subscribe to a channel. */
export async function subscribersOf(workspace: Workspace, channel: string): Promise<string[]> {
  const prefix = `${channel}:`;
  const agents: string[] = [];
  for await (const { name } of entriesOf(workspace, SUBSCRIPTION, prefix)) {
    agents.push(name.slice(prefix.length));
  }
  return agents;
}

/**
 * Options of a new subscription. `from`: which earlier handoffs to deliver: none (default), all, or since a
 * time.
 */
export const SubscribeSchema = z.strictObject({
  from: z.union([z.enum(["now", "start"]), TimeInput]).default("now"),
});
/** Options of a new subscription. */
export type SubscribeOptions = z.input<typeof SubscribeSchema>;
