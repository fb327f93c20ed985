/**
 * Channels: a named fan-out. What is published reaches each subscriber (or each receiver that is
 * named) as a delivery of its own, so a slow one holds up nobody. Who subscribes later can ask for
 * what was published before.
 */
import * as z from "zod";
import { BatonError } from "../../base/errors.ts";
import { nearestNames } from "../../base/nearest-names.ts";
import { Name, TimeInput } from "../../envelope/schema.ts";
import { parseOrThrow } from "../../envelope/violations.ts";
import { redactSecrets } from "../../memory/redaction/secret-policy.ts";
import { changeEntry, entriesOf, entryValue } from "../../workspace/entries.ts";
import type { Workspace } from "../../workspace/workspace.ts";

const CHANNEL = "channel";
const SUBSCRIPTION = "subscription";

export const CHANNEL_STATES = ["open", "paused", "closed"] as const;
export type ChannelState = (typeof CHANNEL_STATES)[number];
const State = z.enum(CHANNEL_STATES).optional();

interface ChannelValue {
  readonly state: ChannelState;
}

export interface ChannelInfo extends ChannelValue {
  readonly name: string;
}

/** Marks the handoff records of a channel, so that what was published can be found again. */
export const channelTag = (channel: string): string => `${CHANNEL}:${channel}`;

export const parseChannelName = (name: unknown): string =>
  parseOrThrow(Name, name, { code: "invalid_input", what: "The channel", prefix: "channel" });

/** Makes a channel, or changes its state; one that is there already stays as it is. */
export async function setChannel(
  workspace: Workspace,
  channel: string,
  state?: ChannelState,
): Promise<ChannelInfo> {
  const said = await redactSecrets(workspace, { channel });
  const name = parseChannelName(said.channel);
  parseOrThrow(State, state, {
    code: "invalid_input",
    what: "The channel's state",
    prefix: "state",
  });
  const entry = await changeEntry<ChannelValue>(workspace, { kind: CHANNEL, name }, (now) => {
    const wanted = state ?? now?.state ?? "open";
    return now?.state === wanted ? undefined : { value: { state: wanted } };
  });
  return { name, state: entryValue<ChannelValue>(entry)?.state ?? "open" };
}

export async function listChannels(workspace: Workspace): Promise<ChannelInfo[]> {
  const all: ChannelInfo[] = [];
  for await (const entry of entriesOf(workspace, CHANNEL)) {
    all.push({ name: entry.name, state: entryValue<ChannelValue>(entry)?.state ?? "open" });
  }
  return all;
}

/** A channel that can be published on; anything else is refused at once. */
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
    message: `There is no channel "${channel}" in workspace "${workspace.name}".`,
    path: "to",
    hint:
      near.length > 0
        ? `Did you mean ${near.map((each) => `"${each}"`).join(" or ")}?`
        : `Make it first: hub.channels.set("${channel}").`,
    details: { channel, near },
  });
}

const subscription = (channel: string, agent: string) => ({
  kind: SUBSCRIPTION,
  name: `${channel}:${agent}`,
});

/** True when it is new. */
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

export async function unsubscribe(
  workspace: Workspace,
  channel: string,
  agent: string,
): Promise<void> {
  await changeEntry<object>(workspace, subscription(parseChannelName(channel), agent), () => ({
    value: undefined,
  }));
}

export async function subscribersOf(workspace: Workspace, channel: string): Promise<string[]> {
  const prefix = `${channel}:`;
  const agents: string[] = [];
  for await (const { name } of entriesOf(workspace, SUBSCRIPTION, prefix)) {
    agents.push(name.slice(prefix.length));
  }
  return agents;
}

/** From where a new subscriber wants what was published before: from now on, or all there is. */
export const SubscribeSchema = z.strictObject({
  from: z.union([z.enum(["now", "start"]), TimeInput]).default("now"),
});
export type SubscribeOptions = z.input<typeof SubscribeSchema>;
