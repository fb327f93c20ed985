/** Measures appends of 300 B by 64 callers, through the public interface with all features on. */
import { setTimeout as sleep } from "node:timers/promises";
import { callersLoop, type Folder, type OpenHub } from "./kit.ts";

export interface AppendRates {
  /** Per second until the last acknowledgement: every record is durable and can be found. */
  readonly acknowledged: number;
  /** Per second until the index has caught up as well. */
  readonly sustained: number;
  /** How far the index was behind at the last acknowledgement, and how long it took to catch up. */
  readonly lagRecords: number;
  readonly lagMs: number;
}

export async function appends(
  openHub: OpenHub,
  folder: Folder,
  records: number,
): Promise<AppendRates> {
  await using hub = await openHub(`sqlite:${folder.file("hub.db")}`);
  const agent = await hub.agent("writer", { role: "writer" });
  const start = performance.now();
  await callersLoop(64, records, (n) =>
    agent.remember({
      type: "fact",
      task: `task-${n % 50}`,
      content: CONTENTS[n % CONTENTS.length] as string,
    }),
  );
  const acknowledgedMs = performance.now() - start;
  const { records: stored, indexed } = await hub.index.state();
  while ((await hub.index.state()).indexed < stored - TAIL) await sleep(2);
  const sustainedMs = performance.now() - start;
  return {
    acknowledged: (records / acknowledgedMs) * 1000,
    sustained: (records / sustainedMs) * 1000,
    lagRecords: stored - indexed,
    lagMs: sustainedMs - acknowledgedMs,
  };
}

/** The index is not filled for fewer records than this; queries scan the short tail instead. */
const TAIL = 512;

const WORDS =
  "token auth retry queue index lease fence chain record digest agent handoff budget memory search window limit error merge branch".split(
    " ",
  );

/** Returns 300 B of text with varying words. */
function contentOf(n: number): string {
  let text = `Finding ${n}:`;
  for (let i = 0; text.length < 292; i++) text += ` ${WORDS[(n * 7 + i * i) % WORDS.length]}`;
  return text.padEnd(300, ".").slice(0, 300);
}

/** Generated in advance, so that only the appends are measured. */
const CONTENTS = Array.from({ length: 2_000 }, (_, n) => contentOf(n));
