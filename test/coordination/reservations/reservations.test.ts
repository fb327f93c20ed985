/** Reservations: which files a holder works on, reported conflicts, and when they end. */
import { describe, expect, it } from "vitest";
import { type Agent, type HubOptions, LocalHub, type Store } from "../../../src/index.ts";
import { VirtualClock } from "../../../src/testing/index.ts";
import { hubOn, sharedStore, twoHubs } from "../../support/hub/shared-store.ts";
import { openFresh, refusal, STORES, take } from "../../support/hub/support.ts";

const LEASE_MS = 60_000;

/** Sends a handoff with the files it touches; returns its delivery id. */
async function give(sender: Agent, to: string, task: string, touches?: string[]): Promise<string> {
  const said = touches === undefined ? {} : { touches };
  return (await sender.handoff({ to, task, intent: "Go", ...said })).id;
}

/** Returns a store that records the name of every operation called. */
function counting(store: Store, calls: string[]): Store {
  return new Proxy(store, {
    get(target, name: keyof Store) {
      const value = target[name];
      if (typeof value !== "function") return value;
      return (...given: never[]) => {
        calls.push(name);
        return (value as (...args: never[]) => unknown).apply(target, given);
      };
    },
  });
}

/** Returns whether a delivery still has a stored reservation. */
async function isLeft(store: Store, delivery: string): Promise<boolean> {
  return (await store.findEntry("default", "reservation", delivery)) !== undefined;
}

describe.each(STORES)("reservations on %s", (store) => {
  async function team(options: HubOptions = {}) {
    const clock = new VirtualClock();
    const reopen = sharedStore(store, { clock });
    const opened = await reopen();
    const hub = await hubOn(store, opened, {
      clock,
      limits: { leaseMs: LEASE_MS, attempts: 9 },
      ...options,
    });
    const planner = await hub.agent("planner", {});
    const coder = await hub.agent("coder", {});
    const tester = await hub.agent("tester", {});
    return { clock, reopen, opened, hub, planner, coder, tester };
  }

  it("state holder, files and expiry, and report conflicts to other agents [CRD-7]", async () => {
    const { clock, hub, planner, coder, tester } = await team();
    await give(planner, "coder", "login");
    const work = await take(coder);
    clock.advance(1_000);
    const { reserved, conflicts } = await work.reservations.set(["src/auth/**", "db:users"], {
      note: "Moving the validator",
    });
    expect(conflicts).toEqual([]);
    const said = {
      agent: "coder",
      delivery: work.id,
      globs: ["src/auth/**", "db:users"],
      instance: coder.instance,
      mode: "exclusive",
      note: "Moving the validator",
      task: "login",
      since: clock.now(),
      until: clock.now() + LEASE_MS,
    };
    expect(reserved).toEqual(said);
    expect((await hub.tasks.reservations()).items).toEqual([said]);
    expect((await tester.tasks.reservations({ touching: "src/auth/login.ts" })).items).toEqual([
      said,
    ]);
    expect((await tester.tasks.reservations({ touching: ["docs/**", "db:orders"] })).items).toEqual(
      [],
    );

    await give(planner, "tester", "tests", ["src/*/login.ts", "docs/auth.md"]);
    for await (const offer of tester.inbox()) {
      const { instance: _, ...conflict } = said;
      const expected = [{ ...conflict, globs: ["src/auth/**"], with: ["src/*/login.ts"] }];
      expect(await offer.conflicts(), "before the work starts").toEqual(expected);
      expect((await hub.tasks.reservations()).items, "looking reserves nothing").toHaveLength(1);
      const theirs = await offer.accept();
      expect(theirs.reservations.conflicts, "at accept").toEqual(expected);
      expect((await hub.tasks.reservations({ agent: "tester" })).items).toMatchObject([
        { task: "tests", globs: ["src/*/login.ts", "docs/auth.md"], mode: "exclusive" },
      ]);
      break;
    }
  });

  it("are made on accept for the files that the handoff touches [CRD-7]", async () => {
    const { hub, planner, coder, tester } = await team();
    await give(planner, "coder", "one", ["src/**"]);
    await give(planner, "tester", "two", ["src/a.ts"]);
    await give(planner, "tester", "three", ["docs/**"]);
    expect((await take(coder)).reservations.conflicts).toEqual([]);
    expect((await take(tester)).reservations.conflicts).toMatchObject([
      { agent: "coder", task: "one", globs: ["src/**"], with: ["src/a.ts"] },
    ]);
    expect((await take(tester)).reservations.conflicts).toEqual([]);
    expect((await hub.tasks.reservations()).items.map(({ task }) => task)).toEqual([
      "one",
      "two",
      "three",
    ]);
  });

  it("cost no operation if the handoff names no files [CRD-7]", async () => {
    const { clock, reopen, planner } = await team();
    const calls: string[] = [];
    const hub = new LocalHub(counting(await reopen(), calls), { clock });
    const coder = await hub.agent("coder");
    await give(planner, "coder", "plain");
    calls.length = 0;
    const work = await take(coder);
    expect(calls).toEqual(["claimDeliveries"]);
    expect(work.reservations.conflicts).toEqual([]);
    calls.length = 0;
    await work.complete();
    expect(calls).toEqual(["settleDelivery"]);
  });

  it.each(["complete", "fail", "decline", "release", "clarify", "handoff"] as const)(
    "end with the work: %s [CRD-7]",
    async (verb) => {
      const { opened, hub, planner, coder, tester } = await team();
      await give(planner, "coder", "t", ["src/**"]);
      const work = await take(coder);
      expect((await hub.tasks.reservations()).items).toHaveLength(1);
      const end = {
        complete: () => work.complete(),
        fail: () => work.fail({ message: "No" }),
        decline: () => work.decline("No"),
        release: () => work.release(),
        clarify: () => work.clarify("Which?"),
        handoff: () => work.handoff({ to: "tester" }),
      };
      await end[verb]();
      expect(await isLeft(opened, work.id), "no open item is left").toBe(false);
      expect((await tester.tasks.reservations({ touching: "src/a.ts" })).items).toEqual([]);
    },
  );

  it("end with the lease, by the clock of the store [CRD-7]", async () => {
    const { clock, opened, hub, planner, coder, tester } = await team();
    await give(planner, "coder", "t", ["src/**"]);
    const work = await take(coder);
    clock.advance(LEASE_MS - 1);
    expect((await hub.tasks.reservations()).items).toHaveLength(1);
    await work.renew();
    clock.advance(LEASE_MS - 1);
    expect((await hub.tasks.reservations()).items, "renewed with the lease").toMatchObject([
      { until: clock.now() + 1 },
    ]);
    clock.advance(1);
    await give(planner, "tester", "u", ["src/a.ts"]);
    expect(
      (await take(tester)).reservations.conflicts,
      "while the delivery still says accepted",
    ).toEqual([]);
    expect((await hub.tasks.reservations({ task: "t" })).items).toEqual([]);
    expect(await isLeft(opened, work.id), "taken away by who came across it").toBe(false);
    expect((await refusal(work.reservations.set("src/**"))).code).toBe("lease_lost");
  });

  it("end when the task is cancelled [CRD-7]", async () => {
    const { hub, planner, coder } = await team();
    await give(planner, "coder", "t", ["src/**"]);
    const work = await take(coder);
    await planner.tasks.cancelHandoffs("t", "No longer wanted");
    expect((await hub.tasks.reservations()).items).toEqual([]);
    expect((await refusal(work.reservations.set("src/**"))).code).toBe("cancelled");
  });

  it("end at once when the holder's process dies [CRD-7]", async () => {
    const gone = new Set<string>();
    const clock = new VirtualClock();
    const reopen = sharedStore(store, { clock });
    const processOf = (self: string) => ({ self, isGone: (each: string) => gone.has(each) });
    const first = new LocalHub(await reopen(), { clock, processes: processOf("first") });
    const second = new LocalHub(await reopen(), { clock, processes: processOf("second") });
    const planner = await second.agent("planner", {});
    const tester = await second.agent("tester", {});
    const coder = await first.agent("coder", {});
    await give(planner, "coder", "t", ["src/**"]);
    await take(coder);
    expect((await second.tasks.reservations()).items).toHaveLength(1);
    gone.add("first");
    await give(planner, "tester", "u", ["src/a.ts"]);
    expect((await take(tester)).reservations.conflicts).toEqual([]);
    expect((await second.tasks.reservations()).items.map(({ agent }) => agent)).toEqual(["tester"]);
  });

  it("of a lost holder are not inherited by the next one [CRD-7]", async () => {
    const { clock, hub, planner, coder } = await team();
    await give(planner, "coder", "t");
    const lost = await take(coder);
    await lost.reservations.set("src/**");
    await lost.note("Began.");
    clock.advance(LEASE_MS);
    const next = await hub.agent("coder");
    const work = await take(next);
    expect(work.delivery.attempt).toBe(2);
    expect((await hub.tasks.reservations()).items).toEqual([]);
    await work.reservations.set("docs/**");
    expect((await refusal(lost.reservations.set("src/**"))).code).toBe("lease_lost");
    await lost.reservations.clear();
    expect((await hub.tasks.reservations()).items).toMatchObject([
      { globs: ["docs/**"], instance: next.instance },
    ]);
  });

  it("are not overwritten by a holder that loses its lease meanwhile [CRD-7]", async () => {
    const { clock, reopen, hub, planner } = await team();
    await give(planner, "coder", "t");
    let meanwhile = async (): Promise<void> => {};
    const slow = new Proxy(await reopen(), {
      get(target, name: keyof Store) {
        const value = target[name];
        if (name !== "findEntry") return typeof value === "function" ? value.bind(target) : value;
        return async (...asked: Parameters<Store["findEntry"]>) => {
          if (asked[1] === "reservation") await meanwhile();
          return target.findEntry(...asked);
        };
      },
    });
    const late = await hubOn(store, slow, { clock, limits: { leaseMs: LEASE_MS } });
    const lost = await take(await late.agent("coder"));
    meanwhile = async () => {
      clock.advance(LEASE_MS);
      await (await take(await hub.agent("coder"))).reservations.set("docs/**");
    };
    expect((await refusal(lost.reservations.set("src/**"))).code).toBe("lease_lost");
    expect((await hub.tasks.reservations()).items).toMatchObject([{ globs: ["docs/**"] }]);
  });

  it("that come from the handoff are made again for the next holder [CRD-7]", async () => {
    const { clock, hub, planner, coder } = await team();
    await give(planner, "coder", "t", ["src/**"]);
    const lost = await take(coder);
    await lost.note("Began.");
    clock.advance(LEASE_MS);
    const next = await hub.agent("coder");
    const work = await take(next);
    expect(work.envelope).toMatchObject({ reconstructed: { notes: 1 }, touches: ["src/**"] });
    expect((await hub.tasks.reservations()).items).toMatchObject([
      { delivery: work.id, instance: next.instance },
    ]);
  });

  it("are replaced by the next set() and removed by clear() [CRD-7]", async () => {
    const { hub, planner, coder } = await team();
    await give(planner, "coder", "t", ["src/**"]);
    const work = await take(coder);
    await work.reservations.set(["src/auth/**", "port:5432"]);
    expect((await hub.tasks.reservations()).items).toMatchObject([
      { globs: ["src/auth/**", "port:5432"] },
    ]);
    await work.reservations.clear();
    await work.reservations.clear();
    expect((await hub.tasks.reservations()).items).toEqual([]);
    expect((await work.reservations.set()).reserved.globs).toEqual(["src/**"]);
  });

  it("in shared mode conflict only with exclusive ones [CRD-7]", async () => {
    const { planner, coder, tester } = await team();
    await give(planner, "coder", "t");
    await give(planner, "tester", "u");
    const [one, other] = [await take(coder), await take(tester)];
    await one.reservations.set("src/**", { mode: "shared" });
    expect((await other.reservations.set("src/a.ts", { mode: "shared" })).conflicts).toEqual([]);
    expect((await other.reservations.set("src/a.ts")).conflicts).toMatchObject([
      { agent: "coder", mode: "shared" },
    ]);
    expect((await one.reservations.set("src/**", { mode: "shared" })).conflicts).toMatchObject([
      { agent: "tester", mode: "exclusive" },
    ]);
    expect(one.reservations.conflicts).toHaveLength(1);
  });

  it("conflict with other sessions of the same agent, but not with its own [CRD-7]", async () => {
    const { hub, planner, coder } = await team();
    for (const task of ["one", "two", "three"]) await give(planner, "coder", task, ["src/**"]);
    await take(coder);
    expect((await take(coder)).reservations.conflicts).toEqual([]);
    const another = await hub.agent("coder");
    expect((await take(another)).reservations.conflicts.map(({ task }) => task)).toEqual([
      "one",
      "two",
    ]);
  });

  it("stay with work that is resumed in another process [CRD-7]", async () => {
    const { clock, reopen, opened, planner, coder, tester } = await team();
    await give(planner, "coder", "t", ["src/**"]);
    const { handle, id } = await take(coder);
    const elsewhere = await hubOn(store, await reopen(), { clock, limits: { leaseMs: LEASE_MS } });
    const resumed = await (await elsewhere.agent("coder")).resume(handle);
    expect((await elsewhere.tasks.reservations()).items).toMatchObject([
      { instance: coder.instance },
    ]);
    await resumed.reservations.set("docs/**");
    expect((await tester.tasks.reservations({ touching: "docs/a.md" })).items).toHaveLength(1);
    await resumed.complete();
    expect(await isLeft(opened, id)).toBe(false);
  });

  it("made concurrently are reported to at least one of the holders [CRD-7]", {
    timeout: 60_000,
  }, async () => {
    const [left, right] = await twoHubs(store);
    const planner = await left.agent("planner", {});
    const agents = [await left.agent("coder", {}), await right.agent("tester", {})] as const;
    for (let round = 0; round < 15; round++) {
      await give(planner, "coder", `left ${round}`, [`src/${round}/**`]);
      await give(planner, "tester", `right ${round}`, [`src/${round}/*.ts`]);
      const [one, other] = await Promise.all(agents.map((agent) => take(agent)));
      const reported = [
        ...(one?.reservations.conflicts ?? []),
        ...(other?.reservations.conflicts ?? []),
      ];
      expect(reported.length, `round ${round}`).toBeGreaterThan(0);
      for (const { task } of reported) expect(task).toMatch(new RegExp(` ${round}$`));
    }
    expect((await left.tasks.reservations()).items).toHaveLength(30);
  });

  it("that have expired are deleted when an agent reserves any files [CRD-7]", async () => {
    const { clock, opened, planner, coder, tester } = await team({
      limits: { leaseMs: LEASE_MS, holdMs: 2 * LEASE_MS },
    });
    await give(planner, "coder", "t", ["src/**"]);
    const { id } = await take(coder);
    clock.advance(2 * LEASE_MS);
    await give(planner, "tester", "u", ["docs/**"]);
    expect((await take(tester)).reservations.conflicts).toEqual([]);
    expect(await isLeft(opened, id)).toBe(false);
  });

  it("are listed in pages, in the order in which their work was sent [CRD-7]", async () => {
    const { hub, planner, coder } = await team();
    const ids: string[] = [];
    for (const task of ["a", "b", "c", "d", "e"]) {
      ids.push(await give(planner, "coder", task, [`src/${task}`]));
      const work = await take(coder);
      if (task === "b") await planner.deliveries.cancel(work.id, "Not that one");
    }
    const first = (await hub.tasks.reservations({ limit: 3 })).items;
    expect(first.map(({ task }) => task)).toEqual(["a", "c", "d"]);
    const after = first.at(-1)?.delivery ?? "";
    expect(
      (await hub.tasks.reservations({ limit: 3, after })).items.map(({ task }) => task),
    ).toEqual(["e"]);
    expect((await refusal(hub.tasks.reservations({ limit: 1_001 }))).code).toBe("limit_exceeded");
    expect((await hub.verify()).problems).toEqual([]);
  });
});

describe("an invalid glob", () => {
  it("is refused with its path and a hint [CRD-7]", async () => {
    const hub = await openFresh();
    const planner = await hub.agent("planner", {});
    const coder = await hub.agent("coder", {});
    const draft = { to: "coder", task: "t", intent: "Go", touches: ["src/**", "src/[ab"] };
    expect(await refusal(planner.handoff(draft))).toMatchObject({
      code: "invalid_envelope",
      path: "touches[1]",
      hint: expect.stringContaining("[[]"),
    });
    expect(await hub.tasks.line("t")).toEqual([]);
    await give(planner, "coder", "t");
    const work = await take(coder);
    expect(await refusal(work.reservations.set(["{a,b"]))).toMatchObject({
      code: "invalid_input",
      path: "globs[0]",
    });
    expect(await refusal(work.reservations.set([]))).toMatchObject({
      code: "invalid_input",
      path: "globs",
    });
    const nothing = await refusal(work.reservations.set());
    expect(nothing).toMatchObject({ code: "invalid_input", path: "globs" });
    expect(nothing.hint).toContain("work.reservations.set([");
    expect(await refusal(work.reservations.set("x".repeat(2_001)))).toMatchObject({
      code: "invalid_input",
    });
    expect(await refusal(work.reservations.set(Array(201).fill("a")))).toMatchObject({
      code: "invalid_input",
    });
    expect(await refusal(coder.tasks.reservations({ touching: "a\\b" }))).toMatchObject({
      path: "touching[0]",
    });
    expect((await hub.tasks.reservations()).items).toEqual([]);
  });
});
