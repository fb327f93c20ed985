/** A hub that accepts issued tokens only, and clients of it with a token of any agent and access. */
import { onTestFinished } from "vitest";
import type { Access } from "../../../src/access/levels.ts";
import type { LocalHub } from "../../../src/hub/hub.ts";
import { type Agent, type Hub, openHub } from "../../../src/index.ts";
import { served } from "../../http/support.ts";
import type { EmbeddedStoreName } from "./support.ts";

export interface TokenHub {
  /** The hub itself, without access control. */
  readonly local: LocalHub;
  /** A client of the hub with a token of this agent and access. */
  client(agent: string, access: Access): Promise<Hub>;
  /** The agent of such a client. */
  as(agent: string, access: Access): Promise<Agent>;
}

export async function openTokenHub(store: EmbeddedStoreName = "memory"): Promise<TokenHub> {
  const { hub: local, http } = await served({ store, open: false });
  const client = async (agent: string, access: Access): Promise<Hub> => {
    const { token } = await local.tokens.add({ agent, access });
    const fetch = (request: Request) => http.fetch(request);
    const hub = await openHub("http://127.0.0.1", { token, fetch });
    onTestFinished(() => hub.close());
    return hub;
  };
  return { local, client, as: async (agent, access) => (await client(agent, access)).agent(agent) };
}
