/** Channels: a publication is stored once and delivered to each subscriber independently. */
import { describe, expect, it } from "vitest";
import type { HubOptions } from "../../../src/index.ts";
import { VirtualClock } from "../../../src/testing/index.ts";
import { contents, openFresh, refusal, STORES, take } from "../../support/hub/support.ts";

describe.each(STORES)("a channel on %s", (store) => {
  async function team(options: HubOptions = {}) {
    const hub = await openFresh(store, options);
    const ada = await hub.agent("ada", { role: "planner" });
    const ben = await hub.agent("ben", { aliases: ["benjamin"] });
    const cyd = await hub.agent("cyd", {});
    await hub.channels.set("news");
    return { hub, ada, ben, cyd };
  }

  async function subscribed(options: HubOptions = {}) {
    const all = await team(options);
    await all.ben.channels.subscribe("news");
    await all.cyd.channels.subscribe("news");
    return all;
  }

  it("sends an unaccepted delivery of a subscriber to the fallback [DLV-2 DLV-3]", async () => {
    const clock = new VirtualClock();
    const { hub, ada, ben, cyd } = await subscribed({ clock });
    const dan = await hub.agent("dan", {});
    const policy = { acceptMs: 1_000, attempts: 1, fallback: ["dan"] };
    await ada.channels.publish("news", { task: "t", intent: "Hear this", policy });
    await (await take(cyd)).complete();
    clock.advance(1_000);
    await hub.deliveries.runDue();
    expect(await ben.accept()).toBeUndefined();
    await (await take(dan)).complete();
    expect(await hub.deliveries.totals()).toMatchObject({
      deliveries: 2,
      byState: { completed: 2 },
    });
  });

  it("stores a publication once and delivers it to each subscriber [DLV-3]", async () => {
    const { hub, ada, ben, cyd } = await subscribed();
    expect(await hub.channels.subscribers("news")).toEqual(["ben", "cyd"]);
    const sent = await ada.channels.publish("news", { task: "t", intent: "Hear this" });
    expect(sent.receivers).toEqual(["ben", "cyd"]);
    expect(sent.envelope.to).toEqual({ kind: "channel", channel: "news" });
    expect(await hub.deliveries.totals()).toMatchObject({
      envelopes: 1,
      deliveries: 2,
      byState: { ready: 2 },
    });
    const [line, ...more] = await hub.tasks.line("t");
    expect(more).toEqual([]);
    expect(line?.deliveries.map(({ receiver }) => receiver).toSorted()).toEqual(["ben", "cyd"]);
    const [bens, cyds] = [await take(ben), await take(cyd)];
    expect(bens.envelope).toEqual(sent.envelope);
    expect(cyds.envelope).toEqual(sent.envelope);
    expect(bens.id).not.toBe(cyds.id);
    expect(await ada.accept()).toBeUndefined();
    expect((await hub.verify()).problems).toEqual([]);
  });

  it("can be the receiver of any handoff [DLV-3]", async () => {
    const { ada } = await subscribed();
    const sent = await ada.handoff({ to: "channel:news", task: "t", intent: "Hear this" });
    expect(sent.receivers).toEqual(["ben", "cyd"]);
  });

  it("delivers to named receivers instead of its subscribers [DLV-3]", async () => {
    const { hub, ada, ben, cyd } = await team();
    await cyd.channels.subscribe("news");
    const draft = { task: "t", intent: "Hear this" };
    const receivers = ["benjamin", "ada", "ben"];
    const sent = await ada.channels.publish("news", draft, { receivers });
    expect(sent.receivers.toSorted()).toEqual(["ada", "ben"]);
    expect((await take(ben)).delivery.task).toBe("t");
    expect(await cyd.accept()).toBeUndefined();
    const before = await contents(hub);
    const refused = await refusal(
      ada.channels.publish("news", draft, { receivers: ["ben", "cid"] }),
    );
    expect(refused).toMatchObject({ code: "unknown_agent", path: "receivers[1]" });
    expect(refused.hint).toContain('"cyd"');
    expect(await contents(hub)).toEqual(before);
  });

  it("settles the delivery of each subscriber independently [DLV-3]", async () => {
    const { ada, ben, cyd } = await subscribed();
    const sent = await ada.channels.publish("news", { task: "t", intent: "Hear this" });
    await (await take(ben)).complete({ summary: "Heard", outputs: { by: "ben" } });
    await (await take(cyd)).decline("Not mine");
    const answers = await Promise.all(sent.each.map((one) => one.completed()));
    expect(answers).toMatchObject([
      { kind: "completed", result: { summary: "Heard", outputs: { by: "ben" } } },
      { kind: "declined", reason: "Not mine" },
    ]);
    expect(sent.each.map((one) => one.receivers)).toEqual([["ben"], ["cyd"]]);
    // A single answer for several deliveries would be ambiguous: it is refused with a hint.
    const refused = await refusal(sent.completed());
    expect(refused).toMatchObject({ code: "invalid_input", path: "sent" });
    expect(refused.hint).toContain("sent.each");
    expect(await refusal(sent.status())).toMatchObject({ code: "invalid_input" });
  });

  it("is not blocked by a slow, failing, paused, full or disabled subscriber [DLV-3]", async () => {
    const { hub, ada, ben, cyd } = await subscribed({ limits: { inbox: 2 } });
    for (const name of ["slow", "broken", "paused", "full", "gone"]) {
      const agent = await hub.agent(name, {});
      await agent.channels.subscribe("news");
    }
    for (const task of ["one", "two"]) await ada.handoff({ to: "full", task, intent: "Go" });
    await hub.agents.pause("paused");
    await ada.channels.publish("news", { task: "first", intent: "Hear this" });
    await take(await hub.agent("slow")); // Holds the work and never settles it.
    const failing = await take(await hub.agent("broken"));
    await failing.fail({ message: "no", class: "permanent" });
    await hub.agent("gone", { status: "disabled" });

    const second = await ada.channels.publish("news", { task: "second", intent: "Hear more" });
    expect(second.receivers).toEqual(["ben", "broken", "cyd", "full", "paused", "slow"]);
    for (const agent of [ben, cyd]) {
      for (const task of ["first", "second"]) {
        const work = await take(agent);
        expect(work.delivery.task).toBe(task);
        await work.complete();
      }
    }
    const states = await Promise.all(second.each.map(async (one) => (await one.status()).state));
    expect(states).toEqual(["completed", "ready", "completed", "ready", "ready", "ready"]);
  });

  it("refuses a publication when all subscribers are disabled [DLV-3]", async () => {
    const { hub, ada } = await subscribed();
    for (const name of ["ben", "cyd"]) await hub.agent(name, { status: "disabled" });
    const before = await contents(hub);
    const refused = await refusal(ada.channels.publish("news", { intent: "Hear this" }));
    expect(refused).toMatchObject({ code: "unknown_channel", path: "to" });
    expect(await contents(hub)).toEqual(before);
  });

  it("replays earlier publications to a late subscriber, oldest first [DLV-3]", async () => {
    const { hub, ada } = await subscribed();
    const originals = [];
    for (const task of ["one", "two"]) {
      originals.push(await ada.channels.publish("news", { task, intent: `About ${task}` }));
    }
    await ada.handoff({ to: "ben", task: "private", intent: "Not published" });
    const dora = await hub.agent("dora", {});
    expect(await dora.channels.subscribe("news", { from: "start" })).toEqual({ replayed: 2 });
    for (const original of originals) {
      const work = await take(dora);
      expect(work.delivery.task).toBe(original.task);
      expect(work.envelope).toMatchObject({
        intent: original.envelope.intent,
        from: { agent: "ada" },
        parents: [original.envelope.id],
      });
      await work.complete();
    }
    expect(await dora.accept()).toBeUndefined();
    // The original deliveries are unchanged.
    expect(await Promise.all(originals[0]?.each.map((one) => one.status()) ?? [])).toMatchObject([
      { state: "ready", receiver: "ben" },
      { state: "ready", receiver: "cyd" },
    ]);
    await ada.channels.publish("news", { task: "three", intent: "From now on" });
    expect((await take(dora)).delivery.task).toBe("three");
    expect((await hub.verify()).problems).toEqual([]);
  });

  it("replays publications since a given time, and none by default [DLV-3]", async () => {
    const clock = new VirtualClock();
    const { hub, ada, ben } = await team({ clock });
    await ben.channels.subscribe("news");
    await ada.channels.publish("news", { task: "early", intent: "Hear this" });
    clock.advance(60_000);
    const since = clock.now();
    await ada.channels.publish("news", { task: "late", intent: "Hear this" });
    const dora = await hub.agent("dora", {});
    expect(await dora.channels.subscribe("news", { from: since })).toEqual({ replayed: 1 });
    expect((await dora.deliveries.waiting()).items.map(({ delivery }) => delivery.task)).toEqual([
      "late",
    ]);
    const carla = await hub.agent("carla", {});
    const from = new Date(since).toISOString();
    expect(await carla.channels.subscribe("news", { from })).toEqual({ replayed: 1 });
    const emil = await hub.agent("emil", {});
    expect(await emil.channels.subscribe("news")).toEqual({ replayed: 0 });
    const future = await hub.agent("future", {});
    expect(await future.channels.subscribe("news", { from: since + 1 })).toEqual({ replayed: 0 });
    expect((await emil.deliveries.waiting()).items).toEqual([]);
    expect((await future.deliveries.waiting()).items).toEqual([]);
  });

  it("delivers a publication once, no matter how often an agent subscribes [DLV-3]", async () => {
    const { hub, ada, ben } = await team();
    await ben.channels.subscribe("news");
    await ada.channels.publish("news", { task: "one", intent: "Hear this" });
    expect(await ben.channels.subscribe("news", { from: "start" })).toEqual({ replayed: 0 });
    const dora = await hub.agent("dora", {});
    expect(await dora.channels.subscribe("news", { from: "start" })).toEqual({ replayed: 1 });
    expect(await dora.channels.subscribe("news", { from: "start" })).toEqual({ replayed: 0 });
    await dora.channels.unsubscribe("news");
    await ada.channels.publish("news", { task: "two", intent: "While it was away" });
    const both = await Promise.all([
      dora.channels.subscribe("news", { from: "start" }),
      dora.channels.subscribe("news", { from: "start" }),
    ]);
    expect(both.map(({ replayed }) => replayed).toSorted()).toEqual([0, 1]);
    const tasks = async (agent: typeof ben) =>
      (await agent.deliveries.waiting()).items.map(({ delivery }) => delivery.task);
    expect(await tasks(ben)).toEqual(["one", "two"]);
    expect(await tasks(dora)).toEqual(["one", "two"]);
    expect(await hub.channels.subscribers("news")).toEqual(["ben", "dora"]);
  });

  it("delivers nothing new after unsubscribing, and keeps earlier deliveries [DLV-3]", async () => {
    const { hub, ada, ben, cyd } = await subscribed();
    await ada.channels.publish("news", { task: "one", intent: "Hear this" });
    await ben.channels.unsubscribe("news");
    await ben.channels.unsubscribe("news");
    expect(await hub.channels.subscribers("news")).toEqual(["cyd"]);
    const second = await ada.channels.publish("news", { task: "two", intent: "Hear more" });
    expect(second.receivers).toEqual(["cyd"]);
    expect((await take(ben)).delivery.task).toBe("one");
    expect(await ben.accept()).toBeUndefined();
    expect((await cyd.deliveries.waiting()).items).toHaveLength(2);
  });

  it("refuses publications while closed or paused, until it is opened [DLV-3]", async () => {
    const { hub, ada, ben } = await subscribed();
    for (const [state, code, retryable] of [
      ["closed", "channel_closed", false],
      ["paused", "channel_paused", true],
    ] as const) {
      expect(await hub.channels.set("news", state)).toEqual({ name: "news", state });
      const before = await contents(hub);
      const refused = await refusal(ada.channels.publish("news", { intent: "Hear this" }));
      expect(refused).toMatchObject({ code, path: "to", retryable });
      expect(refused.hint).toContain('hub.channels.set("news", "open")');
      expect(await contents(hub)).toEqual(before);
      expect(await hub.channels.set("news")).toEqual({ name: "news", state }); // Does not open it.
    }
    await hub.channels.set("news", "open");
    await ada.channels.publish("news", { task: "t", intent: "Hear this" });
    expect((await take(ben)).delivery.task).toBe("t");
  });

  it("is refused with similar names when it does not exist [DLV-3]", async () => {
    const { hub, ada, ben } = await team();
    await hub.channels.set("weather");
    const before = await contents(hub);
    for (const act of [
      () => ada.channels.publish("newz", { intent: "Hear this" }),
      () => ada.handoff({ to: "channel:newz", intent: "Hear this" }),
      () => ben.channels.subscribe("newz"),
      () => ben.channels.subscribe("newz", { from: "start" }),
      () => hub.channels.subscribers("newz"),
    ]) {
      const refused = await refusal(act());
      expect(refused).toMatchObject({ code: "unknown_channel", details: { near: ["news"] } });
      expect(refused.hint).toContain('"news"');
    }
    const far = await refusal(ada.channels.publish("something else", { intent: "Hear this" }));
    expect(far.hint).toContain('hub.channels.set("something else")');
    expect(await contents(hub)).toEqual(before);
    expect((await hub.channels.list()).map(({ name }) => name)).toEqual(["news", "weather"]);
  });

  it("refuses a publication without subscribers [DLV-3]", async () => {
    const { hub, ada } = await team();
    const before = await contents(hub);
    const refused = await refusal(ada.channels.publish("news", { intent: "Hear this" }));
    expect(refused).toMatchObject({ code: "unknown_channel", path: "to" });
    expect(refused.hint).toContain('agent.channels.subscribe("news")');
    expect(await contents(hub)).toEqual(before);
  });

  it("refuses a publication with more receivers than the limit", async () => {
    const { hub, ada, ben, cyd } = await subscribed({ limits: { receivers: 2 } });
    expect((await ada.channels.publish("news", { intent: "Hear this" })).receivers).toHaveLength(2);
    await ada.channels.subscribe("news");
    const before = await contents(hub);
    const refused = await refusal(ada.channels.publish("news", { intent: "Hear this" }));
    expect(refused).toMatchObject({
      code: "limit_exceeded",
      path: "receivers",
      details: { limit: "receivers", max: 2, actual: 3 },
    });
    expect(await contents(hub)).toEqual(before);
    const some = { receivers: [ben.id, cyd.id] };
    expect(
      (await ada.channels.publish("news", { intent: "Hear this" }, some)).receivers,
    ).toHaveLength(2);
  });

  it("creates new work for each publication, even of the same task [DLV-3]", async () => {
    const { ada, ben } = await subscribed();
    const first = await ada.channels.publish("news", { task: "t", intent: "Hear this" });
    const second = await ada.channels.publish("news", { task: "t", intent: "Hear this" });
    expect(second.joined).toBe("new");
    expect(second.id).not.toBe(first.id);
    expect((await ben.deliveries.waiting()).items).toHaveLength(2);
  });

  it("can be the receiver of work that is handed on [DLV-3]", async () => {
    const { ada, ben, cyd } = await subscribed();
    await sendToSelf(ada, "one");
    const work = await take(ada);
    const sent = await work.handoff({ to: "channel:news", next: ["Spread it"] });
    if (sent.kind !== "sent") throw new Error("the handoff was not sent as an extension");
    expect(sent.receivers).toEqual(["ben", "cyd"]);
    expect(sent.envelope).toMatchObject({ hop: 1, task: "one" });
    expect((await take(ben)).envelope.next).toEqual(["Spread it"]);
    expect((await take(cyd)).envelope.hop).toBe(1);
  });

  const sendToSelf = (agent: Awaited<ReturnType<typeof team>>["ada"], task: string) =>
    agent.handoff({ to: agent.id, task, intent: "Begin" });

  it("cancels a publication as a whole, or for one receiver [DLV-3 DLV-18]", async () => {
    const { ada, ben, cyd } = await subscribed();
    const sent = await ada.channels.publish("news", { task: "t", intent: "Hear this" });
    const held = await take(cyd);
    expect(await sent.each[0]?.cancel("Not for ben")).toBe(true);
    expect(await ben.accept()).toBeUndefined();
    await held.renew(); // Only the delivery of ben was cancelled.
    expect(await sent.cancel("Never mind")).toBe(true);
    expect(await refusal(held.complete())).toMatchObject({ code: "cancelled" });
    expect(await sent.cancel("Again")).toBe(false);
  });
});
