/** Edge cases of deliveries: concurrent calls, truncated texts and combinations of features. */
import { describe, expect, it } from "vitest";
import type { Agent, Hub, HubOptions, Sent } from "../../../src/index.ts";
import { VirtualClock } from "../../../src/testing/index.ts";
import { openFresh, openTwo, refusal, STORES, take } from "../../support/hub/support.ts";

/** Returns a text over `most` characters with surrogate pairs where it is truncated. */
const cutAt = (most: number): string => `${"a".repeat(most - 3)}😀😀😀😀`;

describe.each(STORES)("delivery edge cases on %s", (store) => {
  async function team(options: HubOptions = {}) {
    const hub = await openFresh(store, options);
    const [ada, ben, cyd] = await agents(hub, "ada", "ben", "cyd");
    return { hub, ada, ben, cyd };
  }

  async function agents(hub: Hub, ...names: string[]): Promise<Agent[] & [Agent, Agent, Agent]> {
    const made = [];
    for (const name of names) made.push(await hub.agent(name, {}));
    return made as never;
  }

  const stateOf = async (sent: Sent<object>) => (await sent.status()).state;

  it("opens a join whose results are truncated within a surrogate pair [DLV-16]", async () => {
    const { ada, ben } = await team();
    const part = await ada.handoff({ to: "ben", task: "part", intent: "x" });
    const join = await ada.handoffs.join([part], { to: "ada", task: "join", intent: "y" });
    await (await take(ben)).complete({ summary: cutAt(2_000) });
    expect(await stateOf(join)).toBe("ready");
  });

  it("accepts a question and an answer truncated within a surrogate pair [DLV-11]", async () => {
    const { ada, ben } = await team();
    const sent = await ada.handoff({ to: "ben", task: "t", intent: "x" });
    await (await take(ben)).clarify(cutAt(1_990));
    await ada.questions.answer(sent.id, cutAt(2_000));
    expect(await stateOf(sent)).toBe("ready");
  });

  it("opens both of two joins created concurrently [DLV-16]", async () => {
    const [here, there] = await openTwo(store);
    const [ada, ben] = await agents(here, "ada", "ben");
    const other = await there.agent("ada");
    for (let n = 0; n < 5; n++) {
      const part = await ada.handoff({ to: "ben", task: `part-${n}`, intent: "x" });
      const joins = await Promise.all(
        [ada, other].map((agent, i) =>
          agent.handoffs.join([part.id], { to: "ada", task: `join-${n}-${i}`, intent: "y" }),
        ),
      );
      await (await take(ben)).complete();
      for (const join of joins) expect(await stateOf(join), `join of ${n}`).toBe("ready");
    }
  });

  it("opens a join created while the work is held only when its line ends [DLV-16]", async () => {
    const { ada, ben, cyd } = await team();
    const part = await ada.handoff({ to: "ben", task: "part", intent: "x" });
    const work = await take(ben);
    const join = await ada.handoffs.join([part], { to: "ada", task: "join", intent: "y" });
    await work.handoff({ to: "cyd" });
    expect(await stateOf(join)).toBe("scheduled");
    await (await take(cyd)).complete();
    expect(await stateOf(join)).toBe("ready");
  });

  it("opens a join when the superseding handoff completes [DLV-16 ENV-11]", async () => {
    const { ada, ben } = await team();
    const part = await ada.handoff({ to: "ben", task: "part", intent: "x" });
    const join = await ada.handoffs.join([part], { to: "ada", task: "join", intent: "y" });
    expect((await ada.handoff({ to: "ben", task: "part", intent: "x, again" })).joined).toBe(
      "superseded",
    );
    await (await take(ben)).complete();
    expect(await stateOf(join)).toBe("ready");
  });

  it("keeps a join separate from other open work of its task [DLV-16 ENV-11]", async () => {
    const { ada, ben, cyd } = await team();
    await ada.handoff({ to: "ben", task: "t", intent: "x" });
    const work = await take(ben);
    const part = await ada.handoff({ to: "cyd", task: "part", intent: "x" });
    const join = await ada.handoffs.join([part], { to: "ben", task: "t", intent: "y" });
    expect([join.joined, await stateOf(join)]).toEqual(["new", "scheduled"]);
    expect(await work.complete()).toMatchObject({ kind: "settled" });
    await (await take(cyd)).complete();
    expect(await stateOf(join)).toBe("ready");
  });

  it("escalates each of many deliveries given up at once [DLV-7]", async () => {
    const clock = new VirtualClock();
    const { hub, ada } = await team({ clock });
    const boss = await hub.agent("boss", { role: "coordinator" });
    const policy = { acceptMs: 1_000, attempts: 1, exhausted: "escalate" } as const;
    const many = Array.from({ length: 30 }, (_, n) => `t-${n}`);
    await Promise.all(many.map((task) => ada.handoff({ to: "ben", task, intent: "x", policy })));
    await hub.channels.set("news");
    await ada.channels.publish(
      "news",
      { task: "news", intent: "x", policy },
      { receivers: ["ben", "cyd"] },
    );
    clock.advance(1_000);
    await hub.deliveries.runDue();
    expect((await hub.deadLetters.list()).items).toHaveLength(32);
    expect((await boss.deliveries.waiting()).items).toHaveLength(32);
  });

  it("skips fallbacks tried before, and all after a redrive elsewhere [DLV-7]", async () => {
    const { hub, ada, ben, cyd } = await team();
    const policy = { attempts: 1, fallback: ["cyd", "ben"] };
    const sent = await ada.handoff({ to: "ben", task: "t", intent: "x", policy });
    await (await take(ben)).fail({ message: "no" });
    expect(await sent.status()).toMatchObject({ receiver: "cyd", state: "ready" });
    await (await take(cyd)).fail({ message: "no" });
    expect(await stateOf(sent)).toBe("dead");
    const dora = await hub.agent("dora", {});
    await ada.deadLetters.redrive(sent.id, { to: "dora" });
    await (await take(dora)).fail({ message: "no" });
    expect(await sent.status()).toMatchObject({ receiver: "dora", state: "dead" });
  });

  it("starts the accept timeout when earlier work of the task is settled [DLV-2]", async () => {
    const clock = new VirtualClock();
    const { hub, ada, ben, cyd } = await team({ clock });
    await ada.handoff({ to: "ben", task: "t", intent: "x" });
    const work = await take(ben);
    const policy = { acceptMs: 5_000, attempts: 1 };
    const next = await cyd.handoff({ to: "ben", task: "t", intent: "y", policy });
    clock.advance(5_000);
    await hub.deliveries.runDue();
    expect(await next.status()).toMatchObject({ state: "ready", inTurn: false, attempt: 0 });
    await work.complete();
    clock.advance(5_000);
    await hub.deliveries.runDue();
    expect(await stateOf(next)).toBe("dead");
  });

  it("cancels a task, by a second call if the work was handed on meanwhile [DLV-18]", async () => {
    const { hub, ada, ben } = await team();
    await ada.handoff({ to: "ben", task: "t", intent: "x" });
    const work = await take(ben);
    const [, handedOn] = await Promise.allSettled([
      ada.tasks.cancelHandoffs("t", "stop"),
      work.handoff({ to: "cyd" }),
    ]);
    if (handedOn.status === "fulfilled") await ada.tasks.cancelHandoffs("t", "stop");
    const { ready, accepted } = (await hub.deliveries.totals()).byState;
    expect({ ready, accepted }).toEqual({ ready: 0, accepted: 0 });
  });

  it("refuses an effect of cancelled work without running it [DLV-9 DLV-18]", async () => {
    const { ada, ben } = await team();
    const sent = await ada.handoff({ to: "ben", task: "t", intent: "x" });
    const work = await take(ben);
    await sent.cancel("stop");
    let ran = false;
    const effect = () => {
      ran = true;
    };
    expect(await refusal(work.once("pay", effect))).toMatchObject({ code: "cancelled" });
    expect(ran).toBe(false);
  });

  it("returns the first handoff when handing on again with the same key [DLV-9]", async () => {
    const { ada, ben } = await team();
    await ada.handoff({ to: "ben", task: "t", intent: "x" });
    const work = await take(ben);
    const again = await ben.resume(work.handle);
    const draft = { to: "cyd", key: "on" };
    const first = (await work.handoff(draft)) as Sent<object>;
    const second = (await again.handoff(draft)) as Sent<object>;
    expect([second.joined, second.id]).toEqual(["repeated", first.id]);
  });

  it("routes drafts without a receiver by function, but not completed work [DLV-4]", async () => {
    const hub = await openFresh(store, { route: () => "cyd" });
    const [ada, ben] = await agents(hub, "ada", "ben", "cyd");
    const sent = await ada.handoff({ to: "ben", task: "t", intent: "x" });
    await (await take(ben)).complete({ outcome: "approved" });
    const ended = await sent.completed();
    expect(ended.kind === "completed" && ended.result.handedOn).toBeUndefined();
    expect((await ada.handoff({ task: "u", intent: "x" })).receivers).toEqual(["cyd"]);
  });
});
