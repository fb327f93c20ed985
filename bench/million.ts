/**
 * Measures a store with a long history: commit latency with a million records, and the time to open
 * the store compared with an empty one.
 */
import { openHub } from "../src/index.ts";
import { callersLoop, type Folder, median, quantile } from "./kit.ts";

export interface Million {
  readonly records: number;
  /** Milliseconds from call to acknowledgement with 64 callers, once the store is filled. */
  readonly commitP50: number;
  readonly commitP99: number;
  readonly commitMax: number;
  readonly openFullMs: number;
  readonly openEmptyMs: number;
}

const BATCH = 500;
const MEASURED = 40_000;
const OPENS = 9;

export async function million(folder: Folder, records: number): Promise<Million> {
  const full = `sqlite:${folder.file("full.db")}`;
  const latencies: number[] = [];
  {
    await using hub = await openHub(full);
    const agent = await hub.agent("writer", { role: "writer" });
    const fill = Math.max(0, records - MEASURED);
    await callersLoop(4, Math.ceil(fill / BATCH), async (n) => {
      await agent.remember(Array.from({ length: BATCH }, (_, i) => record(n * BATCH + i)));
    });
    await callersLoop(64, Math.min(records, MEASURED), async (n) => {
      const start = performance.now();
      await agent.remember(record(n));
      latencies.push(performance.now() - start);
    });
  }
  const empty = `sqlite:${folder.file("empty.db")}`;
  await (await openHub(empty)).close();
  const opens = { full: [] as number[], empty: [] as number[] };
  for (let i = 0; i < OPENS; i++) {
    opens.full.push(await openMs(full));
    opens.empty.push(await openMs(empty));
  }
  return {
    records,
    commitP50: quantile(latencies, 0.5),
    commitP99: quantile(latencies, 0.99),
    commitMax: Math.max(...latencies),
    openFullMs: median(opens.full),
    openEmptyMs: median(opens.empty),
  };
}

const record = (n: number) => ({
  type: "fact",
  task: `task-${n % 1000}`,
  content: `Finding ${n}: `.padEnd(300, "the lease of the delivery is renewed by every call "),
});

/** Opens a store and reads from it, since opening alone could defer work. Returns milliseconds. */
async function openMs(address: string): Promise<number> {
  const start = performance.now();
  const hub = await openHub(address);
  await hub.memories.recent({ limit: 1 });
  const elapsed = performance.now() - start;
  await hub.close();
  return elapsed;
}
