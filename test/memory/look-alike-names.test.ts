/** Names of agents, roles and channels that look like existing ones are refused. */
import { describe, expect, it } from "vitest";
import { hubOn, sharedStore } from "../support/hub/shared-store.ts";
import { openFresh, refusal, STORES } from "../support/hub/support.ts";

describe.each(STORES)("a name that looks like another on %s", (store) => {
  it("is refused for an agent, and names the existing one [MEM-4]", async () => {
    const hub = await openFresh(store);
    await hub.agent("ada", { aliases: ["Planner-0"] });
    for (const [name, like] of [
      ["аda", "ada"],
      ["Ada", "ada"],
      ["ＡＤＡ", "ada"],
      ["planner-O", "Planner-0"],
    ] as const) {
      expect(await refusal(hub.agent(name, {}))).toMatchObject({
        code: "alias_taken",
        path: "agent",
        message: `The name "${name}" looks like "${like}", a name of agent "ada".`,
        details: { name, by: "ada", like },
      });
    }
    expect((await hub.agents.list()).map(({ id }) => id)).toEqual(["ada"]);
  });

  it("is refused for an alias, unless the agent's own names look like it [MEM-4]", async () => {
    const hub = await openFresh(store);
    await hub.agent("ada", {});
    await hub.agent("ben", {});
    for (const register of [
      () => hub.agent("ben", { aliases: ["helper", "ADA"] }),
      () => hub.agent("cyd", { aliases: ["helper", "ADA"] }),
    ]) {
      expect(await refusal(register())).toMatchObject({
        code: "alias_taken",
        path: "profile.aliases",
        details: { name: "ADA", by: "ada", like: "ada" },
      });
    }
    await hub.agent("ada", { aliases: ["ADA"] });
    expect(await hub.agents.get("ADA")).toMatchObject({ id: "ada", aliases: ["ADA"] });
    expect((await hub.agents.list()).map(({ id }) => id)).toEqual(["ada", "ben"]);
  });

  it("is refused if it looks like the hub's own name [MEM-4]", async () => {
    const hub = await openFresh(store);
    await hub.agent("ada", {});
    for (const name of ["BATON", "bаton", "Bat0n"]) {
      for (const register of [
        () => hub.agent(name, {}),
        () => hub.agent("ada", { aliases: [name] }),
      ]) {
        expect(await refusal(register())).toMatchObject({
          code: "alias_taken",
          message: `The name "${name}" looks like "baton", which is reserved for the hub.`,
        });
      }
    }
    expect((await hub.agents.get("ada")).aliases).toEqual([]);
  });

  it("is refused for a role, which several agents can share [MEM-4]", async () => {
    const hub = await openFresh(store);
    await hub.agent("ada", { role: "coder" });
    await hub.agent("ben", { role: "coder" });
    for (const role of ["Coder", "соder", "c0der"]) {
      for (const name of ["ben", "cyd"]) {
        expect(await refusal(hub.agent(name, { role }))).toMatchObject({
          code: "invalid_input",
          path: "profile.role",
          details: { role, like: "coder" },
        });
      }
    }
    expect((await hub.agents.get("ben")).role).toBe("coder");
  });

  it("is refused for a channel; an existing channel can be changed [MEM-4]", async () => {
    const hub = await openFresh(store);
    await hub.channels.set("news");
    for (const channel of ["News", "nеws"]) {
      expect(await refusal(hub.channels.set(channel))).toMatchObject({
        code: "invalid_input",
        path: "channel",
        details: { channel, like: "news" },
      });
    }
    await hub.channels.set("news", "paused");
    expect(await hub.channels.list()).toMatchObject([{ name: "news", state: "paused" }]);
  });

  it("stays usable where it was registered before [MEM-4]", async () => {
    const reopen = sharedStore(store);
    const kept = await reopen();
    const row = { status: "active", publicKey: "", profile: "{}", aliases: [], role: "" } as const;
    for (const [id, role] of [
      ["ada", "coder"],
      ["Ada", "Coder"],
      ["BATON", ""],
    ] as const) {
      const agent = { ...row, id, role };
      await kept.registerAgent({ workspace: "default", agent, basedOn: 0 });
    }
    const hub = await hubOn(store, kept);
    await hub.agent("Ada", { description: "The second", aliases: ["second"], role: "Coder" });
    await hub.agent("BATON", { description: "Not the hub" });
    expect((await hub.agents.get("second")).id).toBe("Ada");
    expect((await refusal(hub.agent("ADA", {}))).code).toBe("alias_taken");
  });
});
