/** What a token of a coordinator may not change of agents: owners, disabled agents, stronger agents. */
import { describe, expect, it } from "vitest";
import type { AgentProfile } from "../../src/index.ts";
import { EMBEDDED_STORES, openFresh, refusal } from "../support/hub/support.ts";
import { openTokenHub } from "../support/hub/token-hub.ts";

async function scene() {
  const { local, client } = await openTokenHub();
  await local.agent("lead", { role: "coordinator" });
  await local.agent("coder", { role: "coder", owner: "kim", aliases: ["dev"] });
  const coordinator = await client("lead", "coordinator");
  return { local, client, coordinator };
}

const forbidden = (what: string) => ({
  code: "forbidden",
  message: expect.stringContaining(`${what} requires the access level "admin"`),
  details: { has: "coordinator", needs: "admin" },
});

describe("a token with access coordinator", () => {
  it("registers agents and changes their roles, aliases and descriptions [OPS-5]", async () => {
    const { local, client, coordinator } = await scene();
    await client("coder", "agent");
    await client("coder", "coordinator");
    await coordinator.agent("tester", { role: "tester" });
    await coordinator.agent("coder", { role: "reviewer", aliases: ["rev"], owner: "kim" });
    await coordinator.agent("coder", { status: "paused" });
    await coordinator.agents.unpause("coder");
    await coordinator.agents.pause("coder");
    expect(await local.agents.get("rev")).toMatchObject({
      id: "coder",
      role: "reviewer",
      owner: "kim",
      status: "paused",
    });
    expect((await local.agents.get("tester")).role).toBe("tester");
  });

  it("cannot set the owner of an agent, which an admin can [OPS-5]", async () => {
    const { local, client, coordinator } = await scene();
    const expected = forbidden("Setting the owner of an agent");
    expect(await refusal(coordinator.agent("coder", { owner: "eve" }))).toMatchObject(expected);
    expect(await refusal(coordinator.agent("dev", { owner: "eve" }))).toMatchObject(expected);
    expect(await refusal(coordinator.agent("new", { owner: "kim" }))).toMatchObject(expected);
    expect((await local.agents.get("coder")).owner).toBe("kim");
    expect((await local.agents.list()).map(({ id }) => id)).not.toContain("new");
    await (await client("lead", "admin")).agent("coder", { owner: "eve" });
    expect((await local.agents.get("coder")).owner).toBe("eve");
  });

  it("cannot disable or enable an agent, which an admin can [OPS-5]", async () => {
    const { local, client, coordinator } = await scene();
    const expected = forbidden("Disabling or enabling an agent");
    const become = (status: NonNullable<AgentProfile["status"]>) =>
      coordinator.agent("coder", { status });
    expect(await refusal(become("disabled"))).toMatchObject(expected);
    const admin = await client("lead", "admin");
    await admin.agent("coder", { status: "disabled" });
    for (const status of ["active", "paused"] as const) {
      expect(await refusal(become(status))).toMatchObject(expected);
    }
    await become("disabled");
    expect((await local.agents.get("coder")).status).toBe("disabled");
    await admin.agent("coder", { status: "active" });
    expect((await local.agents.get("coder")).status).toBe("active");
  });

  it("cannot change an agent that has a stronger token, until it is revoked [OPS-5]", async () => {
    const { local, coordinator } = await scene();
    const { info } = await local.tokens.add({ agent: "coder", access: "admin" });
    const before = await local.agents.get("coder");
    const expected = forbidden('Changing agent "coder", which has a token of that level,');
    const profiles: readonly AgentProfile[] = [
      { role: "tester" },
      { aliases: ["lead-bot"] },
      { status: "paused" },
      { description: "Someone else" },
      { window: 5 },
    ];
    for (const profile of profiles) {
      for (const name of ["coder", "dev"]) {
        expect(await refusal(coordinator.agent(name, profile))).toMatchObject(expected);
      }
    }
    expect(await refusal(coordinator.agents.pause("dev"))).toMatchObject(expected);
    expect(await refusal(coordinator.agents.unpause("coder"))).toMatchObject(expected);
    expect(await local.agents.get("coder")).toEqual(before);
    // Registering it as it is changes nothing.
    await coordinator.agent("coder", { role: "coder", aliases: ["dev"], owner: "kim" });
    await local.tokens.revoke(info.id);
    await coordinator.agent("coder", { role: "tester" });
    expect((await local.agents.get("coder")).role).toBe("tester");
  });
});

describe.each(EMBEDDED_STORES)("a declared identity on %s", (store) => {
  it("may set owners and disable agents, also with a stronger token [OPS-5]", async () => {
    const hub = await openFresh(store);
    await hub.agent("boss", {});
    await hub.tokens.add({ agent: "boss", access: "admin" });
    await hub.agent("boss", { owner: "kim", status: "disabled" });
    await hub.agent("boss", { status: "active", role: "coder" });
    expect(await hub.agents.get("boss")).toMatchObject({ owner: "kim", role: "coder" });
  });
});
