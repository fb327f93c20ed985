/**
 * Building blocks of steps: how a step is defined, and the values it picks from. A step picks by
 * number from what its side has seen so far, so that it means the same on both sides.
 */

import fc from "fast-check";
import { type Agent, generateKey } from "../../../src/index.ts";
import { writeRecord } from "../../../src/memory/record.ts";
import type { DeliveryStep, NewMemory } from "../../../src/store/rows.ts";
import type { DeliveryWithEnvelopeRow } from "../../../src/store/store.ts";
import { MAIN_BRANCH } from "../../../src/store/visibility.ts";
import { LIMITS, NAMES, ROLES, type Side } from "./side.ts";

export interface Step {
  readonly title: string;
  /** True if one step may move a delivery through several states. */
  readonly burst?: boolean;
  /** True if it bypasses the hub: it may then find due deliveries that were not decided yet. */
  readonly past?: boolean;
  /** Usually one; each part is compared and checked separately. */
  readonly parts: readonly ((side: Side) => Promise<unknown>)[];
}

export const NOTHING = "nothing to do";
export const NO_MEMORY = "mem_00000000-0000-7000-8000-000000000000";
export const NO_ENVELOPE = "env_00000000-0000-7000-8000-000000000000";
export const KEYS = [generateKey(), generateKey()];
export const TASKS = ["t1", "t2"];
export const TAGS = ["red", "blue"];
export const TYPES = ["fact", "plan", "handoff", "decision"];

// Values that steps pick from

export const number = fc.nat(1_000);
/** Returns a value once in this many times, else undefined. */
export const onceIn = <T>(times: number, value: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.oneof(
    { weight: times - 1, arbitrary: fc.constant(undefined) },
    { weight: 1, arbitrary: value },
  );
export const rarely = <T>(value: fc.Arbitrary<T>) => onceIn(4, value);
export const known = fc.constantFrom(...NAMES);
export const name = fc.oneof(
  { weight: 9, arbitrary: known },
  { weight: 1, arbitrary: fc.constant("dot") },
);
/** Usually an existing agent; sometimes an alias or an unknown name. */
export const receiver = fc.oneof(
  { weight: 8, arbitrary: known },
  { weight: 1, arbitrary: fc.constantFrom("dot", "x", "nobody") },
);
/** An agent or a role. */
export const addressee = fc.oneof(
  { weight: 4, arbitrary: receiver },
  { weight: 1, arbitrary: fc.constantFrom(...ROLES) },
);
export const task = fc.constantFrom(...TASKS);
export const words = fc.constantFrom(
  "apple",
  "banana split",
  "Crème brûlée",
  "日本 2026",
  "apple banana",
);

/** Returns one of the newest items. */
export function pick<Item>(items: readonly Item[], n: number, newest = 8): Item | undefined {
  return items.length === 0 ? undefined : items.at(-1 - (n % Math.min(items.length, newest)));
}

export const memoryAt = (side: Side, n: number): string =>
  (n % 20 === 0 ? undefined : pick(side.memories, n)) ?? NO_MEMORY;

export const envelopeAt = (side: Side, n: number): string =>
  (n % 20 === 0 ? undefined : pick(side.envelopes, n)) ?? NO_ENVELOPE;

export const agentOf = (side: Side, who: string): Agent | undefined => side.agents.get(who);

export const step = <Args>(
  title: string,
  args: fc.Arbitrary<Args>,
  run: (side: Side, args: Args) => Promise<unknown>,
): fc.Arbitrary<Step> =>
  args.map((chosen) => ({
    title: `${title} ${JSON.stringify(chosen)}`,
    parts: [(side) => run(side, chosen)],
  }));

/** Combines parts that belong together: random runs would rarely get far without them. */
export const inParts = <Args>(
  title: string,
  args: fc.Arbitrary<Args>,
  parts: readonly ((side: Side, args: Args) => Promise<unknown>)[],
): fc.Arbitrary<Step> =>
  args.map((chosen) => ({
    title: `${title} ${JSON.stringify(chosen)}`,
    parts: parts.map((part) => (side: Side) => part(side, chosen)),
  }));

/** A write in two parts: reading what it needs, and the write itself, submitted at once. */
export interface Write {
  readonly title: string;
  prepare(side: Side): Promise<() => Promise<unknown>>;
}

export const write = <Args>(
  title: string,
  args: fc.Arbitrary<Args>,
  prepare: (side: Side, args: Args) => Promise<() => Promise<unknown>>,
): fc.Arbitrary<Write> =>
  args.map((chosen) => ({
    title: `${title} ${JSON.stringify(chosen)}`,
    prepare: (side) => prepare(side, chosen),
  }));

export const alone = (arbitrary: fc.Arbitrary<Write>): fc.Arbitrary<Step> =>
  arbitrary.map(({ title, prepare }) => ({
    title,
    past: true,
    parts: [async (side) => (await prepare(side))()],
  }));

export const idle = async () => NOTHING;

/** Creates a record as the hub would write it, with its effect on the delivery. */
export function recordOf(
  side: Side,
  { delivery }: DeliveryWithEnvelopeRow,
  { verb, data }: { verb?: DeliveryStep["verb"]; data?: Record<string, unknown> },
): NewMemory {
  const { holder, receiver, instance, id, attempt, task } = delivery;
  const trail = verb === undefined ? [] : [{ attempt, delivery: id, verb }];
  return writeRecord(
    { agent: holder || receiver, instance: instance || "guess" },
    { content: verb ?? "a note", task, ...(data && { data }) },
    {
      ids: side.ids,
      now: side.clock.now(),
      limits: LIMITS,
      branch: MAIN_BRANCH,
      hallmark: { trail },
    },
  ).record;
}
