/**
 * The worker loop: how what a handler does settles its work, how many handlers run, how the loop ends, and that
 * work is completed and the next claimed in one transaction.
 */
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it, onTestFinished } from "vitest";
import {
  type Agent,
  BatonError,
  type Envelope,
  type HubOptions,
  LocalHub,
  type Store,
  type Work,
} from "../../../src/index.ts";
import { VirtualClock } from "../../../src/testing/index.ts";
import { startChild } from "../../support/child.ts";
import { sharedStore } from "../../support/hub/shared-store.ts";
import {
  EMBEDDED_STORES,
  freshAddress,
  open,
  openFresh,
  openTwo,
  refusal,
  STORES,
  take,
} from "../../support/hub/support.ts";
import { present } from "../../support/present.ts";
import { until } from "../../support/until.ts";

type Handler = Parameters<Agent["work"]>[0];

const COUNT = { name: "count", type: "number" } as const;
const NOTHING = { completed: 0, failed: 0, released: 0, lost: 0, settledByHandler: 0 };
/** Ends the loop when nothing is ready. */
const DRAIN = { wait: false } as const;

describe.each(STORES)("agent.work() on %s", (store) => {
  /** Retries are ready at once. */
  async function team(options: HubOptions = {}) {
    const hub = await openFresh(store, { random: () => 0, ...options });
    const ada = await hub.agent("ada", {});
    const ben = await hub.agent("ben", {});
    const send = (task: string, more: object = {}) =>
      ada.handoff({ to: "ben", task, intent: `Do ${task}`, ...more });
    return { hub, ada, ben, send };
  }

  describe("the outcome of a handler", () => {
    it("completes the work with nothing, a summary or a result [DLV-20]", async () => {
      const { ben, send } = await team();
      const sent = [await send("nothing"), await send("summary"), await send("result")];
      const returned: Record<string, Awaited<ReturnType<Handler>>> = {
        summary: "Done.",
        result: { summary: "Counted.", outputs: { count: 3 } },
      };
      const summary = await ben.work((work) => returned[work.envelope.task], DRAIN);
      expect(summary).toEqual({ ...NOTHING, completed: 3 });
      const [nothing, text, result] = await Promise.all(sent.map((each) => each.completed()));
      expect(nothing).toMatchObject({ kind: "completed" });
      expect(text).toMatchObject({ kind: "completed", result: { summary: "Done." } });
      expect(result).toMatchObject({ result: { summary: "Counted.", outputs: { count: 3 } } });
    });

    it("fails the attempt with what the handler throws, and the policy retries [DLV-7 DLV-20]", async () => {
      const { hub, ben, send } = await team();
      const sent = await send("flaky");
      const attempts: number[] = [];
      const summary = await ben.work(({ delivery }) => {
        attempts.push(delivery.attempt);
        if (delivery.attempt === 1) throw new Error("The model is down.");
      }, DRAIN);
      expect(summary).toEqual({ ...NOTHING, completed: 1, failed: 1 });
      expect(attempts).toEqual([1, 2]);
      expect(await hub.deliveries.attempts(sent.id)).toMatchObject([
        { outcome: "failed", reason: { class: "retryable", message: "The model is down." } },
      ]);
    });

    it("dead-letters work whose handler throws at every attempt [DLV-7 DLV-20]", async () => {
      const { ben, send } = await team();
      const sent = await send("broken", { policy: { attempts: 2 } });
      const throwing = () => Promise.reject(new Error("Never works."));
      expect(await ben.work(throwing, DRAIN)).toEqual({ ...NOTHING, failed: 2 });
      expect((await sent.status()).state).toBe("dead");
    });

    it("fails the attempt with code and hint of a result that is refused [DLV-15 DLV-20]", async () => {
      const { hub, ben, send } = await team();
      const sent = await send("count", { expects: [COUNT] });
      const counting: Handler = ({ delivery }) => ({
        outputs: { count: delivery.attempt === 1 ? "three" : 3 },
      });
      expect(await ben.work(counting, DRAIN)).toEqual({ ...NOTHING, completed: 1, failed: 1 });
      const [attempt] = await hub.deliveries.attempts(sent.id);
      expect(attempt).toMatchObject({ outcome: "failed", reason: { type: "invalid_result" } });
      expect(JSON.stringify(attempt?.reason)).toContain("count");
    });

    it.each<[string, unknown, string]>([
      [
        "an error without a message",
        Object.assign(new TypeError("x"), { message: "" }),
        "TypeError",
      ],
      ["a value that is not an error", "no luck", "no luck"],
      ["an error that is too long", new Error("x".repeat(20_000)), "xxx"],
    ])("fails the attempt with %s [DLV-20]", async (_what, thrown, message) => {
      const { hub, ben, send } = await team();
      const sent = await send("odd", { policy: { attempts: 1 } });
      const throwing = () => Promise.reject(thrown);
      expect(await ben.work(throwing, DRAIN)).toEqual({ ...NOTHING, failed: 1 });
      const [attempt] = await hub.deliveries.attempts(sent.id);
      expect(JSON.stringify(attempt?.reason)).toContain(message);
    });

    it("fails the attempt without the message if the workspace refuses it [DLV-20]", async () => {
      const { hub, ben, send } = await team({ secrets: "refuse" });
      const sent = await send("secret", { policy: { attempts: 1 } });
      const throwing = () => Promise.reject(new Error(`Bad key: ${SECRET}`));
      expect(await ben.work(throwing, DRAIN)).toEqual({ ...NOTHING, failed: 1 });
      const [attempt] = await hub.deliveries.attempts(sent.id);
      expect(JSON.stringify(attempt?.reason)).toContain("secret_found");
    });

    it("leaves work alone that the handler settled itself [DLV-20]", async () => {
      const { ben, send } = await team();
      const acts: Record<string, (work: Work) => Promise<unknown>> = {
        complete: (work) => work.complete({ summary: "Mine." }),
        decline: (work) => work.decline("Not mine"),
        fail: (work) => work.fail({ class: "permanent", message: "Impossible" }),
        clarify: (work) => work.clarify("Which one?"),
        handoff: (work) => work.handoff({ to: "ada" }),
      };
      const sent = [];
      for (const task of Object.keys(acts)) sent.push(await send(task));
      const summary = await ben.work(async (work) => {
        await acts[work.envelope.task]?.(work);
      }, DRAIN);
      expect(summary).toEqual({ ...NOTHING, settledByHandler: 5 });
      const states = await Promise.all(sent.map(async (each) => (await each.status()).state));
      expect(states).toEqual(["completed", "declined", "dead", "waiting", "completed"]);
    });

    it("counts an error after the handler settled the work as settled by it [DLV-20]", async () => {
      const { ben, send } = await team();
      const sent = await send("t");
      const summary = await ben.work(async (work) => {
        await work.complete();
        throw new Error("Too late.");
      }, DRAIN);
      expect(summary).toEqual({ ...NOTHING, settledByHandler: 1 });
      expect((await sent.status()).state).toBe("completed");
    });

    it("runs the handler again if the sender extended the work [ENV-11 DLV-20]", async () => {
      const { ben, send } = await team();
      const sent = await send("t");
      const seen: Envelope[] = [];
      const summary = await ben.work(async (work) => {
        seen.push(work.envelope as Envelope);
        if (seen.length === 1) await send("t", { next: ["And this"] });
        return `Run ${seen.length}`;
      }, DRAIN);
      expect(summary).toEqual({ ...NOTHING, completed: 1 });
      expect(seen.map(({ next }) => next)).toEqual([[], ["And this"]]);
      expect(await sent.completed()).toMatchObject({ result: { summary: "Run 2" } });
    });

    it("fails the attempt of extended work once [ENV-11 DLV-20]", async () => {
      const { hub, ben, send } = await team();
      const sent = await send("t", { policy: { attempts: 1 } });
      let runs = 0;
      const summary = await ben.work(async () => {
        runs++;
        await send("t", { next: ["And this"] });
        throw new Error("No luck.");
      }, DRAIN);
      expect([summary, runs]).toEqual([{ ...NOTHING, failed: 1 }, 1]);
      expect(await hub.deliveries.attempts(sent.id)).toMatchObject([
        { outcome: "failed", reason: { message: "No luck." } },
      ]);
    });
  });

  describe("the signal of a handler", () => {
    it("aborts when the work is cancelled [DLV-18 DLV-20]", async () => {
      const { ben, send } = await team();
      const sent = await send("t");
      let reason: unknown;
      const stop = stopper();
      const handler: Handler = async (_work, { signal }) => {
        void sent.cancel("No need");
        await once(signal, "abort");
        reason = signal.reason;
        stop.abort();
        signal.throwIfAborted();
      };
      const summary = await ben.work(handler, { signal: stop.signal });
      expect(summary).toEqual({ ...NOTHING, lost: 1 });
      expect(reason).toMatchObject({ code: "cancelled" });
      expect((await sent.status()).state).toBe("cancelled");
    });

    it("aborts when the grace period is over, only if the handler still runs [DLV-20]", async () => {
      const { ben, send } = await team();
      for (const task of ["quick", "endless"]) await send(task);
      const signals: AbortSignal[] = [];
      const stop = stopper();
      const handler: Handler = async ({ envelope }, { signal }) => {
        signals.push(signal);
        if (envelope.task === "quick") return;
        stop.abort();
        await new Promise(() => {}); // Ignores its signal.
      };
      const summary = await ben.work(handler, { signal: stop.signal, graceMs: 1 });
      expect(summary).toEqual({ ...NOTHING, completed: 1, released: 1 });
      expect(signals.map(({ aborted }) => aborted)).toEqual([false, true]);
    });

    it("is aborted already if it is first read after the grace period [DLV-20]", async () => {
      const { ben, send } = await team();
      await send("t");
      const stop = stopper();
      const released = Promise.withResolvers<void>();
      const seen = Promise.withResolvers<AbortSignal>();
      const handler: Handler = async (_work, context) => {
        stop.abort();
        await released.promise;
        seen.resolve(context.signal);
      };
      await ben.work(handler, { signal: stop.signal, graceMs: 1 });
      released.resolve();
      expect((await seen.promise).aborted).toBe(true);
    });
  });

  describe("the lease", () => {
    it.each(["process", "session"] as const)(
      "of a long handler is renewed in a %s [DLV-6 DLV-20]",
      async (lease) => {
        const clock = new VirtualClock(); // A late renewal does not expire the lease.
        const { hub, send } = await team({ clock, limits: { leaseMs: LEASE_MS } });
        const ben = await hub.agent("ben", {}, { lease });
        const sent = await send("long");
        const summary = await ben.work(async (work) => {
          const end = work.delivery.leaseUntil;
          while (work.delivery.leaseUntil < end + 2 * LEASE_MS) {
            const before = work.delivery.leaseUntil;
            clock.advance(LEASE_MS / 2);
            await until("the lease is renewed", () => work.delivery.leaseUntil > before);
          }
        }, DRAIN);
        expect(summary).toEqual({ ...NOTHING, completed: 1 });
        expect(await sent.status()).toMatchObject({ state: "completed", attempt: 1 });
      },
    );

    it("of lost work stays with its next holder [DLV-6 DLV-20]", async () => {
      const clock = new VirtualClock();
      const { hub, ben, send } = await team({ clock });
      const other = await hub.agent("ben");
      const sent = await send("t");
      let next: Work | undefined;
      const summary = await ben.work(async () => {
        clock.advance(60_000);
        next = await other.accept();
      }, DRAIN);
      expect(summary).toEqual({ ...NOTHING, lost: 1 });
      await next?.complete();
      expect(await sent.status()).toMatchObject({ state: "completed", attempt: 2 });
    });
  });

  describe("the concurrency", () => {
    it("is reached and never exceeded, and no more work is held [DLV-20]", async () => {
      const { hub, ben, send } = await team();
      for (let n = 0; n < 13; n++) await send(`task ${n}`);
      let running = 0;
      let left = 13;
      let most = 0;
      let mostHeld = 0;
      const handler: Handler = async () => {
        running++;
        most = Math.max(most, running);
        await until("all of them run", () => running === 4 || left < 4);
        const { accepted, claimed } = (await hub.deliveries.totals()).byState;
        mostHeld = Math.max(mostHeld, accepted + claimed);
        await until("the others have seen it", () => most === 4);
        running--;
        left--;
      };
      const summary = await ben.work(handler, { ...DRAIN, concurrency: 4 });
      expect(summary).toEqual({ ...NOTHING, completed: 13 });
      expect(most).toBe(4);
      expect(mostHeld).toBeLessThanOrEqual(4);
    });

    it("is 1 by default, and the work is done in order [DLV-13 DLV-20]", async () => {
      const { hub, ben, send } = await team();
      for (const task of ["a", "b", "c"]) await send(task);
      const steps: string[] = [];
      await ben.work(async ({ envelope }) => {
        steps.push(`begin ${envelope.task}`);
        for (let n = 0; n < 5; n++) {
          await eventLoopTurn(); // Another handler could begin.
          const { accepted, claimed } = (await hub.deliveries.totals()).byState;
          expect(accepted + claimed).toBe(1);
        }
        steps.push(`end ${envelope.task}`);
      }, DRAIN);
      expect(steps).toEqual(["a", "b", "c"].flatMap((task) => [`begin ${task}`, `end ${task}`]));
    });

    it("is reached again for work that handlers send to their own agent [DLV-20]", async () => {
      const { ben, send } = await team();
      await send("root");
      let running = 0;
      let most = 0;
      const handler: Handler = async ({ envelope }) => {
        running++;
        most = Math.max(most, running);
        if (envelope.task === "root") {
          for (const n of [1, 2, 3]) await ben.handoff({ to: "ben", task: `${n}`, intent: "Go" });
        } else await until("all of them run", () => most === 3);
        running--;
      };
      const summary = await ben.work(handler, { ...DRAIN, concurrency: 3 });
      expect(summary).toEqual({ ...NOTHING, completed: 4 });
    });
  });

  describe("the end", () => {
    it("comes when the signal aborts: running handlers finish, nothing is claimed [DLV-20]", async () => {
      const { ben, send } = await team();
      const [first, second] = [await send("first"), await send("second")];
      const stop = stopper();
      const handler: Handler = async (_work, { signal }) => {
        stop.abort();
        for (let n = 0; n < 5; n++) await eventLoopTurn(); // Timers could fire.
        return signal.aborted ? "aborted" : "finished";
      };
      const summary = await ben.work(handler, { signal: stop.signal });
      expect(summary).toEqual({ ...NOTHING, completed: 1 });
      expect(await first.completed()).toMatchObject({ result: { summary: "finished" } });
      expect(await second.status()).toMatchObject({ state: "ready", attempt: 0 });
    });

    it("releases work whose handler has not finished in time [DLV-20]", async () => {
      const { ben, send } = await team();
      const sent = await send("t");
      let signal: AbortSignal | undefined;
      const stop = stopper();
      const handler: Handler = async (_work, context) => {
        signal = context.signal;
        stop.abort();
        await new Promise(() => {}); // Ignores its signal.
      };
      const summary = await ben.work(handler, { signal: stop.signal, graceMs: 1 });
      expect(summary).toEqual({ ...NOTHING, released: 1 });
      expect(signal?.aborted).toBe(true);
      expect(signal?.reason).toMatchObject({ name: "AbortError" });
      expect(await sent.status()).toMatchObject({ state: "ready", attempt: 1 });
    });

    it("comes at once if the signal is already aborted [DLV-20]", async () => {
      const { ben, send } = await team();
      const sent = await send("t");
      const summary = ben.work(() => {}, { signal: AbortSignal.abort() });
      expect(await summary).toEqual(NOTHING);
      expect((await sent.status()).state).toBe("ready");
    });

    it("comes when nothing is ready, with wait: false [DLV-20]", async () => {
      const { ben } = await team();
      expect(await ben.work(() => {}, { ...DRAIN, concurrency: 3 })).toEqual(NOTHING);
    });

    it("comes when the hub closes while the loop waits [DLV-20]", async () => {
      const { hub, ben, send } = await team();
      const sent = await send("t");
      const summary = ben.work(() => "Done.", { signal: stopper().signal, concurrency: 2 });
      expect(await sent.completed()).toMatchObject({ kind: "completed" });
      await hub.close();
      expect(await summary).toEqual({ ...NOTHING, completed: 1 });
    });

    it("comes when the hub closes while a handler runs, whose signal aborts [DLV-20]", async () => {
      const { hub, ben, send } = await team();
      await send("t");
      const running = Promise.withResolvers<void>();
      const handler: Handler = async (_work, { signal }) => {
        const aborted = once(signal, "abort");
        running.resolve();
        await aborted;
      };
      const summary = ben.work(handler, { signal: stopper().signal });
      await running.promise;
      await hub.close();
      expect(await summary).toEqual({ ...NOTHING, lost: 1 });
    });

    it("is an error on a hub that is closed already [DLV-20]", async () => {
      const { hub, ben } = await team();
      await hub.close();
      expect((await refusal(ben.work(() => {}))).code).toBe("store_closed");
    });
  });

  describe("the options", () => {
    it("claim only handoffs of a task [DLV-20]", async () => {
      const { ben, send } = await team();
      const sent = await Promise.all(["one", "two"].map((task) => send(task)));
      const summary = await ben.work(() => {}, { ...DRAIN, task: "two" });
      expect(summary).toEqual({ ...NOTHING, completed: 1 });
      const states = await Promise.all(sent.map(async (each) => (await each.status()).state));
      expect(states).toEqual(["ready", "completed"]);
    });

    it("create receipts for handoffs that require one [DLV-11 DLV-20]", async () => {
      const { ben, send } = await team();
      for (const task of ["one", "two"]) await send(task, { receipt: true });
      const receipt = ({ intent }: Envelope) => ({ goal: intent, firstStep: "Go" });
      const goals: unknown[] = [];
      const summary = await ben.work(
        async ({ delivery }) => {
          const memory = await ben.memories.read(present(delivery.acceptedBy));
          goals.push((memory.data as { receipt: { goal: string } }).receipt.goal);
        },
        { ...DRAIN, receipt },
      );
      expect(summary).toEqual({ ...NOTHING, completed: 2 });
      expect(goals).toEqual(["Do one", "Do two"]);
    });

    it("report what handlers throw and why results are refused [DLV-20]", async () => {
      const { ben, send } = await team();
      const sent = [await send("throws"), await send("count", { expects: [COUNT] })];
      const handler: Handler = ({ delivery, envelope }) => {
        if (delivery.attempt > 1) return { outputs: { count: 3 } };
        if (envelope.task === "throws") throw new Error("No luck.");
        return { outputs: { count: "three" } };
      };
      const errors: unknown[] = [];
      const onError = (error: unknown, work?: Work) => errors.push([error, work?.id]);
      const summary = await ben.work(handler, { ...DRAIN, onError });
      expect(summary).toEqual({ ...NOTHING, completed: 2, failed: 2 });
      expect(errors).toMatchObject([
        [{ message: "No luck." }, sent[0]?.id],
        [{ code: "invalid_result" }, sent[1]?.id],
      ]);
    });

    it.each<[string, object, string]>([
      ["concurrency", { concurrency: 0 }, "invalid_input"],
      ["concurrency", { concurrency: 1.5 }, "invalid_input"],
      ["concurrency", { concurrency: 1_001 }, "limit_exceeded"],
      ["graceMs", { graceMs: -1 }, "invalid_input"],
      ["onError", { onError: "log" }, "invalid_input"],
      ["wait", { wait: "yes" }, "invalid_input"],
      ["task", { task: "" }, "invalid_input"],
      ["signal", { signal: {} }, "invalid_input"],
      ["parallel", { parallel: 2 }, "invalid_input"],
    ])("refuse an invalid %s: %o [DLV-20]", async (path, options, code) => {
      const { ben } = await team();
      expect(await refusal(ben.work(() => {}, options))).toMatchObject({ code, path });
    });

    it("refuse a handler that is not a function [DLV-20]", async () => {
      const { ben } = await team();
      const error = await refusal(ben.work(undefined as never));
      expect(error).toMatchObject({ code: "invalid_input", path: "handler" });
    });
  });

  it("works on what arrives later, until it is stopped [DLV-20]", async () => {
    const { ben, send } = await team();
    const stop = stopper();
    const summary = ben.work(({ envelope }) => envelope.task, {
      signal: stop.signal,
      concurrency: 3,
    });
    for (let round = 0; round < 3; round++) {
      const sent = await Promise.all([1, 2, 3, 4].map((n) => send(`${round}-${n}`)));
      for (const each of sent) expect(await each.completed()).toMatchObject({ kind: "completed" });
    }
    stop.abort();
    expect(await summary).toEqual({ ...NOTHING, completed: 12 });
  });
});

describe.each(EMBEDDED_STORES)("completing work in a loop on %s", (store) => {
  it("claims the next in the same store operation [DLV-20]", async () => {
    const calls: string[] = [];
    const reopen = sharedStore(store);
    const hub = new LocalHub(counted(await reopen(), calls), { random: () => 0 });
    const ada = await hub.agent("ada", {});
    const ben = await hub.agent("ben", {});
    for (let n = 0; n < 5; n++) await ada.handoff({ to: "ben", task: `${n}`, intent: "Go" });
    expect(await ben.work(() => {}, DRAIN)).toMatchObject({ completed: 5 });
    // The first claim finds work, the second one that nothing is left.
    expect(calls).toEqual([
      "claimDeliveries",
      ...Array.from({ length: 5 }, () => "settleDelivery"),
      "claimDeliveries",
    ]);
  });

  it("reserves what the next handoff says it touches [DLV-20]", async () => {
    const hub = await openFresh(store);
    const ada = await hub.agent("ada", {});
    const ben = await hub.agent("ben", {});
    for (const task of ["one", "two"]) {
      await ada.handoff({ to: "ben", task, intent: "Go", touches: [`${task}.ts`] });
    }
    const reserved: unknown[] = [];
    await ben.work(async ({ envelope }) => {
      const { items } = await hub.tasks.reservations();
      reserved.push([envelope.task, items.map(({ globs }) => globs)]);
    }, DRAIN);
    expect(reserved).toEqual([
      ["one", [["one.ts"]]],
      ["two", [["two.ts"]]],
    ]);
  });

  it("releases the work of an ended process, although the loop never waits [DLV-6 DLV-20]", async () => {
    const ended = new Set<string>();
    const isGone = (process: string) => ended.has(process);
    const [here, there] = await openTwo(
      store,
      { processes: { self: "here", isGone } },
      { processes: { self: "there", isGone } },
    );
    const ada = await there.agent("ada", {});
    const send = (task: string) => ada.handoff({ to: "ben", task, intent: `Do ${task}` });
    const holder = await here.agent("ben", {});
    await send("orphan");
    await take(holder);
    ended.add("here");
    await send("0");
    const ben = await there.agent("ben");
    const stop = stopper();
    const done: string[] = [];
    await ben.work(
      async ({ envelope: { task } }) => {
        done.push(task);
        if (task === "orphan") stop.abort();
        else await send(`${done.length}`); // There is always more to do.
      },
      { signal: stop.signal },
    );
    expect(done.at(-1)).toBe("orphan");
  });

  it("is retried, and so are claims, while the store is unavailable [OPS-10 DLV-20]", async () => {
    const reopen = sharedStore(store);
    const outages = { claimDeliveries: 3, settleDelivery: 3 };
    const hub = new LocalHub(unavailable(await reopen(), outages), { random: () => 0 });
    const ada = await hub.agent("ada", {});
    const ben = await hub.agent("ben", {});
    for (let n = 0; n < 3; n++) await ada.handoff({ to: "ben", task: `${n}`, intent: "Go" });
    expect(await ben.work(() => {}, DRAIN)).toEqual({ ...NOTHING, completed: 3 });
    expect(outages).toEqual({ claimDeliveries: 0, settleDelivery: 0 });
  });

  it("rejects with a claim error that a retry cannot help, after running handlers finish [DLV-20]", async () => {
    const refused = { claimDeliveries: 0 };
    const reopen = sharedStore(store);
    const hub = new LocalHub(countingRefusals(await reopen(), refused));
    const ada = await hub.agent("ada", {});
    const ben = await hub.agent("ben", {});
    const first = await ada.handoff({ to: "ben", task: "first", intent: "Go" });
    const handler: Handler = async () => {
      await ada.handoff({ to: "ben", task: "second", intent: "Go", receipt: true });
      await until("a claim is refused", () => refused.claimDeliveries > 0);
      return "finished";
    };
    const working = ben.work(handler, { signal: stopper().signal, concurrency: 2 });
    expect(await refusal(working)).toMatchObject({ code: "receipt_required" });
    expect(await first.completed()).toMatchObject({ result: { summary: "finished" } });
  });

  it("stops renewing work that it can neither settle nor release [DLV-6 DLV-20]", async () => {
    const reopen = sharedStore(store);
    const outages = { settleDelivery: 0 };
    const hub = new LocalHub(unavailable(await reopen(), outages));
    const ada = await hub.agent("ada", {});
    const ben = await hub.agent("ben", {});
    await ada.handoff({ to: "ben", task: "t", intent: "Go" });
    const stop = stopper();
    let held: Work | undefined;
    const handler: Handler = async (work) => {
      held = work;
      outages.settleDelivery = 1;
      stop.abort();
      await new Promise(() => {}); // Ignores its signal.
    };
    const errors: unknown[] = [];
    const onError = (error: unknown, work?: Work) => errors.push([error, work?.id]);
    const summary = await ben.work(handler, { signal: stop.signal, graceMs: 1, onError });
    expect(summary).toEqual({ ...NOTHING, lost: 1 });
    expect(errors).toMatchObject([[{ code: "store_unavailable" }, held?.id]]);
    expect(present(held).signal.reason).toMatchObject({ code: "lease_lost" });
    expect((await refusal(present(held).renew())).code).toBe("lease_lost");
  });

  it("reports errors that it retries [DLV-20]", async () => {
    const reopen = sharedStore(store);
    const outages = { claimDeliveries: 1, settleDelivery: 1 };
    const hub = new LocalHub(unavailable(await reopen(), outages), { random: () => 0 });
    const ada = await hub.agent("ada", {});
    const ben = await hub.agent("ben", {});
    const sent = await ada.handoff({ to: "ben", task: "t", intent: "Go" });
    const errors: unknown[] = [];
    const onError = (error: unknown, work?: Work) => errors.push([error, work?.id]);
    expect(await ben.work(() => {}, { ...DRAIN, onError })).toEqual({ ...NOTHING, completed: 1 });
    expect(errors).toMatchObject([
      [{ code: "store_unavailable" }, undefined],
      [{ code: "store_unavailable" }, sent.id],
    ]);
  });

  it("claims separately if the settlement claimed nothing [DLV-20]", async () => {
    const reopen = sharedStore(store);
    const without = withoutNext(await reopen());
    const hub = new LocalHub(without, { random: () => 0 });
    const ada = await hub.agent("ada", {});
    const ben = await hub.agent("ben", {});
    for (let n = 0; n < 3; n++) await ada.handoff({ to: "ben", task: `${n}`, intent: "Go" });
    expect(await ben.work(() => {}, DRAIN)).toMatchObject({ completed: 3 });
  });
});

describe("a worker process that is killed", () => {
  it.runIf(process.platform === "linux")(
    "loses no work: another one continues [DLV-6 DLV-20]",
    async () => {
      const address = freshAddress();
      const hub = await open(address, { limits: { leaseMs: HOUR_MS } });
      const ada = await hub.agent("ada", {});
      const ben = await hub.agent("ben", {});
      const sent = [];
      for (let n = 0; n < 30; n++) {
        sent.push(await ada.handoff({ to: "ben", task: `${n}`, intent: "Go" }));
      }
      let began = 0;
      const script = new URL("./work-loop-child.ts", import.meta.url);
      const child = startChild(script, [address], () => began++);
      onTestFinished(async () => {
        child.kill();
        await child.ended;
      });
      await until("it works", () => began >= 5);
      child.kill();
      await child.ended;
      const stop = new AbortController();
      const working = ben.work(() => "Done.", { concurrency: 2, signal: stop.signal });
      const outcomes = await Promise.all(sent.map((each) => each.completed({ timeoutMs: 60_000 })));
      stop.abort();
      await working;
      expect(outcomes.map(({ kind }) => kind)).toEqual(sent.map(() => "completed"));
      const attempts = await Promise.all(sent.map(async (each) => (await each.status()).attempt));
      expect(attempts.filter((attempt) => attempt > 1).length).toBeLessThanOrEqual(1);
      expect((await hub.verify()).problems).toEqual([]);
    },
  );
});

/** Lets everything run that is due, timers included. */
const eventLoopTurn = () => sleep(1);

/** Stops a loop when the test ends, if the test does not stop it before. */
function stopper(): AbortController {
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  return stop;
}

/** The renewal interval is a third of this, in real time. */
const LEASE_MS = 300;
const HOUR_MS = 3_600_000;
/** Made up, and assembled so that this file contains no key. */
const SECRET = `gh${"p_"}${"Zq7mX2vK9rT4wB6nL1cD8hF3jS5gP0yA1eR3"}`;

/** Records the names of the operations that claim and settle. */
function counted(store: Store, calls: string[]): Store {
  return new Proxy(store, {
    get(target, name: keyof Store) {
      const value = target[name];
      if (typeof value !== "function") return value;
      if (name !== "claimDeliveries" && name !== "settleDelivery") return value.bind(target);
      return (...given: unknown[]) => {
        calls.push(name);
        return (value as (...args: unknown[]) => unknown).apply(target, given);
      };
    },
  });
}

/** Fails this many calls of each operation, as during an outage. */
function unavailable(store: Store, outages: Record<string, number>): Store {
  return new Proxy(store, {
    get(target, name: keyof Store) {
      const value = target[name];
      if (typeof value !== "function") return value;
      return (...given: unknown[]) => {
        const left = outages[name] ?? 0;
        if (left === 0) return (value as (...args: unknown[]) => unknown).apply(target, given);
        outages[name] = left - 1;
        return Promise.reject(
          new BatonError("store_unavailable", { message: "It is away.", hint: "Wait." }),
        );
      };
    },
  });
}

/** Counts the calls of operations that were rejected. */
function countingRefusals(store: Store, refused: Record<string, number>): Store {
  return new Proxy(store, {
    get(target, name: keyof Store) {
      const value = target[name];
      if (typeof value !== "function") return value;
      if (refused[name] === undefined) return value.bind(target);
      return async (...given: unknown[]) => {
        try {
          return await (value as (...args: unknown[]) => unknown).apply(target, given);
        } catch (error) {
          refused[name] = (refused[name] ?? 0) + 1;
          throw error;
        }
      };
    },
  });
}

/** Settles without claiming, as a store may at any time. */
function withoutNext(store: Store): Store {
  return new Proxy(store, {
    get(target, name: keyof Store) {
      const value = target[name];
      if (typeof value !== "function") return value;
      if (name !== "settleDelivery") return value.bind(target);
      return ({ next: _next, ...operation }: Parameters<Store["settleDelivery"]>[0]) =>
        target.settleDelivery(operation);
    },
  });
}
