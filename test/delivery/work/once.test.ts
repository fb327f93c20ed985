/** Idempotency: a repeated key returns the first handoff, and an effect runs at most once. */
import { describe, expect, it } from "vitest";
import { type HubOptions, LocalHub } from "../../../src/index.ts";
import { VirtualClock } from "../../../src/testing/index.ts";
import { dyingAfter, hubOn, sharedStore, twoHubs } from "../../support/hub/shared-store.ts";
import { contents, openFresh, refusal, STORES, take } from "../../support/hub/support.ts";

describe.each(STORES)("an idempotency key on %s", (store) => {
  async function team(options: HubOptions = {}) {
    const hub = await openFresh(store, options);
    const planner = await hub.agent("planner", {});
    const coder = await hub.agent("coder", { aliases: ["dev"] });
    return { hub, planner, coder };
  }

  const DRAFT = { to: "coder", task: "t", intent: "Go", key: "order 17" };

  it("returns the first handoff when it is repeated, and sends nothing [DLV-9]", async () => {
    const { hub, planner, coder } = await team();
    const first = await planner.handoff(DRAFT);
    const before = await contents(hub);
    const again = await planner.handoff(DRAFT);
    expect(again.joined).toBe("repeated");
    expect(again).toMatchObject({ id: first.id, digest: first.digest, memory: first.memory });
    expect(again.envelope).toEqual(first.envelope);
    expect(await contents(hub)).toEqual(before);
    await (await take(coder)).complete({ summary: "Done" });
    // Once the handoff is completed, it returns the result.
    const late = await planner.handoff(DRAFT);
    expect(await late.completed({ timeoutMs: 60_000 })).toMatchObject({
      kind: "completed",
      result: { summary: "Done" },
    });
    expect(await coder.accept()).toBeUndefined();
    expect((await hub.deliveries.totals()).deliveries).toBe(1);
  });

  it("conflicts when repeated with other content, and sends nothing [DLV-9]", async () => {
    const { hub, planner, coder } = await team();
    await planner.handoff(DRAFT);
    const before = await contents(hub);
    for (const other of [
      { intent: "Stop" },
      { to: "planner" },
      { task: "u" },
      { next: ["More"] },
      { payload: { type: "x", data: { n: 1 } } },
      { priority: "urgent" as const },
    ]) {
      const refused = await refusal(planner.handoff({ ...DRAFT, ...other }));
      expect(refused).toMatchObject({
        code: "idempotency_conflict",
        path: "key",
        retryable: false,
        details: { key: "order 17" },
      });
    }
    expect(await contents(hub)).toEqual(before);
    // An alias of the receiver and another order of the fields are the same content.
    const { key, intent, ...rest } = DRAFT;
    const same = await planner.handoff({ key, intent, ...rest, to: "dev" });
    expect(same.joined).toBe("repeated");
    expect((await coder.deliveries.waiting()).items).toHaveLength(1);
  });

  it("belongs to its sender: another agent can use the same one [DLV-9]", async () => {
    const { planner, coder } = await team();
    await planner.handoff(DRAFT);
    const other = await coder.handoff({ ...DRAFT, to: "planner", intent: "Something else" });
    expect(other.joined).toBe("new");
  });

  it("creates one handoff when two hubs use it concurrently [DLV-9]", async () => {
    const hubs = await twoHubs(store);
    await hubs[0].agent("coder", {});
    const planners = await Promise.all(
      hubs.map((hub) => hub.agent("planner", {}, { instance: "same" })),
    );
    const sent = await Promise.all(
      Array.from({ length: 10 }, (_, i) => (planners[i % 2] ?? planners[0])?.handoff(DRAFT)),
    );
    expect(new Set(sent.map((each) => each?.id)).size).toBe(1);
    expect(sent.filter((each) => each?.joined === "new")).toHaveLength(1);
    expect(await hubs[1].deliveries.totals()).toMatchObject({ envelopes: 1, deliveries: 1 });
    expect((await hubs[1].verify()).problems).toEqual([]);
  });

  it("applies to a publication, and conflicts with other receivers [DLV-9 DLV-3]", async () => {
    const { hub, planner } = await team();
    await hub.channels.set("news");
    for (const name of ["ann", "bob"]) await (await hub.agent(name, {})).channels.subscribe("news");
    const draft = { task: "t", intent: "Hear this", key: "k" };
    const first = await planner.channels.publish("news", draft);
    const again = await planner.channels.publish("news", draft);
    expect(again).toMatchObject({ joined: "repeated", receivers: first.receivers });
    expect(again.each.map(({ id }) => id)).toEqual(first.each.map(({ id }) => id));
    const named = { receivers: ["ann"] };
    const refused = await refusal(planner.channels.publish("news", draft, named));
    expect(refused.code).toBe("idempotency_conflict");
    await planner.channels.publish("news", { ...draft, key: "named" }, named);
    const repeated = await planner.channels.publish("news", { ...draft, key: "named" }, named);
    expect(repeated).toMatchObject({ joined: "repeated", receivers: ["ann"] });
    expect((await hub.deliveries.totals()).deliveries).toBe(3);
  });

  it("applies to a join, and conflicts with other handoffs or needs [DLV-9 DLV-16]", async () => {
    const { hub, planner } = await team();
    const one = await planner.handoff({ to: "coder", task: "one", intent: "Go" });
    const two = await planner.handoff({ to: "coder", task: "two", intent: "Go" });
    const draft = { to: "planner", task: "merge", intent: "Merge", key: "k" };
    const join = await planner.handoffs.join([one, two], draft);
    const again = await planner.handoffs.join([one, two], draft);
    expect(again).toMatchObject({ id: join.id, joined: "repeated" });
    for (const other of [
      () => planner.handoffs.join([one], draft),
      () => planner.handoffs.join([one, two], { ...draft, need: "any" }),
      () => planner.handoff(draft),
    ]) {
      expect((await refusal(other())).code).toBe("idempotency_conflict");
    }
    expect((await hub.deliveries.totals()).deliveries).toBe(3);
  });

  it("can be used again after its handoff was refused [DLV-9]", async () => {
    const { planner } = await team();
    expect((await refusal(planner.handoff({ ...DRAFT, to: "nobody" }))).code).toBe("unknown_agent");
    expect((await planner.handoff(DRAFT)).joined).toBe("new");
  });

  it("can be used to hand work on, which completes it [DLV-9]", async () => {
    const { planner, coder } = await team();
    const sent = await planner.handoff({ to: "coder", task: "t", intent: "Go" });
    const onward = await (await take(coder)).handoff({ to: "planner", key: "k" });
    expect(onward).toMatchObject({ kind: "sent", joined: "new" });
    expect((await sent.status()).state).toBe("completed");
  });
});

describe.each(STORES)("an effect on %s", (store) => {
  async function team(options: HubOptions = {}) {
    const hub = await openFresh(store, options);
    const planner = await hub.agent("planner", {});
    const coder = await hub.agent("coder", {});
    return { hub, planner, coder };
  }

  it("runs once, and later calls return the recorded result [DLV-9]", async () => {
    const { planner, coder } = await team();
    let runs = 0;
    const pay = async () => ({ receipt: ++runs, lines: ["a", null, true] });
    const result = { receipt: 1, lines: ["a", null, true] };
    expect(await planner.effects.run("pay 17", pay)).toEqual({
      kind: "done",
      result,
      again: false,
    });
    expect(await planner.effects.run("pay 17", pay)).toEqual({ kind: "done", result, again: true });
    expect(await coder.effects.run("pay 17", pay)).toEqual({ kind: "done", result, again: true });
    expect(runs).toBe(1);
    expect(await coder.effects.run("pay 18", pay)).toMatchObject({
      again: false,
      result: { receipt: 2 },
    });
    const nothing = await planner.effects.run("nothing to tell", () => undefined);
    expect(nothing).toEqual({ kind: "done", result: undefined, again: false });
    const again = await planner.effects.run("nothing to tell", () => expect.fail("ran again"));
    expect(again).toEqual({ kind: "done", result: undefined, again: true });
  });

  it("runs once when two hubs call it concurrently; the other gets uncertain [DLV-9]", async () => {
    const hubs = await twoHubs(store);
    const agents = await Promise.all(hubs.map((hub, i) => hub.agent(`agent-${i}`, {})));
    const begun = Promise.withResolvers<void>();
    let runs = 0;
    const effect = async () => {
      runs++;
      await begun.promise;
      return "sent";
    };
    const both = agents.map((agent) => agent.effects.run("mail", effect));
    const first = await Promise.race(both); // The hub that may not run it returns at once.
    expect(first.kind).toBe("uncertain");
    begun.resolve();
    const kinds = (await Promise.all(both)).map(({ kind }) => kind);
    expect(kinds.toSorted()).toEqual(["done", "uncertain"]);
    expect(runs).toBe(1);
    expect(await agents[0]?.effects.run("mail", effect)).toMatchObject({
      kind: "done",
      again: true,
    });
  });

  it("is uncertain when it ran and was not recorded, until it is resolved [DLV-9]", async () => {
    const clock = new VirtualClock();
    const reopen = sharedStore(store, { clock });
    const dying = new LocalHub(dyingAfter("putEntry", await reopen()), { clock });
    const coder = await dying.agent("coder", {});
    let runs = 0;
    expect((await refusal(coder.effects.run("pay", () => ++runs))).code).toBe("store_closed");
    expect(runs).toBe(1);

    const since = clock.now();
    clock.advance(60_000);
    const hub = await hubOn(store, await reopen(), { clock });
    const planner = await hub.agent("planner", {});
    const unknown = { kind: "uncertain", by: "coder", since };
    expect(await planner.effects.run("pay", () => ++runs)).toEqual(unknown);
    expect(await planner.effects.run("pay", () => ++runs)).toEqual(unknown);
    expect(runs).toBe(1);
    await planner.effects.resolve("pay", { receipt: 17 });
    const known = { kind: "done", result: { receipt: 17 }, again: true };
    expect(await planner.effects.run("pay", () => ++runs)).toEqual(known);
    expect(runs).toBe(1);
    // A recorded result cannot be changed.
    const refused = await refusal(planner.effects.resolve("pay", { receipt: 18 }));
    expect(refused).toMatchObject({ code: "id_conflict", path: "key", details: { key: "pay" } });
    expect(await planner.effects.run("pay", () => ++runs)).toEqual(known);
    expect((await hub.verify()).problems).toEqual([]);
  });

  it("is uncertain after it throws, since part of it may have happened [DLV-9]", async () => {
    const { planner } = await team();
    const broken = planner.effects.run("pay", () => Promise.reject(new Error("connection reset")));
    await expect(broken).rejects.toThrow("connection reset");
    expect(await planner.effects.run("pay", () => "again")).toMatchObject({ kind: "uncertain" });
  });

  it("throws id_conflict when it was resolved while it ran [DLV-9]", async () => {
    const { planner, coder } = await team();
    const [begun, running] = [Promise.withResolvers<void>(), Promise.withResolvers<string>()];
    const late = coder.effects.run("pay", () => {
      begun.resolve();
      return running.promise;
    });
    await begun.promise;
    expect(await planner.effects.run("pay", () => "no")).toMatchObject({ kind: "uncertain" });
    await planner.effects.resolve("pay", "looked: it was paid");
    running.resolve("paid");
    expect((await refusal(late)).code).toBe("id_conflict");
    expect(await coder.effects.run("pay", () => "no")).toMatchObject({
      result: "looked: it was paid",
    });
  });

  it("runs once per delivery, no matter how often that is redelivered [DLV-9]", async () => {
    const { planner, coder } = await team();
    let runs = 0;
    const effect = () => `run ${++runs}`;
    await planner.handoff({ to: "coder", task: "t", intent: "Go" });
    const first = await take(coder);
    expect(first.delivery.attempt > 1).toBe(false);
    expect(await first.once("mail", effect)).toMatchObject({ result: "run 1", again: false });
    await first.release();
    const second = await take(coder);
    expect(second.delivery.attempt > 1).toBe(true);
    expect(await second.once("mail", effect)).toMatchObject({ result: "run 1", again: true });
    expect(await second.once("other", effect)).toMatchObject({ result: "run 2", again: false });
    await second.complete();
    // The same key in another delivery is another effect.
    await planner.handoff({ to: "coder", task: "u", intent: "Go" });
    expect(await (await take(coder)).once("mail", effect)).toMatchObject({ result: "run 3" });
  });

  it("can detect redelivery by the attempt of an offer [DLV-9]", async () => {
    const clock = new VirtualClock();
    const { planner, coder } = await team({ clock });
    await planner.handoff({ to: "coder", task: "t", intent: "Go" });
    const offer = async () => (await coder.inbox({ wait: false }).next()).value;
    const first = await offer();
    expect(first?.delivery.attempt).toBe(1);
    const work = await first?.accept();
    expect(work?.delivery.attempt).toBe(1);
    clock.advance(60_001); // The lease expires: the holder may have done part of the work.
    const second = await offer();
    expect(second?.delivery.attempt).toBe(2);
    expect((await second?.accept())?.delivery.attempt).toBe(2);
  });
});
