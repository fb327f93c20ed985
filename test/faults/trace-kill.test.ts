/**
 * Kills processes that write or prune traces: acknowledged steps must be stored, and the store must
 * verify.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it, onTestFinished } from "vitest";
import { openHub } from "../../src/index.ts";
import { startChild } from "../support/child.ts";
import { testSchema } from "../support/postgres/schema.ts";
import { chosenSeed, randomFrom } from "../support/random.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const STORES = ["sqlite", "postgres"] as const;
const seed = chosenSeed();
const random = randomFrom(seed);
const CHILD = new URL("./trace-child.ts", import.meta.url);

interface Fact {
  readonly kind: "stored" | "pruned" | "under-way";
  readonly id: string;
  readonly seq: number;
  readonly link: string;
  readonly session: string;
}

function freshAddress(store: "sqlite" | "postgres"): string {
  if (store === "sqlite") {
    const folder = temporaryFolder();
    onTestFinished(() => folder[Symbol.dispose]());
    return `sqlite:${folder.file("hub.db")}`;
  }
  const schema = testSchema();
  onTestFinished(() => schema[Symbol.asyncDispose]());
  return schema.address;
}

/** Runs the child until it has reported `most` facts of a kind, waits a little, and kills it. */
async function runAndKill(
  args: readonly string[],
  kind: Fact["kind"],
  most: number,
): Promise<Fact[]> {
  const facts: Fact[] = [];
  let count = 0;
  const enough = Promise.withResolvers<void>();
  const child = startChild(CHILD, args, (line) => {
    const fact = JSON.parse(line) as Fact;
    facts.push(fact);
    if (fact.kind === kind && ++count === most) enough.resolve();
  });
  await Promise.race([enough.promise, child.ended]);
  await sleep(random.below(20));
  child.kill();
  const { signal, stderr } = await child.ended;
  expect(signal, stderr).toBe("SIGKILL");
  return facts;
}

describe.each(STORES)(`a process killed while tracing on %s (BATON_SEED=${seed})`, (store) => {
  it("leaves every acknowledged step in its place, and a chain without gaps [MEM-12]", async () => {
    const address = freshAddress(store);
    const facts = await runAndKill([address, ""], "stored", 500);
    await using hub = await openHub(address);
    const stored = facts.filter(({ kind }) => kind === "stored");
    expect(stored.length).toBeGreaterThanOrEqual(500);
    for (const { id, seq, link } of stored)
      expect(await hub.memories.read(id)).toMatchObject({ seq, link });
    const { problems, memories } = await hub.verify();
    expect(problems).toEqual([]);
    const [session] = (await hub.traces.sessions()).items;
    // All but the audit records of the two agents.
    expect(session).toMatchObject({ steps: memories - 2, pruned: 0 });
  });

  it("leaves a store that verifies, even in the middle of pruning [MEM-18]", async () => {
    const address = freshAddress(store);
    {
      await using hub = await openHub(address);
      await hub.settings.update({ retention: { traces: { days: 0 } } });
    }
    for (let round = 0; round < 3; round++) {
      const facts = await runAndKill([address, "prunes"], "stored", 450 + 100 * round);
      await using hub = await openHub(address);
      expect((await hub.verify()).problems, `round ${round}`).toEqual([]);
      const { session } = facts[0] as Fact;
      const last = facts.findLast(({ kind }) => kind === "stored") as Fact;
      const { steps, pruned } = (await hub.traces.sessions()).items.find(
        (each) => each.session === session,
      ) ?? { steps: 0, pruned: 0 };
      expect(pruned + steps).toBeGreaterThanOrEqual(last.seq);
      expect(pruned).toBeGreaterThanOrEqual(400);
    }
  });
});
