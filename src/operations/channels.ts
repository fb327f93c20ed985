/** Operations on channels and routes. */
import * as z from "zod";
import { CHANNEL_STATES, SubscribeSchema } from "../delivery/settings/channels.ts";
import { RouteSchema } from "../delivery/settings/routes.ts";
import { Name } from "../envelope/schema.ts";
import { operation } from "./operation.ts";
import { Count, Done, Text, Texts } from "./schemas/common.ts";

const ByName = z.strictObject({ name: Name });
const Nothing = z.strictObject({});

const ChannelForm = z
  .strictObject({ name: Text, state: z.enum(CHANNEL_STATES) })
  .meta({ id: "Channel", description: "A named fan-out: each subscriber gets its own delivery." });

const RouteInfoForm = RouteSchema.extend({ name: Text }).meta({
  id: "Route",
  description: "Chooses the next receiver for a handoff that names none.",
});

export const channelsOperations = {
  "channels.list": operation({
    summary: "Lists the channels of the workspace.",
    route: "GET /v1/channels",
    access: "reader",
    on: "hub",
    input: Nothing,
    output: z.array(ChannelForm),
  }),
  "channels.set": operation({
    summary: "Creates a channel if it does not exist; opens, pauses or closes it.",
    route: "PUT /v1/channels/:name",
    access: "coordinator",
    on: "hub",
    args: ["name", "state"],
    input: ByName.extend({ state: z.enum(CHANNEL_STATES).optional() }),
    output: ChannelForm,
  }),
  "channels.subscribers": operation({
    summary: "Lists the subscribers of a channel.",
    route: "GET /v1/channels/:name/subscribers",
    access: "reader",
    on: "hub",
    args: ["name"],
    input: ByName,
    output: Texts,
  }),
  "channels.subscribe": operation({
    summary: "Subscribes the agent to a channel, optionally to what was published before.",
    route: "PUT /v1/channels/:name/subscription",
    access: "agent",
    on: "agent",
    args: ["name"],
    input: ByName.extend(SubscribeSchema.shape),
    output: z.strictObject({ replayed: Count }),
    rest: true,
  }),
  "channels.unsubscribe": operation({
    summary: "Unsubscribes the agent from a channel.",
    route: "DELETE /v1/channels/:name/subscription",
    access: "agent",
    on: "agent",
    args: ["name"],
    input: ByName,
    output: Done,
  }),
  "routes.list": operation({
    summary: "Lists the routes for handoffs that name no receiver.",
    route: "GET /v1/routes",
    access: "reader",
    on: "hub",
    input: Nothing,
    output: z.array(RouteInfoForm),
  }),
  "routes.set": operation({
    summary: "Sets one route.",
    route: "PUT /v1/routes/:name",
    access: "coordinator",
    on: "hub",
    args: ["name"],
    input: ByName.extend(RouteSchema.shape),
    output: Done,
    rest: true,
  }),
  "routes.delete": operation({
    summary: "Deletes one route.",
    route: "DELETE /v1/routes/:name",
    access: "coordinator",
    on: "hub",
    args: ["name"],
    input: ByName,
    output: Done,
  }),
};
