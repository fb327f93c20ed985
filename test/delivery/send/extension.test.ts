/** Sending a task again: the new handoff supersedes or extends the open delivery. */
import { describe, expect, it } from "vitest";
import type { EnvelopeOf, HubOptions } from "../../../src/index.ts";
import { VirtualClock } from "../../../src/testing/index.ts";
import { openFresh, refusal, refusedAsExtended, STORES, take } from "../../support/hub/support.ts";
import { until } from "../../support/until.ts";

const DRAFT = { to: "coder", task: "auth", intent: "Refactor auth" };

describe.each(STORES)("a second handoff of the same task on %s", (store) => {
  async function team(options: HubOptions = {}) {
    const hub = await openFresh(store, options);
    const planner = await hub.agent("planner", {});
    const tester = await hub.agent("tester", {});
    const coder = await hub.agent("coder", {});
    const open = async () =>
      (await coder.deliveries.waiting()).items.map(({ delivery }) => delivery.id);
    return { hub, planner, tester, coder, open };
  }

  it("supersedes an unclaimed handoff and takes its place in the inbox [ENV-11]", async () => {
    const { hub, planner, tester, coder, open } = await team();
    const first = await planner.handoff(DRAFT);
    const other = await tester.handoff({ to: "coder", task: "db", intent: "Add an index" });
    const second = await planner.handoff({ ...DRAFT, next: ["And rate-limit"] });
    expect([first.joined, second.joined]).toEqual(["new", "superseded"]);
    expect((await first.status()).state).toBe("superseded");
    expect(second.id).not.toBe(first.id);
    expect(await open()).toEqual([second.id, other.id]);
    const work = await take(coder);
    expect(work.envelope).toEqual(second.envelope);
    expect((await take(coder)).delivery.task).toBe("db");
    expect(await coder.accept()).toBeUndefined();
    expect((await hub.events.list({ after: 0 })).items.map(({ kind }) => kind).slice(0, 4)).toEqual(
      ["sent", "sent", "superseded", "sent"],
    );
  });

  it("links each envelope and record to the one before [ENV-11]", async () => {
    const { hub, planner } = await team();
    const sent = [await planner.handoff(DRAFT)];
    for (const step of ["one", "two"]) sent.push(await planner.handoff({ ...DRAFT, next: [step] }));
    const line = await hub.tasks.line("auth");
    expect(line.map(({ envelope }) => envelope.id)).toEqual(
      sent.map(({ envelope }) => envelope.id),
    );
    expect(line.map(({ envelope }) => envelope.parents)).toEqual([
      [],
      [sent[0]?.envelope.id],
      [sent[1]?.envelope.id],
    ]);
    expect(line.map(({ envelope }) => envelope.hop)).toEqual([0, 0, 0]);
    expect(line.map(({ deliveries }) => deliveries.map(({ state }) => state))).toEqual([
      ["superseded"],
      ["superseded"],
      ["ready"],
    ]);
    for (const i of [1, 2]) {
      expect((await planner.memories.relations(sent[i]?.memory ?? "")).items).toMatchObject([
        { kind: "continues-from", target: sent[i - 1]?.memory },
      ]);
    }
  });

  it("extends held work: settling throws work_extended once, then succeeds [ENV-11]", async () => {
    const { hub, planner, coder, open } = await team();
    const first = await planner.handoff(DRAFT);
    const work = await take(coder);
    const second = await planner.handoff({ ...DRAFT, next: ["And rate-limit"] });
    expect(second.joined).toBe("extended");
    expect(second.id).toBe(first.id);
    expect(await open()).toEqual([first.id]);
    expect(await second.status()).toMatchObject({
      state: "accepted",
      envelope: second.envelope.id,
    });
    expect(work.envelope).toEqual(first.envelope);

    const early = () => work.complete({ summary: "Done as first asked" });
    await refusedAsExtended(work, early, second);
    expect((await second.status()).state).toBe("accepted");
    expect(work.signal.aborted).toBe(false);

    const settled = await work.complete({ summary: "With rate limit" });
    expect(settled).toMatchObject({
      kind: "settled",
      delivery: { state: "completed", attempt: 1 },
    });
    const results = (await coder.memories.recent({ type: "action" })).items;
    expect(results).toMatchObject([
      { content: "With rate limit", trail: [{ verb: "complete", delivery: first.id, attempt: 1 }] },
    ]);
    const line = await hub.tasks.line("auth");
    expect(line.map(({ deliveries }) => deliveries.length)).toEqual([0, 1]);
    expect(await hub.verify()).toMatchObject({ deliveries: 1, envelopes: 2, problems: [] });
  });

  it("keeps the holder's lease when complete() throws work_extended [ENV-11]", async () => {
    const clock = new VirtualClock();
    const { hub, planner, coder } = await team({ clock });
    const first = await planner.handoff(DRAFT);
    const work = await take(coder);
    clock.advance(1_000);
    const second = await planner.handoff({ ...DRAFT, next: ["And rate-limit"] });
    const error = await refusal(work.complete({ summary: "Too early" }));
    expect(error).toMatchObject({
      code: "work_extended",
      details: { delivery: first.id, envelope: second.envelope.id },
    });
    expect(error.message).toContain(second.envelope.id);
    expect(work.envelope).toEqual(second.envelope);
    expect(work.primer).toContain("And rate-limit");
    expect(await (await hub.agent("coder")).accept()).toBeUndefined();
    expect(await work.note("Reading what was added")).toMatchObject({ kind: "noted" });
    clock.advance(1_000);
    await work.renew();
    expect((await second.status()).leaseUntil).toBe(work.delivery.leaseUntil);
    expect(await work.complete({ summary: "All of it" })).toMatchObject({
      kind: "settled",
      delivery: { id: first.id, state: "completed", attempt: 1, envelope: second.envelope.id },
    });
    expect((await refusal(work.complete())).code).toBe("already_settled");
    expect(await second.completed()).toMatchObject({ result: { summary: "All of it" } });
    expect(await hub.deliveries.attempts(first.id)).toEqual([]);
  });

  it.each(["fail", "decline", "clarify", "handoff"] as const)(
    "makes the holder's %s throw work_extended once, then succeed [ENV-11]",
    async (verb) => {
      const { planner, coder } = await team();
      await planner.handoff(DRAFT);
      const work = await take(coder);
      const second = await planner.handoff({ ...DRAFT, next: ["More"] });
      const acts = {
        fail: () => work.fail({ message: "no", class: "permanent" }),
        decline: () => work.decline("no"),
        clarify: () => work.clarify("Why?"),
        handoff: () => work.handoff({ to: "tester" }),
      };
      await refusedAsExtended(work, acts[verb], second);
      expect((await second.status()).state).toBe("accepted");
      const ends = { fail: "dead", decline: "declined", clarify: "waiting", handoff: "completed" };
      expect(await acts[verb]()).toMatchObject({ kind: verb === "handoff" ? "sent" : "settled" });
      expect((await second.status()).state).toBe(ends[verb]);
    },
  );

  it("notifies the holder's listener at once, and the holder settles it [ENV-11]", async () => {
    const { planner, coder } = await team();
    await planner.handoff(DRAFT);
    const work = await take(coder);
    const extension = new Promise<EnvelopeOf<unknown>>((resolve) => {
      work.on("extended", resolve);
    });
    const second = await planner.handoff({ ...DRAFT, next: ["More"] });
    expect(await extension).toEqual(second.envelope);
    expect(work.envelope).toEqual(second.envelope);
    expect(await work.complete()).toMatchObject({ kind: "settled" });
  });

  it("returns its envelope id with the holder's next note [ENV-11]", async () => {
    const { planner, coder } = await team();
    const first = await planner.handoff(DRAFT);
    const work = await take(coder);
    expect(await work.note("As asked")).toMatchObject({
      kind: "noted",
      memory: { content: "As asked" },
      envelope: first.envelope.id,
    });
    const second = await planner.handoff({ ...DRAFT, next: ["More"] });
    expect(await work.note("Still")).toMatchObject({ kind: "noted", envelope: second.envelope.id });
  });

  it.each(["renew", "read", "note", "heartbeat"] as const)(
    "still makes complete() throw work_extended after the lease was renewed by %s [ENV-11]",
    async (renewal) => {
      const clock = new VirtualClock();
      const { planner, coder } = await team({ clock, limits: { leaseMs: 60 } });
      const first = await planner.handoff(DRAFT);
      const work = await take(coder);
      const second = await planner.handoff({ ...DRAFT, next: ["More"] });
      clock.advance(10);
      const renewals = {
        renew: () => work.renew(),
        read: () => work.read(first.memory),
        note: () => work.note("Still"),
        heartbeat: async () => {}, // Runs on its own every 20 ms.
      };
      await renewals[renewal]();
      const isRenewed = async () => (await second.status()).leaseUntil === clock.now() + 60;
      await until("a renewed lease", isRenewed);
      expect(work.envelope).toEqual(first.envelope);
      await refusedAsExtended(work, () => work.complete(), second);
      expect(await work.complete()).toMatchObject({ kind: "settled" });
    },
  );

  it("notifies a listener added later on the holder's next call [ENV-11]", async () => {
    const { planner, coder } = await team();
    await planner.handoff(DRAFT);
    const work = await take(coder);
    const second = await planner.handoff({ ...DRAFT, next: ["More"] });
    const extensions: EnvelopeOf<unknown>[] = [];
    work.on("extended", (envelope) => extensions.push(envelope));
    await work.renew();
    await work.renew();
    expect(extensions).toEqual([second.envelope]);
    expect(await work.complete()).toMatchObject({ kind: "settled" });
  });

  it("notifies only listeners that were not removed [ENV-11]", async () => {
    const { planner, coder } = await team();
    await planner.handoff(DRAFT);
    const work = await take(coder);
    const calls: string[] = [];
    const removeFirst = work.on("extended", () => calls.push("first"));
    const removeSecond = work.on("extended", (envelope) => calls.push(envelope.id));
    removeFirst();
    removeFirst(); // Removing twice has no effect.
    const second = await planner.handoff({ ...DRAFT, next: ["Two"] });
    await until("the listener that is left", () => calls.length > 0);
    expect(calls).toEqual([second.envelope.id]);
    expect(work.envelope).toEqual(second.envelope);

    removeSecond();
    const third = await planner.handoff({ ...DRAFT, next: ["Three"] });
    await work.renew(); // Without a listener, only settling reports the extension.
    expect(work.envelope).toEqual(second.envelope);
    await refusedAsExtended(work, () => work.complete(), third);
    expect(calls).toEqual([second.envelope.id]);
    expect(await work.complete()).toMatchObject({ kind: "settled" });
  });

  it("gives its envelope to a receiver that accepts an earlier offer [ENV-11]", async () => {
    const { planner, coder } = await team();
    const first = await planner.handoff(DRAFT);
    const { value: offer } = await coder.inbox({ wait: false }).next();
    const second = await planner.handoff({ ...DRAFT, next: ["More"] });
    expect(second).toMatchObject({ joined: "extended", id: first.id });
    const work = await offer?.accept();
    expect(work?.envelope).toEqual(second.envelope);
    expect((await coder.memories.relations(work?.delivery.acceptedBy ?? "")).items).toMatchObject([
      { kind: "continues-from", target: second.memory },
    ]);
    expect(await work?.complete()).toMatchObject({ kind: "settled" });
  });

  it("makes declining an offer throw work_extended once, then succeed [ENV-11]", async () => {
    const { planner, coder } = await team();
    await planner.handoff(DRAFT);
    const { value: offer } = await coder.inbox({ wait: false }).next();
    const second = await planner.handoff({ ...DRAFT, next: ["More"] });
    if (offer === undefined) throw new Error("nothing was offered");
    await refusedAsExtended(offer, () => offer.decline("Not mine"), second);
    expect((await second.status()).state).toBe("claimed");
    expect(await offer.decline("Not mine")).toMatchObject({ kind: "settled" });
    expect((await second.status()).state).toBe("declined");
  });

  it("goes to the next holder when an offer or work is released [ENV-11]", async () => {
    const { planner, coder } = await team();
    await planner.handoff(DRAFT);
    const { value: offer } = await coder.inbox({ wait: false }).next();
    await planner.handoff({ ...DRAFT, next: ["Two"] });
    await offer?.release();
    const work = await take(coder);
    const third = await planner.handoff({ ...DRAFT, next: ["Three"] });
    expect(await work.release()).toMatchObject({ state: "ready" });
    expect(await take(coder)).toMatchObject({
      delivery: { attempt: 3 },
      envelope: third.envelope,
    });
  });

  it("supersedes a scheduled retry and is ready at once [ENV-11]", async () => {
    const clock = new VirtualClock();
    const { planner, coder } = await team({ clock, random: () => 0.5 });
    const first = await planner.handoff(DRAFT);
    await (await take(coder)).fail({ message: "unclear" });
    expect((await first.status()).state).toBe("scheduled");
    const second = await planner.handoff({ ...DRAFT, state: "Clearer now" });
    expect(second.joined).toBe("superseded");
    expect((await take(coder)).envelope).toEqual(second.envelope);
  });

  it("is new work after the first was settled [ENV-11]", async () => {
    const { planner, coder } = await team();
    await planner.handoff(DRAFT);
    await (await take(coder)).complete();
    const again = await planner.handoff(DRAFT);
    expect(again).toMatchObject({ joined: "new", envelope: { parents: [] } });
    expect((await coder.deliveries.waiting()).items).toHaveLength(1);
  });

  it("is separate work for another sender, receiver, task or parent [ENV-11]", async () => {
    const { planner, tester, coder, open } = await team();
    const first = await planner.handoff(DRAFT);
    const others = [
      await tester.handoff(DRAFT),
      await planner.handoff({ ...DRAFT, to: "tester" }),
      await planner.handoff({ ...DRAFT, task: "auth-2" }),
      await planner.handoff({ ...DRAFT, parents: [first.envelope.id] }),
    ];
    expect(others.map(({ joined }) => joined)).toEqual(Array(4).fill("new"));
    expect(await open()).toEqual([first, others[0], others[2], others[3]].map((sent) => sent?.id));
    const [one, two] = [await take(coder), await take(coder)];
    await one.complete();
    expect(await two.complete()).toMatchObject({ kind: "settled" });
    expect((await first.status()).state).toBe("completed");
  });

  it("leaves one open delivery in one line when sent concurrently [ENV-11]", async () => {
    const { hub, planner, coder } = await team();
    await Promise.all(
      Array.from({ length: 6 }, (_, i) => planner.handoff({ ...DRAFT, next: [`Step ${i}`] })),
    );
    expect((await coder.deliveries.waiting()).items).toHaveLength(1);
    const line = await hub.tasks.line("auth");
    const ids = line.map(({ envelope }) => envelope.id);
    expect(line.map(({ envelope }) => envelope.parents)).toEqual(
      ids.map((_, i) => (i === 0 ? [] : [ids[i - 1]])),
    );
    const { totals, byState } = await hub.deliveries
      .totals()
      .then((all) => ({ totals: all, ...all }));
    expect(totals.envelopes).toBe(6);
    expect(byState).toMatchObject({ ready: 1, superseded: 5 });
    expect((await take(coder)).envelope.id).toBe(ids.at(-1));
  });
});
