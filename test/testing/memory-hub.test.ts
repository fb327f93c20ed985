/** The exported test kit: a hub in memory, a clock that tests move, and repeatable ids. */
import { expect, it } from "vitest";
import { idPattern } from "../../src/base/ids.ts";
import { memoryHub, seededIds, seededRandom, VirtualClock } from "../../src/testing/index.ts";

it("a virtual clock stands still until it is moved, forward or back [OPS-11]", () => {
  const clock = new VirtualClock(1_000);
  expect([clock.now(), clock.now()]).toEqual([1_000, 1_000]);
  clock.advance(5);
  expect(clock.now()).toBe(1_005);
  clock.set(10);
  expect(clock.now()).toBe(10);
});

it("a seed always gives the same numbers, and other seeds give others [OPS-11]", () => {
  const numbers = (seed: number) => Array.from({ length: 100 }, seededRandom(seed));
  expect(numbers(1)).toEqual(numbers(1));
  expect(numbers(1)).not.toEqual(numbers(2));
  expect(numbers(1).every((each) => each >= 0 && each < 1)).toBe(true);
  expect(new Set(numbers(1)).size).toBe(100);
});

it("seeded ids have the form of real ones, are unique, and repeat [OPS-11]", () => {
  const clock = new VirtualClock();
  const made = (seed: number) => {
    const ids = seededIds(seed, clock);
    return Array.from({ length: 1_000 }, () => ids.mint("memory"));
  };
  expect(made(1)).toEqual(made(1));
  expect(made(1)).not.toEqual(made(2));
  expect(new Set(made(1)).size).toBe(1_000);
  for (const id of made(1)) expect(id).toMatch(idPattern("memory"));
});

it("two hubs in memory with the same seed give the same ids and hashes [OPS-11]", async () => {
  const outcome = async () => {
    const { hub, clock } = memoryHub({ seed: 7 });
    const ada = await hub.agent("ada", { role: "planner" });
    await hub.agent("ben", { role: "coder" });
    const known = await ada.remember({ content: "known" });
    clock.advance(10);
    const sent = await ada.handoff({ to: "ben", task: "t", intent: "i", refs: [known.id] });
    await hub.close();
    return { known, digest: sent.digest, id: sent.id };
  };
  expect(await outcome()).toEqual(await outcome());
});

it("a hub in memory lets a test expire a lease [OPS-11]", async () => {
  const { hub, clock } = memoryHub({ limits: { leaseMs: 1_000_000, attempts: 2 } });
  const ada = await hub.agent("ada", { role: "planner" });
  const sent = await ada.handoff({ to: "ada", task: "t", intent: "i" });
  expect((await ada.accept())?.delivery.attempt).toBe(1);
  clock.advance(1_000_000);
  expect((await ada.accept())?.delivery.attempt).toBe(2);
  clock.advance(1_000_000);
  expect(await ada.accept()).toBeUndefined();
  expect((await sent.status()).state).toBe("dead");
  await hub.close();
});
