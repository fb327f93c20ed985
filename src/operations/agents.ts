/** Operations on agents, access tokens and circuit breakers. */
import * as z from "zod";
import { requireAccess } from "../access/refusals.ts";
import { BatonError } from "../base/errors.ts";
import { batonVersion } from "../base/version.ts";
import { Address, AgentName } from "../envelope/schema.ts";
import { KeyRevocationSchema, KeyRotationSchema } from "../memory/agent-keys.ts";
import type { AgentProfile } from "../memory/agents.ts";
import { type OperationContext, operation } from "./operation.ts";
import { requireRegistration, requireWeakerAgent } from "./rights/agent-changes.ts";
import {
  AgentForm,
  AgentKeyForm,
  AgentProfileForm,
  IssuedTokenForm,
  TokenForm,
  TokenInputForm,
  WhoAmIForm,
} from "./schemas/agents.ts";
import { Done } from "./schemas/common.ts";
import { BreakerForm } from "./schemas/workspace.ts";

const ByName = z.strictObject({
  name: AgentName.meta({ description: "The agent's canonical id, or an alias" }),
});

const Nothing = z.strictObject({});

export const agentsOperations = {
  "agents.me": operation({
    summary: "Returns the identity and access of the caller.",
    route: "GET /v1/me",
    access: "reader",
    on: "hub",
    input: Nothing,
    output: WhoAmIForm,
    async run({ hub, access, named, agent }) {
      const acts = named === undefined ? {} : { agent: (await agent()).id };
      const { workspace, leaseMs } = hub;
      return { version: batonVersion(), workspace, ...acts, access, leaseMs };
    },
  }),
  agent: operation({
    summary: "Registers an agent, or updates it; setting its owner or disabling it is for admins.",
    route: "PUT /v1/agents/:name",
    access: "coordinator",
    on: "hub",
    args: ["name", "profile"],
    input: ByName.extend({ profile: AgentProfileForm.optional() }),
    output: AgentForm,
    guard: (acting, { name, profile = {} }) => requireRegistration(acting, name, profile),
    async run({ hub }, { name, profile = {} }) {
      refuseKey(profile);
      return (await hub.agent(name, profile)).info;
    },
  }),
  "agents.get": operation({
    summary: "Returns an agent by its id or an alias.",
    route: "GET /v1/agents/:name",
    access: "reader",
    on: "hub",
    args: ["name"],
    input: ByName,
    output: AgentForm,
  }),
  "agents.list": operation({
    summary: "Lists the agents of the workspace.",
    route: "GET /v1/agents",
    access: "reader",
    on: "hub",
    input: Nothing,
    output: z.array(AgentForm),
  }),
  "agents.pause": operation({
    summary: "Stops delivering work to an agent; its inbox is kept.",
    route: "POST /v1/agents/:name/pause",
    access: "coordinator",
    on: "hub",
    args: ["name"],
    input: ByName,
    output: Done,
    guard: (acting, { name }) => requireWeakerAgent(acting, name),
  }),
  "agents.unpause": operation({
    summary: "Delivers work to a paused agent again.",
    route: "POST /v1/agents/:name/unpause",
    access: "coordinator",
    on: "hub",
    args: ["name"],
    input: ByName,
    output: Done,
    guard: (acting, { name }) => requireWeakerAgent(acting, name),
  }),
  "agents.keys": operation({
    summary: "Lists the signing keys that an agent has or had.",
    route: "GET /v1/agents/:name/keys",
    access: "reader",
    on: "hub",
    args: ["name"],
    input: ByName,
    output: z.array(AgentKeyForm),
  }),
  "agents.rotateKey": operation({
    summary: "Replaces an agent's signing key; without the previous key's signature, admins only.",
    route: "POST /v1/agents/:name/keys",
    access: "agent",
    on: "hub",
    args: ["name"],
    input: ByName.extend(KeyRotationSchema.shape),
    output: z.array(AgentKeyForm),
    rest: true,
    async guard(acting, { signature }) {
      if (signature === undefined) requireAccess(acting, "admin");
    },
    run: async (acting, { name, ...rotation }) =>
      acting.hub.agents.rotateKey(name, rotation, await actorOf(acting)),
  }),
  "agents.revokeKey": operation({
    summary: "Revokes an agent's signing key; verify reports what it signed from then on.",
    route: "POST /v1/agents/:name/keys/revoke",
    access: "admin",
    on: "hub",
    args: ["name"],
    input: ByName.extend(KeyRevocationSchema.shape),
    output: z.array(AgentKeyForm),
    rest: true,
    run: async (acting, { name, ...revocation }) =>
      acting.hub.agents.revokeKey(name, revocation, await actorOf(acting)),
  }),
  "tokens.add": operation({
    summary: "Creates an access token; its text is returned only here.",
    route: "POST /v1/tokens",
    access: "admin",
    on: "hub",
    input: TokenInputForm,
    output: IssuedTokenForm,
    rest: true,
    run: async (acting, token) => acting.hub.tokens.add(token, await actorOf(acting)),
  }),
  "tokens.list": operation({
    summary: "Lists the tokens of the workspace, without their texts.",
    route: "GET /v1/tokens",
    access: "admin",
    on: "hub",
    input: Nothing,
    output: z.array(TokenForm),
  }),
  "tokens.revoke": operation({
    summary: "Revokes a token; takes effect within two seconds.",
    route: "DELETE /v1/tokens/:id",
    access: "admin",
    on: "hub",
    args: ["id", "reason"],
    input: z.strictObject({ id: z.string(), reason: z.string().optional() }),
    output: TokenForm,
    run: async (acting, { id, reason }) =>
      acting.hub.tokens.revoke(id, reason, await actorOf(acting)),
  }),
  "agents.breakers": operation({
    summary: "Lists receivers that recently lost work, and the state of their circuit breakers.",
    route: "GET /v1/breakers",
    access: "reader",
    on: "hub",
    input: Nothing,
    output: z.array(BreakerForm),
  }),
  "agents.resetBreaker": operation({
    summary: "Closes a receiver's circuit breaker.",
    route: "POST /v1/breakers/:receiver/reset",
    access: "coordinator",
    on: "hub",
    args: ["receiver"],
    input: z.strictObject({
      receiver: Address.meta({ description: "An agent's id, or role:… for the inbox of a role" }),
    }),
    output: Done,
  }),
};

/** Throws if the profile contains a private key: a hub that received it could sign as the agent. */
function refuseKey(profile: AgentProfile): void {
  if (profile === null || typeof profile !== "object" || profile.key === undefined) return;
  throw new BatonError("invalid_input", {
    message:
      "profile.key is not accepted over HTTP: a private key must stay with the agent that signs.",
    path: "profile.key",
    hint: "Omit profile.key; over HTTP a token identifies the agent, and an agent that signs opens the store directly.",
  });
}

/** Returns the id of the calling agent, checked against the token; undefined if the call names none. */
async function actorOf({ named, agent }: OperationContext): Promise<string | undefined> {
  return named === undefined ? undefined : (await agent()).id;
}
