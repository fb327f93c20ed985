/**
 * A process that is killed while it redacts leaves every batch whole or not begun: what is redacted
 * is vouched for, what is not is as it was, and calling again goes on with what is left.
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
/** How often a child says that it got on before it is killed, at most, and the delay of the kill. */
const BATCHES = 3;
const INTO_MS = 4;
/** How often it may get on after that until it stops. */
const MORE = 1;
/** Records that are redacted each time, at most. */
const AT_ONCE = 100;
/** More than all of them can redact. */
const RECORDS = (KILLS * (BATCHES + MORE) + 1) * AT_ONCE;
const seed = chosenSeed();

it(`of a redaction that is killed every batch is whole or not begun (BATON_SEED=${seed}) [MEM-18]`, async () => {
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
  const heard = Promise.withResolvers<void>();
  let left = batches;
  const child = startChild(
    new URL("./kill-redact-child.ts", import.meta.url),
    [address, SECRET, String(batches + MORE)],
    () => {
      if (--left === 0) heard.resolve();
    },
  );
  await Promise.race([heard.promise, child.ended]);
  await sleep(ms);
  child.kill();
  const { signal, stderr } = await child.ended;
  expect(signal, stderr).toBe("SIGKILL");
}

/** How many are redacted; each is, with a record that vouches for it, or it is as it was written. */
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
