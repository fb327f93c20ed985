/**
 * Timers across processes: `baton start` alone carries out what is due, and another hub takes over when the one
 * that was about to is killed. No agent polls: deliveries are read with `deliveries.get()`, which carries out
 * nothing, by a hub that sets no timers.
 */
import { describe, expect, it } from "vitest";
import { systemClock } from "../../src/base/clock.ts";
import type { Hub } from "../../src/index.ts";
import { startChild } from "../support/child.ts";
import { EMBEDDED_STORES, freshAddress, open, take } from "../support/hub/support.ts";
import { startHub } from "../support/start-hub.ts";
import { until } from "../support/until.ts";

const CHILD = new URL("due-child.ts", import.meta.url);
const BACKOFF = { firstMs: 400, longestMs: 400 };

/** A hub that sets no timers, because its clock is injected. */
async function observer(address: string, workspace = "default") {
  const hub = await open(address, { clock: systemClock, workspace, random: () => 0.5 });
  const ada = await hub.agent("ada", { role: "planner" });
  const ben = await hub.agent("ben", { role: "coder" });
  await hub.agent("cyd", { role: "tester" });
  return { hub, ada, ben };
}

/** Sends a handoff for each kind of timer. Returns the delivery of each, and how to see that it fired. */
async function sendAll({ ada, ben }: Awaited<ReturnType<typeof observer>>, which = "") {
  const send = async (task: string, policy: object) =>
    (await ada.handoff({ to: "ben", task: `${task}${which}`, intent: "Wait", policy })).id;
  const retry = await send("retry", { attempts: 2, backoff: BACKOFF });
  await (await take(ben, { task: `retry${which}` })).fail({ message: "no" });
  return {
    retry,
    accept: await send("accept", { acceptMs: 500, attempts: 1 }),
    deadline: await send("deadline", { deadlineMs: 500 }),
    fallback: await send("fallback", { acceptMs: 500, attempts: 1, fallback: ["cyd"] }),
  };
}

async function expectAllFired(hub: Hub, sent: Awaited<ReturnType<typeof sendAll>>): Promise<void> {
  const fired = async () => {
    const read = async (id: string) => (await hub.deliveries.get(id)).delivery;
    return {
      retry: (await read(sent.retry)).state,
      accept: (await read(sent.accept)).state,
      deadline: (await read(sent.deadline)).state,
      fallback: (await read(sent.fallback)).receiver,
    };
  };
  const expected = { retry: "ready", accept: "dead", deadline: "expired", fallback: "cyd" };
  await until("all timers fired", async () => {
    return JSON.stringify(await fired()) === JSON.stringify(expected);
  });
}

describe.each(EMBEDDED_STORES.filter((store) => store !== "memory"))(
  "timers of %s, with no agent that polls,",
  { timeout: 240_000 },
  (store) => {
    it("fire with baton start alone, in every workspace [DLV-19]", async () => {
      const address = freshAddress(store);
      await using _started = await startHub(address);
      const here = await observer(address);
      const there = await observer(address, "elsewhere");
      const sent = [await sendAll(here), await sendAll(there)] as const;
      await expectAllFired(here.hub, sent[0]);
      await expectAllFired(there.hub, sent[1]);
    });

    it("fire although one of two hubs was killed just before [DLV-19]", async () => {
      const address = freshAddress(store);
      const team = await observer(address);
      await using first = await startHub(address);
      await using _second = await startHub(address);
      const before = await sendAll(team);
      first.child.kill();
      const after = await sendAll(team, " again");
      await expectAllFired(team.hub, before);
      await expectAllFired(team.hub, after);
    });

    it("fire when the process that was carrying them out is killed [DLV-19]", async () => {
      const address = freshAddress(store);
      const team = await observer(address);
      await team.hub.failures.setRule("end", { then: { abort: true } });
      const said: string[] = [];
      const child = startChild(CHILD, [address], (line) => said.push(line));
      await until("the child is open", () => said.includes('"open"'));
      await team.ada.tasks.add({
        ...{ to: "ben", task: "stuck", intent: "Fail" },
        policy: { acceptMs: 200, attempts: 1 },
      });
      await until("the child decides", () => said.includes('"deciding"'));
      await using _other = await startHub(address);
      const sent = await sendAll(team);
      child.kill();
      await child.ended;
      await expectAllFired(team.hub, sent);
      await until("the failure is decided", async () => {
        return (await team.hub.tasks.get("stuck")).state === "failed";
      });
      expect((await team.hub.verify()).problems).toEqual([]);
    });
  },
);
