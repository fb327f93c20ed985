/**
 * `hub.channels`, `agent.channels` and `hub.routes`: where handoffs go that do not name a single receiver.
 */

import { replay } from "../../delivery/receive/replay.ts";
import {
  type ChannelInfo,
  type ChannelState,
  listChannels,
  requireChannel,
  type SubscribeOptions,
  SubscribeSchema,
  setChannel,
  subscribe,
  subscribersOf,
  unsubscribe,
} from "../../delivery/settings/channels.ts";
import {
  deleteRoute,
  listRoutes,
  type Route,
  type RouteInfo,
  setRoute,
} from "../../delivery/settings/routes.ts";
import { type DraftOf, instantOf } from "../../envelope/schema.ts";
import { parseOrThrow } from "../../envelope/violations.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import type { Sent } from "../sent.ts";
import type { Call } from "./call.ts";

/** `hub.channels`: creates, pauses and closes channels. */
export interface HubChannels {
  /** Returns every channel. */
  list(): Promise<ChannelInfo[]>;
  /** Creates a channel if it does not exist, and opens, pauses or closes it. */
  set(name: string, state?: ChannelState): Promise<ChannelInfo>;
  /** Returns the ids of the subscribers of a channel. Throws `unknown_channel`. */
  subscribers(name: string): Promise<string[]>;
}

/** `agent.channels`: publishes to channels and subscribes to them. */
export interface AgentChannels {
  /**
   * Sends a handoff to the subscribers of a channel, or only to the `receivers` among them. Throws
   * `unknown_channel`, `channel_closed`, `channel_paused`.
   */
  publish<T extends object = object>(
    channel: string,
    draft: Omit<DraftOf<T>, "to">,
    options?: { readonly receivers?: readonly string[] },
  ): Promise<Sent<T>>;
  /**
   * Subscribes to a channel. With `from: "start"` or a time, also delivers what was published since then and
   * returns how many handoffs. Default: "now".
   */
  subscribe(channel: string, options?: SubscribeOptions): Promise<{ replayed: number }>;
  /** Ends the subscription to a channel. */
  unsubscribe(channel: string): Promise<void>;
}

/** `hub.routes`: rules that choose the receiver of handoffs that name none. */
export interface HubRoutes {
  /** Returns every route. */
  list(): Promise<RouteInfo[]>;
  /** Sets the receiver of handoffs that name none and match this rule. */
  set(name: string, route: Route): Promise<void>;
  /** Deletes a route. Does nothing if it does not exist. */
  delete(name: string): Promise<void>;
}

/** Returns `hub.channels` for a workspace. */
export const hubChannels = (workspace: Workspace): HubChannels => ({
  list: () => listChannels(workspace),
  set: (name, state) => setChannel(workspace, name, state),
  async subscribers(name) {
    await requireChannel(workspace, name);
    return subscribersOf(workspace, name);
  },
});

/** What `agentChannels()` needs of its agent. */
export interface AgentChannelsOptions {
  readonly agent: string;
  readonly call: Call;
  readonly publish: AgentChannels["publish"];
}

/** Returns `agent.channels` for a session. */
export const agentChannels = (
  workspace: Workspace,
  { agent, call, publish }: AgentChannelsOptions,
): AgentChannels => ({
  publish,
  subscribe: (channel, options = {}) =>
    call(async () => {
      const { from } = parseOrThrow(SubscribeSchema, options, {
        code: "invalid_input",
        what: "The options",
      });
      await subscribe(workspace, channel, agent);
      if (from === "now") return { replayed: 0 };
      const since = from === "start" ? 0 : instantOf(from);
      return { replayed: await replay(workspace, channel, { agent, since }) };
    }),
  unsubscribe: (channel) => call(() => unsubscribe(workspace, channel, agent)),
});

/** Returns `hub.routes` for a workspace. */
export const hubRoutes = (workspace: Workspace): HubRoutes => ({
  list: () => listRoutes(workspace),
  set: (name, route) => setRoute(workspace, name, route),
  delete: (name) => deleteRoute(workspace, name),
});
