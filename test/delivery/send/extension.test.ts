/** Handing the same task over again adds to the work that is open; it never makes a second one. */
import { describe, expect, it } from "vitest";
import type { EnvelopeOf, HubOptions } from "../../../src/index.ts";
import { VirtualClock } from "../../../src/testing/index.ts";
import { openFresh, refusal, refusedAsExtended, STORES, take } from "../../support/hub/support.ts";
import { until } from "../../support/until.ts";

const DRAFT = { to: "coder", task: "auth", intent: "Refactor auth" };

describe.each(STORES)("handing over again on %s", (store) => {
  async function team(options: HubOptions = {}) {
    const hub = await openFresh(store, options);
    const planner = await hub.agent("planner", {});
    const tester = await hub.agent("tester", {});
    const coder = await hub.agent("coder", {});
    const open = async () =>
      (await coder.deliveries.waiting()).items.map(({ delivery }) => delivery.id);
    return { hub, planner, tester, coder, open };
  }

  it("before anybody claimed it supersedes the first, in its place in the inbox [ENV-11]", async () => {
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

  it("links the envelopes and their records, the newest first to the one before [ENV-11]", async () => {
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

  it("while held moves the delivery on; settling the old one throws work_extended, then succeeds [ENV-11]", async () => {
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

  it("while held keeps the lease of a holder whose complete() throws work_extended [ENV-11]", async () => {
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
    "while held is also told to a holder who wants to %s [ENV-11]",
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

  it("while held calls the holder at once, who then settles the newer one [ENV-11]", async () => {
    const { planner, coder } = await team();
    await planner.handoff(DRAFT);
    const work = await take(coder);
    const told = new Promise<EnvelopeOf<unknown>>((resolve) => {
      work.on("extended", resolve);
    });
    const second = await planner.handoff({ ...DRAFT, next: ["More"] });
    expect(await told).toEqual(second.envelope);
    expect(work.envelope).toEqual(second.envelope);
    expect(await work.complete()).toMatchObject({ kind: "settled" });
  });

  it("while held is told with the next note [ENV-11]", async () => {
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
    "while held is not passed over by a holder whose lease was only renewed, by %s [ENV-11]",
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
        heartbeat: async () => {}, // Comes by itself, every 20 ms.
      };
      await renewals[renewal]();
      const isRenewed = async () => (await second.status()).leaseUntil === clock.now() + 60;
      await until("a renewed lease", isRenewed);
      expect(work.envelope).toEqual(first.envelope);
      await refusedAsExtended(work, () => work.complete(), second);
      expect(await work.complete()).toMatchObject({ kind: "settled" });
    },
  );

  it("while held is told with the next call to a holder that listens by then [ENV-11]", async () => {
    const { planner, coder } = await team();
    await planner.handoff(DRAFT);
    const work = await take(coder);
    const second = await planner.handoff({ ...DRAFT, next: ["More"] });
    const told: EnvelopeOf<unknown>[] = [];
    work.on("extended", (envelope) => told.push(envelope));
    await work.renew();
    await work.renew();
    expect(told).toEqual([second.envelope]);
    expect(await work.complete()).toMatchObject({ kind: "settled" });
  });

  it("while held is reported to every listener that was not removed [ENV-11]", async () => {
    const { planner, coder } = await team();
    await planner.handoff(DRAFT);
    const work = await take(coder);
    const told: string[] = [];
    const removeFirst = work.on("extended", () => told.push("first"));
    const removeSecond = work.on("extended", (envelope) => told.push(envelope.id));
    removeFirst();
    removeFirst(); // Harmless.
    const second = await planner.handoff({ ...DRAFT, next: ["Two"] });
    await until("the listener that is left", () => told.length > 0);
    expect(told).toEqual([second.envelope.id]);
    expect(work.envelope).toEqual(second.envelope);

    removeSecond();
    const third = await planner.handoff({ ...DRAFT, next: ["Three"] });
    await work.renew(); // Without a listener, only settling reports it.
    expect(work.envelope).toEqual(second.envelope);
    await refusedAsExtended(work, () => work.complete(), third);
    expect(told).toEqual([second.envelope.id]);
    expect(await work.complete()).toMatchObject({ kind: "settled" });
  });

  it("while it is only offered gives the newer envelope to who accepts [ENV-11]", async () => {
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

  it("while it is only offered is told to a receiver who declines, who may decline again [ENV-11]", async () => {
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

  it("while held or offered goes to the next holder when this one gives it back [ENV-11]", async () => {
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

  it("while a retry waits supersedes it, and is ready at once [ENV-11]", async () => {
    const clock = new VirtualClock();
    const { planner, coder } = await team({ clock, random: () => 0.5 });
    const first = await planner.handoff(DRAFT);
    await (await take(coder)).fail({ message: "unclear" });
    expect((await first.status()).state).toBe("scheduled");
    const second = await planner.handoff({ ...DRAFT, state: "Clearer now" });
    expect(second.joined).toBe("superseded");
    expect((await take(coder)).envelope).toEqual(second.envelope);
  });

  it("after it was settled is new work [ENV-11]", async () => {
    const { planner, coder } = await team();
    await planner.handoff(DRAFT);
    await (await take(coder)).complete();
    const again = await planner.handoff(DRAFT);
    expect(again).toMatchObject({ joined: "new", envelope: { parents: [] } });
    expect((await coder.deliveries.waiting()).items).toHaveLength(1);
  });

  it("by another sender, to another receiver or from another parent is other work [ENV-11]", async () => {
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

  it("many times at once is still one piece of work, in one line [ENV-11]", async () => {
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
    const { books, byState } = await hub.deliveries
      .totals()
      .then((all) => ({ books: all, ...all }));
    expect(books.envelopes).toBe(6);
    expect(byState).toMatchObject({ ready: 1, superseded: 5 });
    expect((await take(coder)).envelope.id).toBe(ids.at(-1));
  });
});
