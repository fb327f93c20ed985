/** Tests the agent registry: profiles, aliases, disabled agents, and agents with a key. */
import { createPrivateKey } from "node:crypto";
import { describe, expect, it } from "vitest";
import { generateKey } from "../../src/index.ts";
import {
  contents,
  freshAddress,
  open,
  openFresh,
  refusal,
  STORES,
  take,
} from "../support/hub/support.ts";

describe.each(STORES)("the agent registry on %s", (store) => {
  it("keeps an agent's profile and merges later updates into it [MEM-4]", async () => {
    const address = freshAddress(store);
    const hub = await open(address);
    const profile = {
      name: "Ada",
      role: "coder",
      owner: "team auth",
      description: "Writes the code",
      capabilities: ["typescript", "sql"],
      model: "some-model",
      window: 200_000,
    };
    await hub.agent("coder", { ...profile, aliases: ["ada"] });
    await hub.agent("coder", { description: "Writes and tests", aliases: ["dev"] });
    const expected = {
      ...profile,
      id: "coder",
      description: "Writes and tests",
      aliases: ["ada", "dev"],
      status: "active",
    };
    expect(await hub.agents.list()).toEqual([expected]);
    expect((await hub.agent("coder")).info).toEqual(expected);
  });

  it("omits the role and key of an agent that has neither [MEM-4]", async () => {
    const hub = await openFresh(store);
    const { info } = await hub.agent("scout", {});
    expect(info).toEqual({ id: "scout", status: "active", aliases: [] });
    expect(await hub.agents.get("scout")).toEqual(info);
  });

  it("resolves aliases to the agent's id in memories and handoffs [MEM-4]", async () => {
    const hub = await openFresh(store);
    const planner = await hub.agent("planner", { role: "planner" });
    await hub.agent("coder", { role: "coder", aliases: ["ada", "team/dev"] });
    for (const name of ["coder", "ada", "team/dev"]) {
      const agent = await hub.agent(name);
      expect(agent.id).toBe("coder");
      expect((await agent.remember({ content: `As ${name}` })).agent).toBe("coder");
      const sent = await planner.handoff({ to: name, task: name, intent: "Go" });
      expect(sent.envelope.to).toEqual({ kind: "agent", agent: "coder" });
    }
    await hub.agent("ada", { role: "reviewer" });
    expect(await hub.agents.list()).toMatchObject([
      { id: "coder", role: "reviewer" },
      { id: "planner" },
    ]);
  });

  it("refuses an alias that another agent uses [MEM-4]", async () => {
    const hub = await openFresh(store);
    await hub.agent("coder", { aliases: ["ada"] });
    for (const alias of ["coder", "ada"]) {
      const error = await refusal(hub.agent("intruder", { aliases: [alias] }));
      expect(error).toMatchObject({ code: "alias_taken", details: { name: alias, by: "coder" } });
    }
    expect(await hub.agents.list()).toHaveLength(1);
  });

  it("refuses an unknown name, suggests similar ones and registers nothing [MEM-4]", async () => {
    const hub = await openFresh(store);
    const planner = await hub.agent("planner", {});
    await hub.agent("reviewer", { aliases: ["critic"] });
    const unknown = await refusal(hub.agent("reviewr"));
    expect(unknown).toMatchObject({ code: "unknown_agent", details: { near: ["reviewer"] } });
    expect(unknown.hint).toContain('"reviewer"');
    const before = await contents(hub);
    const receiver = await refusal(planner.handoff({ to: "crtic", intent: "Go" }));
    expect(receiver).toMatchObject({ code: "unknown_agent", path: "to" });
    expect(receiver.hint).toContain('"critic"');
    expect(await contents(hub)).toEqual(before);
    expect(await hub.agents.list()).toHaveLength(2);
  });

  it("refuses calls by or to a disabled agent until it is enabled again [MEM-4]", async () => {
    const hub = await openFresh(store);
    const planner = await hub.agent("planner", {});
    const coder = await hub.agent("coder", {});
    await planner.handoff({ to: "coder", task: "held", intent: "Go" });
    await planner.handoff({ to: "coder", task: "waiting", intent: "Go" });
    const work = await take(coder, { task: "held" });
    await hub.agent("coder", { status: "disabled" });
    const before = await contents(hub);
    const attempts = {
      remember: () => coder.remember({ content: "Still here" }),
      "a new session": async () => (await hub.agent("coder")).remember({ content: "And here" }),
      handoff: () => coder.handoff({ to: "planner", intent: "Go" }),
      accept: () => coder.accept(),
      inbox: () => coder.inbox({ wait: false }).next(),
      note: () => work.note("A note"),
      complete: () => work.complete(),
      "hand on": () => work.handoff({ to: "planner" }),
      "to it": () => planner.handoff({ to: "coder", intent: "Go" }),
    };
    for (const [what, attempt] of Object.entries(attempts)) {
      expect(await refusal(attempt()), what).toMatchObject({ code: "agent_disabled" });
    }
    expect(await contents(hub)).toEqual(before);
    await hub.agent("coder", { status: "active" });
    expect((await coder.remember({ content: "Back" })).agent).toBe("coder");
  });

  it("identifies each session of an agent separately [MEM-4]", async () => {
    const hub = await openFresh(store);
    await hub.agent("coder", {});
    const sessions = await Promise.all(Array.from({ length: 5 }, () => hub.agent("coder")));
    expect(new Set(sessions.map(({ instance }) => instance)).size).toBe(5);
    for (const session of sessions) await session.remember({ content: session.instance });
    for (const { instance } of sessions) {
      const found = await sessions[0]?.memories.recent({ session: instance });
      expect(found?.items).toMatchObject([{ agent: "coder", instance, content: instance }]);
    }
    const named = await hub.agent("coder", undefined, { instance: "window-1" });
    expect(named.instance).toBe("window-1");
  });

  it("merges concurrent registrations of the same agent [MEM-4]", async () => {
    const address = freshAddress(store);
    const hubs =
      store === "memory" ? [await open(address)] : [await open(address), await open(address)];
    const names = Array.from({ length: 12 }, (_, i) => `alias-${i}`);
    await Promise.all(
      names.map((alias, i) => hubs[i % hubs.length]?.agent("coder", { aliases: [alias] })),
    );
    const [registered, ...others] = (await hubs[0]?.agents.list()) ?? [];
    expect(others).toEqual([]);
    expect(registered?.aliases.toSorted()).toEqual(names.toSorted());
  });
});

describe.each(STORES)("an agent with a key on %s", (store) => {
  it("reports only the invalid field of a profile that has a key object [MEM-4]", async () => {
    const hub = await openFresh(store);
    const key = createPrivateKey(generateKey());
    const error = await refusal(hub.agent("coder", { key, window: -1 }));
    expect(error.violations).toMatchObject([{ path: "profile.window", rule: "min_value" }]);
    await hub.agent("coder", { key, window: 1 });
  });

  async function keyed() {
    const hub = await openFresh(store);
    const key = generateKey();
    const planner = await hub.agent("planner", {});
    const owner = await hub.agent("coder", { key, aliases: ["ada"] });
    return { hub, key, planner, owner, stranger: await hub.agent("coder") };
  }

  it("cannot be changed or impersonated without its key [MEM-4]", async () => {
    const { hub, planner, stranger } = await keyed();
    await planner.handoff({ to: "coder", intent: "Go" });
    const before = await contents(hub);
    const attempts = {
      "change it": () => hub.agent("coder", { role: "admin" }),
      "change it by alias": () => hub.agent("ada", { status: "disabled" }),
      "give it another key": () => hub.agent("coder", { key: generateKey() }),
      remember: () => stranger.remember({ content: "I am coder" }),
      handoff: () => stranger.handoff({ to: "planner", intent: "Go" }),
      accept: () => stranger.accept(),
      pin: async () => stranger.memories.pin((await planner.memories.recent()).items[0]?.id ?? ""),
    };
    for (const [what, attempt] of Object.entries(attempts)) {
      expect(await refusal(attempt()), what).toMatchObject({ code: "identity_mismatch" });
    }
    expect(await contents(hub)).toEqual(before);
  });

  it("works in every session that has the key [MEM-4]", async () => {
    const { hub, key, planner } = await keyed();
    await planner.handoff({ to: "coder", intent: "Go" });
    const session = await hub.agent("ada", { key });
    const work = await take(session);
    expect(await work.complete({ summary: "Done" })).toMatchObject({ kind: "settled" });
  });

  it("keeps its deliveries when a session without the key opens its inbox [MEM-4]", async () => {
    const { hub, planner, stranger } = await keyed();
    const sent = await planner.handoff({ to: "coder", intent: "Go" });
    const before = await contents(hub);
    const inbox = stranger.inbox({ wait: false });
    expect(await refusal(inbox.next())).toMatchObject({ code: "identity_mismatch" });
    expect(await sent.status()).toMatchObject({ state: "ready", attempt: 0 });
    expect(await contents(hub)).toEqual(before);
  });
});
