/**
 * Kills processes while they import, export, back up or restore. Each operation must take effect
 * completely or not at all, and what existed before must stay unchanged.
 */
import { randomUUID } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { type Hub, openHub, restore } from "../../src/index.ts";
import { startChild } from "../support/child.ts";
import { freshAddress, open, sha256, tempFolder } from "../support/hub/support.ts";
import { chosenSeed, randomFrom } from "../support/random.ts";
import { fillWorkspace } from "../support/random-workspace.ts";
import { runs } from "../support/runs.ts";
import { serverIsDone, withConnectionName } from "./server-done.ts";

const ROUNDS = runs(2);
const CHILD = new URL("./keeping-child.ts", import.meta.url);
/** Enough records that a kill can hit the operation while it runs. */
const MANY = 1_000;
/** On PostgreSQL each record takes a few round trips to verify. */
const MANY_ON = { sqlite: MANY, postgres: 200 } as const;

/** Returns a hash of everything in a workspace, so that a difference is short to print. */
const linesOf = async (hub: Hub): Promise<string> =>
  sha256((await Array.fromAsync(hub.archive.export())).slice(1, -1).join(""));

const NOTHING = sha256("");

/** Creates a store with many records, its export and its backup. */
async function source(many: number = MANY) {
  const folder = tempFolder();
  const address = freshAddress("sqlite");
  {
    await using filling = await openHub(address); // Holders renew leases until it closes.
    await fillWorkspace(filling, randomFrom(11), 30);
    const eve = await filling.agent("eve", {});
    const some = Array.from({ length: 100 }, (_, n) => ({ content: `${n} ${"x".repeat(500)}` }));
    for (let n = 0; n < many; n += some.length) await eve.remember(some);
  }
  const hub = await open(address);
  const [file, backup] = [join(folder, "team.jsonl"), join(folder, "hub.backup")];
  await hub.archive.exportTo(file);
  await hub.archive.backup(backup);
  return { hub, address, folder, file, backup, text: await linesOf(hub) };
}

/**
 * Runs the child to its end, or kills it this long after it started. Returns whether it finished.
 */
async function run(
  args: readonly string[],
  killAfterMs?: number,
): Promise<{ ms: number; done: boolean }> {
  let begun: (at: number) => void = () => {};
  const began = new Promise<number>((resolve) => {
    begun = resolve;
  });
  let done = false;
  const child = startChild(CHILD, args, (line) => {
    if (line === '"begun"') begun(performance.now());
    if (line === '"done"') done = true;
  });
  const at = await Promise.race([began, child.ended.then(() => 0)]);
  if (killAfterMs !== undefined) {
    await sleep(killAfterMs);
    child.kill();
  }
  const { code, stderr } = await child.ended;
  if (killAfterMs === undefined) expect(code, stderr).toBe(0);
  else expect([0, null], stderr).toContain(code); // Finished or killed.
  return { ms: performance.now() - at, done };
}

/** Runs the operation once to its end, then kills it at random times within that duration. */
async function killOften(
  prepare: (round: string) => Promise<readonly string[]>,
  check: (args: readonly string[], done: boolean) => Promise<void>,
): Promise<void> {
  const seed = chosenSeed();
  const random = randomFrom(seed);
  const first = await prepare("whole");
  const { ms } = await run(first);
  await check(first, true);
  for (let round = 0; round < ROUNDS; round++) {
    const args = await prepare(String(round));
    const after = random.next() * ms;
    const { done } = await run(args, after);
    try {
      await check(args, done);
    } catch (error) {
      throw new Error(`BATON_SEED=${seed}, killed after ${after} ms`, { cause: error });
    }
  }
}

describe("an archive operation that is killed", () => {
  it.each(["sqlite", "postgres"] as const)(
    "imports everything or nothing into %s [MEM-17]",
    async (store) => {
      const { file, text } = await source(MANY_ON[store]);
      await killOften(
        async () => ["import", withConnectionName(freshAddress(store), randomUUID()), file],
        async ([, address = ""], done) => {
          await serverIsDone(address);
          await using target = await openHub(address);
          const kept = await linesOf(target);
          expect([NOTHING, text]).toContain(kept);
          if (done) expect(kept).toBe(text);
          expect((await target.verify()).problems).toEqual([]);
          expect((await target.archive.import(file)).kind).toBe(
            kept === NOTHING ? "imported" : "already_there",
          );
        },
      );
    },
    120_000,
  );

  it("leaves a complete export or backup file, or none [MEM-17]", async () => {
    const { hub, address, folder, text } = await source();
    await killOften(
      async (round) => ["export", address, join(folder, `${round}.jsonl`)],
      async ([, , file = ""], done) => {
        if (done) expect(existsSync(file)).toBe(true);
        if (!existsSync(file)) return;
        await using target = await openHub("memory:");
        await target.archive.import(file);
        expect(await linesOf(target)).toBe(text);
      },
    );
    await killOften(
      async (round) => ["backup", address, join(folder, `${round}.backup`)],
      async ([, , file = ""], done) => {
        if (done) expect(existsSync(file)).toBe(true);
        if (!existsSync(file)) return;
        const target = `${file}.db`;
        await restore(file, `sqlite:${target}`);
        await using restored = await openHub(`sqlite:${target}`);
        expect(await linesOf(restored)).toBe(text);
      },
    );
    expect((await hub.verify()).problems).toEqual([]);
  }, 120_000);

  it("leaves the old store or the restored one [MEM-17]", async () => {
    const { folder, backup, text } = await source();
    const old = await open(freshAddress("sqlite"));
    await (await old.agent("old", {})).remember({ content: "was here before" });
    const before = await linesOf(old);
    const oldBackup = join(folder, "old.backup");
    await old.archive.backup(oldBackup);
    await killOften(
      async (round) => {
        const target = `sqlite:${join(folder, `${round}.db`)}`;
        await restore(oldBackup, target);
        return ["restore", target, backup];
      },
      async ([, address = ""], done) => {
        await using target = await openHub(address, { create: false });
        const kept = await linesOf(target);
        expect([before, text]).toContain(kept);
        if (done) expect(kept).toBe(text);
        expect((await target.verify()).problems).toEqual([]);
      },
    );
  }, 120_000);
});

it("refuses an export file that is damaged at any place, and leaves the store unchanged [MEM-17]", async () => {
  const { folder, file } = await source();
  const whole = readFileSync(file);
  const seed = chosenSeed();
  const random = randomFrom(seed);
  const torn = join(folder, "torn.jsonl");
  const target = await open(freshAddress("sqlite"));
  for (let n = 0; n < 10; n++) {
    const [from, to] = [random.below(whole.length), random.below(whole.length)].toSorted(
      (a, b) => a - b,
    );
    // A piece is missing or filled with zeros, as after a power failure.
    const piece = random.chance(0.5) ? Buffer.alloc(0) : Buffer.alloc((to ?? 0) - (from ?? 0) + 1);
    writeFileSync(
      torn,
      Buffer.concat([whole.subarray(0, from), piece, whole.subarray((to ?? 0) + 1)]),
    );
    await expect(
      target.archive.import(torn),
      `BATON_SEED=${seed}, ${from}-${to}`,
    ).rejects.toMatchObject({
      code: "invalid_export",
    });
    expect(await linesOf(target)).toBe(NOTHING);
  }
});
