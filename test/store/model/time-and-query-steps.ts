/** Steps that advance the clock, reopen the store, and query through the hub. */
import fc from "fast-check";
import type { DeliveryWithEnvelope } from "../../../src/index.ts";
import { queryOf } from "../../../src/search/query.ts";
import { EFFORT } from "../../../src/search/rank.ts";
import { WEIGHTS as RANKING_WEIGHTS } from "../../../src/search/weights.ts";
import { publicVisibility } from "../../../src/store/visibility.ts";
import { plain } from "./dump.ts";
import { keep } from "./handoff-steps.ts";
import { BRANCH, LIMITS, NAMES, type Side, WORKSPACE } from "./side.ts";
import {
  agentOf,
  inParts,
  memoryAt,
  NOTHING,
  number,
  pick,
  rarely,
  receiver,
  step,
  TAGS,
  TASKS,
  TYPES,
  task,
  words,
} from "./step.ts";

// Time

export const advance = step(
  "let time pass",
  fc.oneof(
    fc.integer({ min: 1, max: 10 }),
    fc.integer({ min: 500, max: 4_000 }),
    fc.constantFrom(31_000, LIMITS.leaseMs - 1, LIMITS.leaseMs, -1_000),
  ),
  async (side, ms) => side.clock.advance(ms),
);

export const fallSilent = inParts("fall silent", number, [
  async (side) => side.clock.advance(LIMITS.leaseMs),
  async (side, n) => {
    const delivery = pick(side.works, n, 3)?.id;
    const found = delivery && (await side.store.findDelivery(WORKSPACE, delivery));
    if (!found) return NOTHING;
    return keep(side, await agentOf(side, found.delivery.receiver)?.accept({ delivery }));
  },
]);

export const reopen = step("reopen", fc.constant(0), async (side) => side.reopen());

// Queries

export const recent = step(
  "recent",
  fc.record({
    agent: rarely(receiver),
    task: rarely(task),
    tag: rarely(fc.constantFrom(...TAGS)),
    type: rarely(fc.constantFrom(...TYPES)),
    session: rarely(fc.constantFrom("ada-1", "ben-1", "s")),
    before: rarely(fc.integer({ min: 1, max: 50 })),
    limit: fc.constantFrom(1, 3, 100),
  }),
  async (side, query) =>
    agentOf(side, "ada")?.memories.recent(
      Object.fromEntries(Object.entries(query).filter(([, value]) => value !== undefined)),
    ),
);

export const relations = step(
  "relations",
  fc.record({
    memory: number,
    direction: fc.constantFrom("in" as const, "out" as const),
    at: rarely(fc.nat(110)),
    limit: fc.constantFrom(1, 100),
  }),
  async (side, { memory, at, ...query }) =>
    agentOf(side, "ada")?.memories.relations(memoryAt(side, memory), {
      ...query,
      ...(at === undefined ? {} : { at }),
    }),
);

export const search = step(
  "search",
  fc.record({ text: words, limit: fc.constantFrom(2, 100) }),
  async (side, { text, limit }) => {
    const { hits, more } = await side.store.search({
      ...{ workspace: WORKSPACE, sight: publicVisibility(BRANCH), filter: {}, limit },
      ranking: {
        ...{
          query: queryOf(text),
          weights: RANKING_WEIGHTS,
          effort: EFFORT,
          now: side.clock.now(),
        },
        ...{ graph: { depth: 2, visits: 20 }, superseded: "marked" as const },
      },
    });
    return {
      more,
      hits: hits.map(({ row, score, pos: _, ...hit }) => [plain(row), score.toFixed(9), hit]),
    };
  },
);

export const ask = step(
  "ask",
  fc.record({
    what: fc.constantFrom(
      ...["line", "attempts", "waiting", "events", "agents", "processes"],
      ...["dead", "questions", "breakers"],
    ),
    n: number,
  }),
  async (side, { what, n }) => {
    switch (what) {
      case "line":
        return side.hub.tasks.line(TASKS[n % TASKS.length] as string);
      case "attempts":
        return side.hub.deliveries.attempts(pick(side.deliveries, n) ?? "dlv_none");
      case "waiting":
        return withoutLeases(
          await pagesOf(side, NAMES[n % NAMES.length] as string, {
            limit: 1 + (n % 4),
            ...(n % 5 === 0 ? { task: TASKS[0] as string } : {}),
          }),
        );
      case "events":
        return side.hub.events.list({ after: n % 30, limit: 5 });
      case "dead":
        return side.hub.deadLetters.list();
      case "questions":
        return agentOf(side, NAMES[n % NAMES.length] as string)?.questions.list();
      case "breakers":
        return side.hub.agents.breakers();
      case "processes":
        return [...(await side.store.listProcesses(WORKSPACE))].sort();
      default:
        return side.hub.agents.list();
    }
  },
);

/** Returns all waiting deliveries, page by page. */
async function pagesOf(side: Side, who: string, query: { limit: number; task?: string }) {
  const pages: (readonly DeliveryWithEnvelope[])[] = [];
  for (let after: string | undefined; ; ) {
    const page = await agentOf(side, who)?.deliveries.waiting({ ...query, after });
    pages.push(page?.items ?? []);
    if (page?.next === undefined) return pages;
    after = page.next;
  }
}

/**
 * Removes lease times: a call renews its session's leases concurrently, so that answers may differ.
 */
export const withoutLeases = (answer: unknown): unknown =>
  JSON.parse(JSON.stringify(answer, (key, value) => (key === "leaseUntil" ? undefined : value)));
