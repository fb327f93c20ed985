/** accept(): claims and accepts work in one step, with or without waiting. */
import { describe, expect, it } from "vitest";
import { stopTimers } from "../../support/hub/asleep.ts";
import { openFresh, refusal, STORES, take } from "../../support/hub/support.ts";
import { until } from "../../support/until.ts";

describe.each(STORES)("accepting on %s", (store) => {
  async function team() {
    const hub = await openFresh(store);
    const planner = await hub.agent("planner", {});
    const coder = await hub.agent("coder", {});
    const send = (task: string) => planner.handoff({ to: "coder", task, intent: `About ${task}` });
    return { hub, planner, coder, send };
  }

  it("does not wait by default", async () => {
    const { coder } = await team();
    expect(await coder.accept()).toBeUndefined();
    expect(await coder.accept({ wait: false, signal: new AbortController().signal })).toBe(
      undefined,
    );
  });

  it("returns ready work at once even with wait: true", async () => {
    const { coder, send } = await team();
    const sent = await send("one");
    const work = await coder.accept({ wait: true });
    expect(work?.id).toBe(sent.id);
    expect((await sent.status()).state).toBe("accepted");
  });

  it("waits for work of the requested task [DLV-13]", async () => {
    const { hub, coder, send } = await team();
    const { asleep } = stopTimers();
    const waiting = coder.accept({ wait: true, task: "two" });
    await asleep();
    await send("one");
    await send("two");
    const work = await waiting;
    expect(work?.delivery.task).toBe("two");
    // Claimed and accepted in one step, without an offer in between.
    expect((await hub.events.list({ after: 0 })).items.map(({ kind }) => kind)).toEqual([
      "sent",
      "sent",
      "accepted",
    ]);
    await work?.complete();
  });

  it("ends when its signal is aborted, before or while it waits", async () => {
    const { coder, send } = await team();
    const { asleep } = stopTimers();
    const control = new AbortController();
    const waiting = coder.accept({ wait: true, signal: control.signal });
    await asleep();
    control.abort();
    expect(await waiting).toBeUndefined();
    await send("one");
    expect(await coder.accept({ wait: true, signal: control.signal })).toBeUndefined();
    expect((await take(coder)).delivery.attempt).toBe(1);
  });

  it("ends after its timeout like an inbox, and returns work that arrives earlier", async () => {
    const { coder, send } = await team();
    expect(await coder.accept({ timeoutMs: 0 })).toBeUndefined();
    expect(await coder.accept({ timeoutMs: 20 })).toBeUndefined();
    for await (const offer of coder.inbox({ timeoutMs: 20 })) expect(offer).toBeUndefined();
    const waiting = coder.accept({ timeoutMs: 600_000 });
    const sent = await send("one");
    expect((await waiting)?.id).toBe(sent.id);
    const refused = await refusal(coder.accept({ timeoutMs: -1 }));
    expect(refused).toMatchObject({ code: "invalid_input", path: "timeoutMs" });
  });

  it("ends when the hub closes, and is refused on a closed hub", async () => {
    const { hub, coder } = await team();
    const { asleep, resume } = stopTimers();
    const waiting = coder.accept({ wait: true });
    await asleep();
    resume();
    await hub.close();
    expect(await waiting).toBeUndefined();
    expect(await refusal(coder.accept({ wait: true }))).toMatchObject({ code: "store_closed" });
  });

  it("gives each of several waiting sessions its own work", async () => {
    const { hub, coder, send } = await team();
    const other = await hub.agent("coder");
    const both = [coder, other].map((agent) => agent.accept({ wait: true }));
    for (const task of ["one", "two"]) await send(task);
    const works = await Promise.all(both);
    expect(works.map((work) => work?.delivery.task).sort()).toEqual(["one", "two"]);
  });

  it("gives each handoff to one of many waiting calls without polling [DLV-13]", async () => {
    const { hub, coder, send } = await team();
    const { asleep } = stopTimers();
    const crowd = Array.from({ length: 20 }, () => coder.accept({ wait: true }));
    await asleep();
    await Promise.all(Array.from({ length: 15 }, (_, n) => send(`task ${n}`)));
    const taken: string[] = [];
    for (const wait of crowd) void wait.then((work) => work && taken.push(work.delivery.task));
    await until("15 that were taken", () => taken.length === 15);
    expect(new Set(taken).size).toBe(15);
    await hub.close();
    expect((await Promise.all(crowd)).filter((work) => work === undefined)).toHaveLength(5);
  });

  it("passes a wake-up on when the call it woke is aborted [DLV-13]", async () => {
    const { hub, coder, send } = await team();
    const { asleep } = stopTimers();
    const control = new AbortController();
    const first = coder.accept({ wait: true, signal: control.signal });
    await asleep();
    const second = coder.accept({ wait: true });
    await hub.memories.recent(); // Both calls are waiting by now.
    const sent = await send("one");
    control.abort();
    const one = await first;
    if (one === undefined) expect((await second)?.id).toBe(sent.id);
    else expect(one.id).toBe(sent.id);
    await hub.close();
    await second;
  });
});
