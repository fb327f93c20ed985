/** Retries with backoff; listing, redriving and discarding dead letters. */

import { describe, expect, it } from "vitest";
import * as z from "zod";
import type { DraftOf, Failure, HubOptions, PolicyInput, Sent } from "../../../src/index.ts";
import { VirtualClock } from "../../../src/testing/index.ts";
import { contents, openFresh, refusal, STORES, take } from "../../support/hub/support.ts";
import { present } from "../../support/present.ts";

const DRAFT = { to: "ben", task: "t", intent: "Go" };
const UNKNOWN = "dlv_00000000-0000-7000-8000-000000000000";

describe.each(STORES)("retries on %s", (store) => {
  async function team(options: HubOptions = {}) {
    const clock = new VirtualClock();
    const hub = await openFresh(store, { clock, random: () => 0.5, ...options });
    const ada = await hub.agent("ada", {});
    const ben = await hub.agent("ben", {});
    return { hub, clock, ada, ben };
  }

  /** Fails every attempt as soon as it can be claimed; returns the backoff before each retry. */
  async function waits(options: HubOptions, policy?: PolicyInput) {
    const { hub, clock, ada, ben } = await team(options);
    const sent = await ada.handoff({ ...DRAFT, ...(policy && { policy }) });
    const times: number[] = [];
    for (;;) {
      await (await take(ben)).fail({ message: "no" });
      const { state, readyAt } = await sent.status();
      if (state === "dead") return { hub, sent, times };
      expect(state).toBe("scheduled");
      times.push(present(readyAt) - clock.now());
      clock.advance(present(readyAt) - clock.now() - 1);
      expect(await ben.accept(), "before its time").toBeUndefined();
      clock.advance(1);
    }
  }

  it("end after three attempts by default, all listed in the dead letter [DLV-7]", async () => {
    const { hub, sent, times } = await waits({});
    expect(times).toEqual([500, 1_000]);
    const reason = { class: "retryable", hints: [], message: "no", type: "error" };
    const attempts = [1, 2, 3].map((attempt) => ({
      delivery: sent.id,
      attempt,
      holder: "ben",
      outcome: "failed",
      reason,
    }));
    expect(await hub.deliveries.attempts(sent.id)).toMatchObject(attempts);
    expect(await sent.completed()).toMatchObject({ kind: "dead", attempts });
    expect((await hub.events.list({ after: 0 })).items.map(({ kind }) => kind)).toEqual([
      "sent",
      "accepted",
      "failed",
      "accepted",
      "failed",
      "accepted",
      "dead",
    ]);
    expect((await hub.verify()).problems).toEqual([]);
  });

  it("double their backoff up to 30 s, with full jitter [DLV-7]", async () => {
    const limits = { attempts: 8 };
    const longest = [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000];
    const almost = 0.999_999;
    const { times } = await waits({ limits, random: () => almost });
    expect(times).toEqual(longest.map((ms) => Math.floor(ms * almost)));
    const shares = [0.25, 0.5, 0.75, 0.1, 0.2, 0.3, 0.4];
    const drawn = shares.values();
    const jittered = await waits({ limits, random: () => drawn.next().value ?? 0 });
    expect(jittered.times).toEqual(longest.map((ms, i) => Math.floor(ms * (shares[i] ?? 0))));
  });

  it("follow the attempts and backoff of the policy [DLV-7]", async () => {
    const policy = { attempts: 4, backoff: { firstMs: 100, longestMs: 300 } };
    expect((await waits({}, policy)).times).toEqual([50, 100, 150]);
  });

  it("are skipped after a permanent failure [DLV-7]", async () => {
    const { hub, ada, ben } = await team();
    const sent = await ada.handoff(DRAFT);
    const failure = {
      class: "permanent",
      message: "The repository is gone.",
      type: "not_found",
      attempted: "git clone",
      hints: ["Ask for the new address."],
    } satisfies Failure;
    await (await take(ben)).fail(failure);
    const [dead] = (await hub.deadLetters.list()).items;
    expect(dead?.delivery).toMatchObject({ id: sent.id, state: "dead", attempt: 1 });
    expect(dead?.attempts.map(({ reason }) => reason)).toEqual([failure]);
    expect(await ben.accept()).toBeUndefined();
  });

  it("count released, expired and failed attempts, each with its outcome [DLV-7]", async () => {
    const { hub, clock, ada, ben } = await team();
    await ada.handoff(DRAFT);
    await (await take(ben)).release();
    await take(ben);
    clock.advance(60_000);
    await (await take(ben)).fail({ message: "no" });
    const [dead] = (await hub.deadLetters.list()).items;
    expect(dead?.attempts.map(({ attempt, outcome }) => [attempt, outcome])).toEqual([
      [1, "released"],
      [2, "expired"],
      [3, "failed"],
    ]);
  });
});

describe.each(STORES)("a dead letter on %s", (store) => {
  async function team(options: HubOptions = {}) {
    const clock = new VirtualClock();
    const hub = await openFresh(store, { clock, random: () => 0.5, ...options });
    const ada = await hub.agent("ada", {});
    const ben = await hub.agent("ben", {});
    const cyd = await hub.agent("cyd", { role: "reviewer", aliases: ["cydney"] });
    /** Sends a handoff and fails an attempt; with the default policy here, its only one. */
    async function park(draft: Partial<DraftOf<Record<string, unknown>>> = {}): Promise<Sent> {
      const sent = await ada.handoff({ ...DRAFT, policy: { attempts: 1 }, ...draft });
      await (await take(ben, { delivery: sent.id })).fail({ message: `no ${sent.task}` });
      await hub.agents.resetBreaker("ben");
      return sent;
    }
    return { hub, clock, ada, ben, cyd, park };
  }

  it("is listed oldest first, in pages, and by receiver, sender and task [DLV-7]", async () => {
    const { hub, ada, ben, cyd, park } = await team();
    const ids: string[] = [];
    for (const task of ["a", "b", "c"]) ids.push((await park({ task })).id);
    const other = await ben.handoff({ ...DRAFT, to: "cyd", task: "d" });
    await (await take(cyd)).fail({ message: "no", class: "permanent" });
    await ada.handoff({ ...DRAFT, task: "open" });
    const listed = async (query: Parameters<typeof hub.deadLetters.list>[0]) =>
      (await hub.deadLetters.list(query)).items.map(({ delivery }) => delivery.id);
    expect(await listed({})).toEqual([...ids, other.id]);
    const {
      items: [first],
      next: after,
    } = await hub.deadLetters.list({ limit: 1 });
    expect(first).toMatchObject({
      envelope: { task: "a", intent: "Go" },
      attempts: [
        { attempt: 1, holder: "ben", reason: { message: expect.stringContaining("no a") } },
      ],
    });
    expect(await listed({ limit: 2, after })).toEqual(ids.slice(1));
    expect(await listed({ receiver: "cyd" })).toEqual([other.id]);
    expect(await listed({ sender: "ada" })).toEqual(ids);
    expect(await listed({ task: "b" })).toEqual([ids[1]]);
    expect(await refusal(hub.deadLetters.list({ limit: 1_001 }))).toMatchObject({
      code: "limit_exceeded",
    });
    expect(await refusal(hub.deadLetters.list({ tsak: "b" } as never))).toMatchObject({
      code: "invalid_input",
    });
  });

  it("gets all its attempts again and keeps its envelope when redriven [DLV-7]", async () => {
    const { hub, ada, ben, park } = await team();
    const sent = await park({ policy: { attempts: 2, backoff: { firstMs: 1, longestMs: 1 } } });
    await (await take(ben)).fail({ message: "no again" });
    const moved = await ada.deadLetters.redrive(sent.id);
    expect(moved).toMatchObject({ id: sent.id, state: "ready", receiver: "ben" });
    expect(moved).not.toHaveProperty("settledAt");
    expect((await hub.deadLetters.list()).items).toEqual([]);
    const work = await take(ben);
    expect(work.delivery.attempt).toBe(3);
    expect(work.envelope).toEqual(sent.envelope);
    await work.fail({ message: "no" });
    expect((await sent.status()).state, "one more").toBe("scheduled");
    await (await take(ben)).fail({ message: "no" });
    expect((await hub.deadLetters.list()).items[0]?.attempts).toHaveLength(4);
    expect(
      (await hub.events.list({ after: 0 })).items.map(({ kind, agent }) => [kind, agent]),
    ).toContainEqual(["redriven", "ada"]);
    // The decision is in the chain, linked to the handoff.
    const edges = (await ada.memories.relations(sent.memory, { direction: "in" })).items;
    const about = await Promise.all(edges.map(({ source }) => ada.memories.read(source)));
    const decision = about.find(({ type }) => type === "decision");
    expect(decision?.content).toBe('ada redrove "t".');
    expect((await hub.verify()).problems).toEqual([]);
  });

  it.each(["cyd", "cydney", "role:reviewer"])(
    "goes to %s with the same envelope when redriven there [DLV-7]",
    async (to) => {
      const { hub, ada, ben, cyd, park } = await team();
      const sent = await park();
      const receiver = to === "cydney" ? "cyd" : to;
      expect(await ada.deadLetters.redrive(sent.id, { to })).toMatchObject({
        state: "ready",
        receiver,
      });
      expect(await ben.accept()).toBeUndefined();
      const work = await take(cyd);
      expect(work.envelope).toEqual(sent.envelope);
      await work.complete({ summary: "Done by another." });
      expect(await sent.completed()).toMatchObject({
        kind: "completed",
        delivery: { holder: "cyd" },
        result: { summary: "Done by another." },
      });
      expect((await hub.verify()).problems).toEqual([]);
    },
  );

  it("gets a new envelope when redriven with changes, keeping the old [DLV-7 ENV-9]", async () => {
    const { hub, ada, ben, park } = await team();
    await hub.payloadTypes.define("patch", z.object({ lines: z.number() }));
    const sent = await park({
      next: ["Do it"],
      constraints: ["No new dependencies"],
      payload: { type: "patch", data: { lines: 1 } },
    });
    const [before] = await hub.tasks.line("t");
    const payload = { type: "patch", data: { lines: 2 } };
    await ada.deadLetters.redrive(sent.id, {
      next: ["Do it differently"],
      state: "Tried once.",
      payload,
      constraints: ["Keep the format"],
    });
    const work = await take(ben);
    expect(work.id).toBe(sent.id);
    expect(work.envelope).toMatchObject({
      next: ["Do it differently"],
      state: "Tried once.",
      payload,
      intent: "Go",
      // A must stays until it is released.
      constraints: [
        { rule: "Keep the format", level: "must" },
        { rule: "No new dependencies", level: "must" },
      ],
      parents: [sent.envelope.id],
      hop: 0,
      from: { agent: "ada" },
    });
    const line = await hub.tasks.line("t");
    expect(line.map(({ envelope }) => envelope.id)).toEqual([sent.envelope.id, work.envelope.id]);
    expect(line[0]).toEqual({ ...before, deliveries: [] });
    expect((await hub.verify()).problems).toEqual([]);
  });

  it("keeps its envelope when redriven with undefined changes [DLV-7]", async () => {
    const { ada, ben, park } = await team();
    const sent = await park({ next: ["Do it"] });
    await ada.deadLetters.redrive(sent.id, { next: undefined, to: undefined });
    expect((await take(ben)).envelope).toEqual(sent.envelope);
  });

  it("stays dead when the receiver or changes of a redrive are invalid [DLV-7]", async () => {
    const { hub, ada, park } = await team();
    await hub.payloadTypes.define("patch", z.object({ lines: z.number() }));
    await hub.agent("retired", { status: "disabled" });
    const sent = await park();
    const before = await contents(hub);
    for (const [changes, code] of [
      [{ to: "nobody" }, "unknown_agent"],
      [{ to: "role:nobody" }, "unknown_role"],
      [{ to: "retired" }, "agent_disabled"],
      [{ next: [""] }, "invalid_envelope"],
      [{ payload: { type: "patch", data: { lines: "two" } } }, "invalid_payload"],
      [{ constraints: [{ rule: 1 }] }, "invalid_input"],
      [{ intent: "Another" }, "invalid_input"],
      [42, "invalid_input"],
    ] as const) {
      const error = await refusal(ada.deadLetters.redrive(sent.id, changes as never));
      expect([changes, error.code]).toEqual([changes, code]);
      expect(await contents(hub)).toEqual(before);
    }
    expect((await sent.status()).state).toBe("dead");
  });

  it("is queued behind newer handoffs of its task when redriven [DLV-7 DLV-13]", async () => {
    const { ada, ben, park } = await team();
    const sent = await park();
    const later = await ada.handoff({ ...DRAFT, state: "Newer" });
    expect(later.joined).toBe("new");
    await ada.deadLetters.redrive(sent.id);
    const work = await take(ben);
    expect(work.id).toBe(later.id);
    expect(await ben.accept(), "one of a task at a time").toBeUndefined();
    await work.complete();
    expect((await take(ben)).id).toBe(sent.id);
  });

  it("is cancelled for good with the reason when discarded [DLV-7]", async () => {
    const { hub, ada, ben, park } = await team();
    const sent = await park();
    expect(await ada.deadLetters.discard(sent.id, "Nobody needs it")).toMatchObject({
      state: "cancelled",
    });
    expect(await sent.completed()).toMatchObject({ kind: "cancelled", reason: "Nobody needs it" });
    expect((await hub.deadLetters.list()).items).toEqual([]);
    expect(await hub.deliveries.attempts(sent.id)).toHaveLength(1);
    expect((await hub.events.list({ after: 0 })).items.at(-1)).toMatchObject({
      kind: "discarded",
      agent: "ada",
    });
    for (const act of [
      () => ada.deadLetters.redrive(sent.id),
      () => ada.deadLetters.discard(sent.id, "again"),
    ]) {
      expect(await refusal(act())).toMatchObject({
        code: "not_open",
        message: expect.stringContaining("is cancelled"),
      });
    }
    expect(await ben.accept()).toBeUndefined();
    expect(await refusal(ada.deadLetters.discard((await park()).id, ""))).toMatchObject({
      code: "invalid_input",
      path: "reason",
    });
  });

  it("is required to redrive or discard: other deliveries are refused [DLV-7]", async () => {
    const { hub, ada, ben } = await team();
    const send = (task: string) => ada.handoff({ ...DRAFT, task });
    const inState: Record<string, () => Promise<Sent>> = {
      ready: () => send("ready"),
      scheduled: () => ada.handoff({ ...DRAFT, task: "scheduled", delayMs: 1_000 }),
      accepted: async () => {
        const sent = await send("accepted");
        await take(ben, { task: "accepted" });
        return sent;
      },
      completed: async () => {
        const sent = await send("completed");
        await (await take(ben, { task: "completed" })).complete();
        return sent;
      },
      declined: async () => {
        const sent = await send("declined");
        await (await take(ben, { task: "declined" })).decline("no");
        return sent;
      },
      waiting: async () => {
        const sent = await send("waiting");
        await (await take(ben, { task: "waiting" })).clarify("what?");
        return sent;
      },
      superseded: async () => {
        const sent = await send("superseded");
        await send("superseded");
        return sent;
      },
      cancelled: async () => {
        const sent = await send("cancelled");
        await sent.cancel("no");
        return sent;
      },
    };
    for (const [state, reach] of Object.entries(inState)) {
      const sent = await reach();
      const before = await contents(hub);
      const refused = { code: "not_open", details: { delivery: sent.id, state } };
      expect(await refusal(ada.deadLetters.redrive(sent.id)), state).toMatchObject(refused);
      expect(await refusal(ada.deadLetters.discard(sent.id, "no")), state).toMatchObject(refused);
      expect(await contents(hub), state).toEqual(before);
    }
    for (const act of [
      () => ada.deadLetters.redrive(UNKNOWN),
      () => ada.deadLetters.discard(UNKNOWN, "no"),
    ]) {
      expect(await refusal(act())).toMatchObject({ code: "unknown_delivery" });
    }
  });

  it("can also be an expired delivery: redriving it removes the deadline [DLV-7]", async () => {
    const { hub, clock, ada, ben } = await team();
    const sent = await ada.handoff({ ...DRAFT, policy: { deadlineMs: 1_000 } });
    clock.advance(1_000);
    await hub.deliveries.runDue();
    expect((await sent.status()).state).toBe("expired");
    const redriven = await ada.deadLetters.redrive(sent.id);
    expect(redriven.state).toBe("ready");
    expect(redriven).not.toHaveProperty("deadline");
    clock.advance(10_000);
    await hub.deliveries.runDue();
    expect(await (await take(ben)).complete()).toMatchObject({ kind: "settled" });
  });

  it("is redriven or discarded only once by concurrent decisions [DLV-7]", async () => {
    const { hub, ada, ben, cyd, park } = await team();
    const sent = await park();
    const outcomes = await Promise.allSettled([
      ada.deadLetters.redrive(sent.id),
      ben.deadLetters.redrive(sent.id, { to: "cyd" }),
      cyd.deadLetters.discard(sent.id, "no"),
    ]);
    expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    for (const outcome of outcomes) {
      if (outcome.status === "rejected") expect(outcome.reason).toMatchObject({ code: "not_open" });
    }
    expect((await hub.verify()).problems).toEqual([]);
  });
});
