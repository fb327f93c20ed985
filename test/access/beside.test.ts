/**
 * Several workspaces on one open store: each is separate, and the store closes with the first hub.
 */
import { describe, expect, it } from "vitest";
import { EMBEDDED_STORES, freshAddress, open, refusal } from "../support/hub/support.ts";
import { local, openLocal } from "./support.ts";

describe.each(EMBEDDED_STORES)("hubs of several workspaces on %s", (store) => {
  it("share the store and its options, but no agents or memories [OPS-5]", async () => {
    const hub = await openLocal(store, { workspace: "alpha", limits: { appendBatch: 1 } });
    const beta = hub.beside("beta");
    expect([beta.workspace, beta.store]).toEqual(["beta", hub.store]);
    const ada = await hub.agent("ada", { role: "coder" });
    await ada.remember({ content: "Only alpha knows" });
    expect(await beta.agents.list()).toEqual([]);
    expect(await refusal(beta.agent("ada"))).toMatchObject({ code: "unknown_agent" });
    expect((await beta.memories.recent()).items).toEqual([]);
    const ben = await beta.agent("ben", { role: "coder" });
    const two = [{ content: "1" }, { content: "2" }];
    expect(await refusal(ben.remember(two))).toMatchObject({ code: "limit_exceeded" });
    const wrong = await refusal((async () => hub.beside("no:name"))());
    expect(wrong).toMatchObject({ code: "invalid_input", path: "workspace" });
  });

  it("leave the store open when they close, and close with the first hub [OPS-5]", async () => {
    const hub = await openLocal(store, { workspace: "alpha" });
    const beta = hub.beside("beta");
    const gamma = beta.beside("gamma");
    await beta.close();
    await beta.close();
    await gamma.agent("cyd", { role: "coder" });
    expect(await hub.agents.list()).toEqual([]);
    await hub.close();
    expect(await refusal(gamma.agents.list())).toMatchObject({ code: "store_closed" });
  });
});

describe("closing the first hub", () => {
  it("stores pending traces of the other workspaces", async () => {
    const address = freshAddress("sqlite");
    const hub = local(await open(address, { workspace: "alpha" }));
    const ben = await hub.beside("beta").agent("ben", { role: "coder" });
    const traced = ben.trace({ kind: "tool", content: "ls" });
    await hub.close();
    await traced;
    const again = await open(address, { workspace: "beta" });
    expect((await again.traces.list()).items).toHaveLength(1);
  });
});
