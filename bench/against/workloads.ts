/** The workloads that compare two commits: append, the handoff cycle, and delivery latency. */
import { appends } from "../append.ts";
import { cycles, fusedCycles } from "../cycle.ts";
import { type Folder, median, type OpenHub } from "../kit.ts";

export interface Workload {
  /** Operations per run, to compute the CPU time of each. */
  readonly operations: number;
  run(openHub: OpenHub, folder: Folder): Promise<{ readonly micros: number }>;
}

export const WORKLOADS = {
  append: {
    operations: 30_000,
    run: async (openHub, folder) => ({
      micros: 1e6 / (await appends(openHub, folder, 30_000)).acknowledged,
    }),
  },
  cycle: {
    operations: 4_000,
    run: async (openHub, folder) => ({ micros: 1e6 / (await cycles(openHub, folder, 4_000)) }),
  },
  fused: {
    operations: 4_000,
    run: async (openHub, folder) => ({ micros: 1e6 / (await fusedCycles(openHub, folder, 4_000)) }),
  },
  delivery: { operations: 1_000, run: deliveries },
} as const satisfies Record<string, Workload>;

/** Measures from the handoff call until a waiting receiver has accepted, one at a time. */
async function deliveries(openHub: OpenHub, folder: Folder): Promise<{ micros: number }> {
  await using hub = await openHub(`sqlite:${folder.file("hub.db")}`);
  const planner = await hub.agent("planner", { role: "planner" });
  const coder = await hub.agent("coder", { role: "coder" });
  const times: number[] = [];
  for (let n = 0; n < WORKLOADS.delivery.operations; n++) {
    const accepted = coder.accept({ wait: true });
    const start = performance.now();
    await planner.handoff({ to: "coder", task: `task-${n}`, intent: `Fix login ${n}` });
    const work = await accepted;
    times.push(performance.now() - start);
    await work?.complete({ summary: "done" });
  }
  return { micros: median(times) * 1_000 };
}
