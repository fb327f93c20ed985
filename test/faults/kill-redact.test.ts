/**
 * Kills a process while it redacts. Each batch must be applied completely or not at all: a redacted
 * record is named by a redaction record, any other is unchanged, and a repeated call continues with
 * the rest.
 */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { openHub } from "../../src/index.ts";
import { startChild } from "../support/child.ts";
import { chosenSeed, randomFrom } from "../support/random.ts";
import { runs } from "../support/runs.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const SECRET = "sk-live-0123456789";
const KILLS = runs(3);
/**
 * Maximum number of batches that a child reports before the kill, and maximum delay of the kill.
 */
const BATCHES = 3;
const INTO_MS = 4;
/** Number of batches that the child may finish after that before it blocks. */
const MORE = 1;
/** Maximum number of records per batch. */
const AT_ONCE = 100;
/** More records than all killed children together can redact. */
const RECORDS = (KILLS * (BATCHES + MORE) + 1) * AT_ONCE;
const seed = chosenSeed();

it(`applies each batch of a killed redaction completely or not at all (BATON_SEED=${seed}) [MEM-18]`, async () => {
  const random = randomFrom(seed);
  using folder = temporaryFolder();
  const address = `sqlite:${folder.file("hub.db")}`;
  const memories = await writeRecords(address);
  const seen: number[] = [];
  for (let n = 0; n < KILLS; n++) {
    await killAfter(address, { batches: 1 + random.below(BATCHES), ms: random.below(INTO_MS) });
    seen.push(await redactedOf(address, memories));
  }
  expect(seen, "each got further, and nothing comes back").toEqual(
    [...new Set(seen)].toSorted((a, b) => a - b),
  );
  await using hub = await openHub(address);
  const ada = await hub.agent("ada");
  const report = await ada.memories.redact({ text: SECRET }, "leaked");
  expect(report.erased).toHaveLength(RECORDS - (seen.at(-1) ?? 0));
  expect((await hub.verify()).problems).toEqual([]);
  const files = readdirSync(dirname(folder.file("hub.db")), {
    recursive: true,
    withFileTypes: true,
  });
  for (const file of files.filter((each) => each.isFile())) {
    const bytes = readFileSync(join(file.parentPath, file.name));
    expect(bytes.includes(SECRET), file.name).toBe(false);
  }
}, 120_000);

async function writeRecords(address: string): Promise<Map<string, string>> {
  await using hub = await openHub(address);
  const ada = await hub.agent("ada", {});
  const all = new Map<string, string>();
  for (let n = 0; n < RECORDS; n += AT_ONCE) {
    const some = Array.from({ length: AT_ONCE }, (_, i) => ({ content: `${n + i} ${SECRET}` }));
    for (const { id, content } of await ada.remember(some)) all.set(id, content);
  }
  return all;
}

async function killAfter(
  address: string,
  { batches, ms }: { readonly batches: number; readonly ms: number },
): Promise<void> {
  const enoughBatches = Promise.withResolvers<void>();
  let left = batches;
  const child = startChild(
    new URL("./kill-redact-child.ts", import.meta.url),
    [address, SECRET, String(batches + MORE)],
    () => {
      if (--left === 0) enoughBatches.resolve();
    },
  );
  await Promise.race([enoughBatches.promise, child.ended]);
  await sleep(ms);
  child.kill();
  const { signal, stderr } = await child.ended;
  expect(signal, stderr).toBe("SIGKILL");
}

/** Returns how many are redacted. Each must be unchanged, or be named by a redaction record. */
async function redactedOf(address: string, memories: Map<string, string>): Promise<number> {
  await using hub = await openHub(address);
  expect((await hub.verify()).problems).toEqual([]);
  let redacted = 0;
  for (const [id, content] of memories) {
    const memory = await hub.memories.read(id);
    if (memory.redacted === undefined) {
      expect(memory.content).toBe(content);
      continue;
    }
    redacted++;
    const { redacts = [] } = await hub.memories.read(memory.redacted.record);
    expect(redacts.map((each) => each.id)).toContain(id);
  }
  return redacted;
}
