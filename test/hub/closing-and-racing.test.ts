/** A hub under concurrency: verifying during writes, closing during waits, and settling twice. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import { systemClock } from "../../src/base/clock.ts";
import { LocalHub, openHub, type Store } from "../../src/index.ts";
import { openReferenceStore } from "../../store-contract/reference/open.ts";
import { withoutNumbers } from "../support/fences.ts";
import { stopTimers } from "../support/hub/asleep.ts";
import { freshAddress, open, tempFolder } from "../support/hub/support.ts";
import { until } from "../support/until.ts";

async function team(address: string) {
  const hub = await open(address);
  const planner = await hub.agent("planner", { role: "planner" });
  const coder = await hub.agent("coder", { role: "coder" });
  const send = (task: string, intent = "do it") => planner.handoff({ to: "coder", task, intent });
  return { hub, planner, coder, send };
}

describe("verifying during writes", () => {
  it("finds no problems, and the totals match", async () => {
    const { hub, coder, send } = await team(freshAddress());
    let going = true;
    const writing = (async () => {
      for (let n = 0; going; n++) {
        await send(`task ${n}`);
        await (await coder.accept())?.complete();
      }
    })();
    for (let i = 0; i < 15; i++) {
      expect((await hub.verify()).problems).toEqual([]);
      const { deliveries, byState } = await hub.deliveries.totals();
      expect(Object.values(byState).reduce((a, b) => a + b)).toBe(deliveries);
    }
    going = false;
    await writing;
  });
});

describe("opening and closing a hub", () => {
  it.each(["sqlite", "memory"] as const)("ends inboxes that are waiting: %s", async (store) => {
    const { hub, coder } = await team(freshAddress(store));
    const { asleep, resume } = stopTimers();
    const next = coder.inbox().next();
    await asleep();
    resume();
    await hub.close();
    expect(await next).toEqual({ done: true, value: undefined });
  });

  it("ends a wait whose claim is still running when other waits have ended [DLV-13]", async () => {
    const store = openReferenceStore({ clock: systemClock });
    const answered = Promise.withResolvers<void>();
    let isSlow = false;
    const slow = new Proxy(store, {
      get(target, name: keyof Store) {
        const value = target[name];
        if (typeof value !== "function") return value;
        if (name !== "claimDeliveries") return value.bind(target);
        return async (...given: Parameters<Store["claimDeliveries"]>) => {
          const claimed = await target.claimDeliveries(...given);
          if (isSlow) await answered.promise;
          return claimed;
        };
      },
    });
    const hub = new LocalHub(slow);
    const coder = await hub.agent("coder", { role: "coder" });
    const { asleep } = stopTimers();
    const asleepThen = coder.accept({ wait: true });
    await asleep();
    isSlow = true;
    const claimingThen = coder.accept({ wait: true });
    await hub.close();
    expect(await asleepThen).toBeUndefined();
    answered.resolve();
    expect(await claimingThen).toBeUndefined();
  });

  it("can close twice concurrently", async () => {
    const { hub, send } = await team(freshAddress());
    await send("task");
    await Promise.all([hub.close(), hub.close()]);
    await expect(send("late")).rejects.toMatchObject({ code: "store_closed" });
  });

  it("leaves no file behind when its options are invalid", async () => {
    const file = join(tempFolder(), "hub.db");
    await expect(openHub(`sqlite:${file}`, { workspace: "\0" })).rejects.toMatchObject({
      code: "invalid_input",
    });
    expect(existsSync(file)).toBe(false);
  });
});

describe("accepted work", () => {
  it.each(["sqlite", "memory"] as const)(
    "is settled once by concurrent calls: %s",
    async (store) => {
      const { coder, send } = await team(freshAddress(store));
      const sent = await send("task");
      const work = await coder.accept();
      if (work === undefined) throw new Error("nothing to accept");
      const signal = work.signal;
      const [first, second] = await Promise.allSettled([work.complete(), work.complete()]);
      expect(first).toMatchObject({ status: "fulfilled", value: { kind: "settled" } });
      expect(second).toMatchObject({ status: "rejected", reason: { code: "already_settled" } });
      expect(signal.aborted).toBe(false);
      expect((await sent.status()).state).toBe("completed");
    },
  );

  it("is not released when its block ends while it is being settled", async () => {
    const { coder, send } = await team(freshAddress());
    const sent = await send("task");
    let settling: Promise<unknown>;
    {
      await using work = await coder.accept();
      settling = work?.complete() ?? Promise.reject(new Error("nothing to accept"));
    }
    expect(await settling).toMatchObject({ kind: "settled" });
    expect((await sent.status()).state).toBe("completed");
  });

  it("stores a note once when its id is repeated", async () => {
    const { coder, planner, send } = await team(freshAddress());
    await send("task");
    const { id } = await planner.remember({ content: "somewhere else" });
    const work = await coder.accept();
    const note = { id: `${id.slice(0, -1)}${id.endsWith("0") ? "1" : "0"}`, content: "found it" };
    const first = await work?.note(note);
    const seq = first?.memory.seq;
    expect(await work?.note(note)).toMatchObject({ kind: "noted", memory: { id: note.id, seq } });
    await expect(work?.note({ ...note, content: "other" })).rejects.toMatchObject({
      code: "id_conflict",
    });
  });
});

describe("an unreadable record", () => {
  it("does not keep later records out of the index", async () => {
    const address = freshAddress();
    const { hub, planner } = await team(address);
    const [broken] = await planner.remember([{ content: "soon broken" }, { content: "other" }]);
    const file = address.slice("sqlite:".length);
    const raw = new DatabaseSync(file);
    raw.prepare("update memories set text = '{' where id = ?").run(broken?.id ?? "");
    raw.close();
    const many = Array.from({ length: 1_000 }, (_, n) => ({ content: `fact ${n}` }));
    await planner.remember(many);
    await until("the index", async () => (await hub.index.state()).indexed > 900);
  });
});

describe("a catch-up with a handoff longer than its budget", () => {
  it("names the handoff instead of failing", async () => {
    const { coder, send } = await team(freshAddress());
    await send("long", "word ".repeat(3_000));
    const { text, tokens } = await coder.catchUp({ tokens: 500 });
    expect(withoutNumbers(text)).toContain("«long», from planner, ready");
    expect(tokens).toBeLessThanOrEqual(500);
  });
});
