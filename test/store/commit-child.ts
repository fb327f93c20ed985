/**
 * A process with a limit on file sizes (set by its parent): writes groups of records until a commit
 * fails, and reports which were acknowledged and how the others were refused.
 */
import { BatonError } from "../../src/base/errors.ts";
import { openHub } from "../../src/index.ts";
import { sayLine } from "../support/child.ts";

const GROUP = 10;
const MOST_GROUPS = 500;

const hub = await openHub(`sqlite:${process.argv[2]}`);
const agent = await hub.agent("ada", { role: "writer" });

for (let group = 0, failed = false; !failed && group < MOST_GROUPS; group++) {
  const writes = Array.from({ length: GROUP }, (_, n) =>
    agent.remember({ content: `group ${group}, record ${n}` }),
  );
  const outcomes = await Promise.allSettled(writes);
  failed = outcomes.some((outcome) => outcome.status === "rejected");
  sayLine({
    acknowledged: outcomes.flatMap((each) => (each.status === "fulfilled" ? each.value.id : [])),
    refused: outcomes.flatMap((each) => (each.status === "rejected" ? errorOf(each.reason) : [])),
  });
}
sayLine({ readable: (await agent.memories.recent({ limit: 1_000 })).items.length });
process.exit(0);

function errorOf(error: unknown): { code: string; retryable: boolean } {
  if (error instanceof BatonError) return { code: error.code, retryable: error.retryable };
  throw error;
}
