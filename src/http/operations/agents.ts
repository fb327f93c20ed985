/** Who is calling, who there is, and what they come in with. */
import * as z from "zod";
import { BatonError } from "../../base/errors.ts";
import { batonVersion } from "../../base/version.ts";
import { AgentName } from "../../envelope/schema.ts";
import type { AgentProfile } from "../../memory/agents.ts";
import type { Acting, Operations } from "../operation.ts";
import {
  AgentForm,
  AgentProfileForm,
  IssuedTokenForm,
  TokenForm,
  TokenInputForm,
  WhoAmIForm,
} from "../schemas/agents.ts";
import { DONE, Done } from "../schemas/plain.ts";

const Named = z.strictObject({
  name: AgentName.meta({ description: "Its canonical id, or an alias" }),
});

const Nothing = z.strictObject({});

export const agentsOperations = {
  whoAmI: {
    summary: "Tells who the hub takes the caller for.",
    access: "reader",
    input: Nothing,
    output: WhoAmIForm,
    async run({ hub, access, named, agent }) {
      const acts = named === undefined ? {} : { agent: (await agent()).id };
      const { workspace, leaseMs } = hub;
      return { version: batonVersion(), workspace, ...acts, access, leaseMs };
    },
  },
  registerAgent: {
    summary: "Registers an agent, or adds to what is known of it.",
    access: "coordinator",
    input: Named.extend({ profile: AgentProfileForm.optional() }),
    output: AgentForm,
    async run({ hub }, { name, profile = {} }) {
      refuseKey(profile);
      return (await hub.agent(name, profile)).info;
    },
  },
  getAgent: {
    summary: "Shows an agent by its id or an alias.",
    access: "reader",
    input: Named,
    output: AgentForm,
    run: async ({ hub }, { name }) => (await hub.agent(name)).info,
  },
  listAgents: {
    summary: "Lists the agents of the workspace.",
    access: "reader",
    input: Nothing,
    output: z.array(AgentForm),
    run: ({ hub }) => hub.agents(),
  },
  pauseAgent: {
    summary: "Lets an agent keep its inbox and gives it nothing from it, until it is resumed.",
    access: "coordinator",
    input: Named,
    output: Done,
    async run({ hub }, { name }) {
      await hub.pause(name);
      return DONE;
    },
  },
  resumeAgent: {
    summary: "Gives a paused agent work again.",
    access: "coordinator",
    input: Named,
    output: Done,
    async run({ hub }, { name }) {
      await hub.resume(name);
      return DONE;
    },
  },
  addToken: {
    summary: "Issues a token; its text is in the answer, and nowhere else.",
    access: "admin",
    input: TokenInputForm,
    output: IssuedTokenForm,
    rest: true,
    run: async (acting, token) => acting.hub.tokens.add(token, await actorOf(acting)),
  },
  listTokens: {
    summary: "Lists the tokens of the workspace, without their texts.",
    access: "admin",
    input: Nothing,
    output: z.array(TokenForm),
    run: ({ hub }) => hub.tokens.list(),
  },
  revokeToken: {
    summary: "Revokes a token; every hub knows after two seconds at most.",
    access: "admin",
    input: z.strictObject({ id: z.string(), reason: z.string().optional() }),
    output: TokenForm,
    run: async (acting, { id, reason }) =>
      acting.hub.tokens.revoke(id, reason, await actorOf(acting)),
  },
} satisfies Operations<
  | "whoAmI"
  | "registerAgent"
  | "getAgent"
  | "listAgents"
  | "pauseAgent"
  | "resumeAgent"
  | "addToken"
  | "listTokens"
  | "revokeToken"
>;

/** Whoever sends a private key has given it away; a hub that took it could sign in the agent's name. */
function refuseKey(profile: AgentProfile): void {
  if (profile === null || typeof profile !== "object" || profile.key === undefined) return;
  throw new BatonError("invalid_input", {
    message: "A private key does not travel: it stays with whoever signs.",
    path: "profile.key",
    hint: "Leave it out; over HTTP a token says who an agent is. An agent that signs opens the store itself.",
  });
}

/** Who does it, as far as the connection says: what a header claims is held against the token first. */
async function actorOf({ named, agent }: Acting): Promise<string | undefined> {
  return named === undefined ? undefined : (await agent()).id;
}
