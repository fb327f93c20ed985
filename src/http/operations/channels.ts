/** Channels, and the table of routes. */
import * as z from "zod";
import { CHANNEL_STATES, SubscribeSchema } from "../../delivery/settings/channels.ts";
import { RouteSchema } from "../../delivery/settings/routes.ts";
import { Name } from "../../envelope/schema.ts";
import type { Operations } from "../operation.ts";
import { Count, DONE, Done, Text, Texts } from "../schemas/plain.ts";

const Named = z.strictObject({ name: Name });
const Nothing = z.strictObject({});

const ChannelForm = z
  .strictObject({ name: Text, state: z.enum(CHANNEL_STATES) })
  .meta({ id: "Channel", description: "A named fan-out: each subscriber gets its own delivery." });

const RouteInfoForm = RouteSchema.extend({ name: Text }).meta({
  id: "Route",
  description: "Who comes next when a sender names nobody.",
});

export const channelsOperations = {
  listChannels: {
    summary: "Lists the channels of the workspace.",
    access: "reader",
    input: Nothing,
    output: z.array(ChannelForm),
    run: ({ hub }) => hub.channels(),
  },
  setChannel: {
    summary: "Makes a channel if there is none, or opens, pauses or closes it.",
    access: "coordinator",
    input: Named.extend({ state: z.enum(CHANNEL_STATES).optional() }),
    output: ChannelForm,
    run: ({ hub }, { name, state }) => hub.channel(name, state),
  },
  subscribers: {
    summary: "Lists who gets what is published on a channel.",
    access: "reader",
    input: Named,
    output: Texts,
    run: ({ hub }, { name }) => hub.subscribers(name),
  },
  subscribe: {
    summary:
      "Lets the agent get what is published on a channel; also what was before, where asked.",
    access: "agent",
    input: Named.extend(SubscribeSchema.shape),
    output: z.strictObject({ replayed: Count }),
    rest: true,
    run: async (acting, { name, ...options }) => (await acting.agent()).subscribe(name, options),
  },
  unsubscribe: {
    summary: "Lets the agent get nothing of a channel any more.",
    access: "agent",
    input: Named,
    output: Done,
    async run(acting, { name }) {
      await (await acting.agent()).unsubscribe(name);
      return DONE;
    },
  },
  listRoutes: {
    summary: "Lists who comes next when a sender names nobody.",
    access: "reader",
    input: Nothing,
    output: z.array(RouteInfoForm),
    run: ({ hub }) => hub.routes(),
  },
  setRoute: {
    summary: "Sets one rule of the table of routes.",
    access: "coordinator",
    input: Named.extend(RouteSchema.shape),
    output: Done,
    rest: true,
    async run({ hub }, { name, ...route }) {
      await hub.route(name, route);
      return DONE;
    },
  },
  dropRoute: {
    summary: "Takes one rule out of the table of routes.",
    access: "coordinator",
    input: Named,
    output: Done,
    async run({ hub }, { name }) {
      await hub.route(name, undefined);
      return DONE;
    },
  },
} satisfies Operations<
  | "listChannels"
  | "setChannel"
  | "subscribers"
  | "subscribe"
  | "unsubscribe"
  | "listRoutes"
  | "setRoute"
  | "dropRoute"
>;
