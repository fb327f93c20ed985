/** Steps that agents take through the hub: registering, remembering and pinning. */
import fc from "fast-check";
import type { MemoryInput } from "../../../src/index.ts";
import { RELATION_KINDS } from "../../../src/memory/record.ts";
import { type Side, sessionOf } from "./side.ts";
import {
  agentOf,
  idle,
  KEYS,
  memoryAt,
  NOTHING,
  name,
  number,
  onceIn,
  pick,
  rarely,
  receiver,
  step,
  TAGS,
  TYPES,
  task,
  words,
  write,
} from "./step.ts";

// Agents

export const register = step(
  "register",
  fc.record({
    who: name,
    role: rarely(fc.constantFrom("planner", "coder")),
    alias: rarely(fc.constantFrom("ada", "x", "y")),
    status: rarely(fc.constantFrom("active" as const, "paused" as const, "disabled" as const)),
    key: onceIn(10, fc.constantFrom(0, 1)),
  }),
  async (side, { who, role, alias, status, key }) => {
    const profile = {
      ...(role && { role }),
      ...(alias && { aliases: [alias] }),
      ...(status && { status }),
      ...(key === undefined ? {} : { key: KEYS[key] as string }),
    };
    const agent = await side.hub.agent(who, profile, sessionOf(who));
    side.agents.set(who, agent);
    return { id: agent.id, instance: agent.instance, info: agent.info };
  },
);

export const enable = step("enable", name, async (side, who) => {
  const agent = await side.hub.agent(who, { status: "active" }, sessionOf(who));
  return agent.info;
});

export const openAgent = step("open agent", receiver, async (side, who) => {
  const agent = await side.hub.agent(who);
  side.agents.set(agent.id, agent);
  return { id: agent.id, instance: agent.instance, info: agent.info };
});

// Memories

export const memory = fc.record({
  content: words,
  type: fc.constantFrom(...TYPES),
  task: onceIn(2, task),
  tag: rarely(fc.constantFrom(...TAGS)),
  ref: rarely(number),
  relation: rarely(
    fc.record({ kind: fc.constantFrom(...RELATION_KINDS), to: number, from: rarely(fc.nat(100)) }),
  ),
  /** The id of an existing record: a retry, or a mistake. */
  again: onceIn(12, number),
});

type MemoryChoice = typeof memory extends fc.Arbitrary<infer Choice> ? Choice : never;

export function inputOf(side: Side, choice: MemoryChoice): MemoryInput {
  const { content, type, tag, ref, relation, again } = choice;
  const id = again === undefined ? undefined : pick(side.memories, again);
  return {
    content,
    type,
    ...(choice.task && { task: choice.task }),
    ...(tag && { tags: [tag] }),
    ...(ref === undefined ? {} : { refs: [memoryAt(side, ref)] }),
    ...(relation && {
      relations: [
        {
          kind: relation.kind,
          to: memoryAt(side, relation.to),
          ...(relation.from === undefined ? {} : { from: relation.from, until: 100 }),
        },
      ],
    }),
    ...(id && { id }),
  };
}

export const rememberOne = (of: typeof memory) =>
  write("remember", fc.record({ by: name, memory: of }), async (side, choice) => {
    const agent = agentOf(side, choice.by);
    const input = inputOf(side, choice.memory);
    if (agent === undefined) return idle;
    return async () => {
      const written = await agent.remember(input);
      side.memories.push(written.id);
      return written;
    };
  });

export const rememberSome = (of: typeof memory) =>
  write(
    "remember many",
    fc.record({ by: name, memories: fc.array(of, { minLength: 2, maxLength: 4 }) }),
    async (side, { by, memories }) => {
      const agent = agentOf(side, by);
      const inputs = memories.map((each) => inputOf(side, each));
      if (agent === undefined) return idle;
      return async () => {
        const written = await agent.remember(inputs);
        side.memories.push(...written.map((each) => each.id));
        return written;
      };
    },
  );

export const [remember, rememberMany] = [rememberOne(memory), rememberSome(memory)];

/**
 * Removes references, which are checked before the write: how long that takes would decide the
 * order of the writes.
 */
const withoutCiting = (choice: MemoryChoice): MemoryChoice => ({
  ...choice,
  ref: undefined,
  relation: undefined,
});

export const plainMemory = memory.map(withoutCiting) as typeof memory;

export const pin = step(
  "pin",
  fc.record({ by: name, memory: number, off: fc.boolean() }),
  async (side, { by, memory, off }) => {
    const agent = agentOf(side, by);
    if (off) await agent?.memories.unpin(memoryAt(side, memory));
    else await agent?.memories.pin(memoryAt(side, memory));
    return agent?.memories.pins() ?? NOTHING;
  },
);
