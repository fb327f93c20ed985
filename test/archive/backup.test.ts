/** Backups: taken during writes, verified, and restored whole or not at all. */
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import { type Hub, restore } from "../../src/index.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";
import {
  breakIn,
  freshAddress,
  open,
  openFresh,
  refusal,
  tempFolder,
} from "../support/hub/support.ts";
import { present } from "../support/present.ts";
import { chosenSeed, randomFrom } from "../support/random.ts";
import { fillWorkspace } from "../support/random-workspace.ts";
import { until } from "../support/until.ts";

const fileOf = (address: string): string => address.slice("sqlite:".length);

const exported = async (hub: Hub): Promise<string> =>
  (await Array.fromAsync(hub.archive.export())).slice(1, -1).join("");

/** Creates a store with two workspaces and its backup. Returns them with a path to restore to. */
async function backedUp() {
  const clock = new VirtualClock();
  const address = freshAddress("sqlite");
  const hub = await open(address, { clock });
  await fillWorkspace(hub, randomFrom(3), 40);
  const other = await open(address, { clock, workspace: "other" });
  await (await other.agent("zoe", {})).remember({ content: "apart" });
  const folder = tempFolder();
  const backup = join(folder, "hub.backup");
  const report = await hub.archive.backup(backup);
  return {
    clock,
    hub,
    other,
    address,
    folder,
    backup,
    report,
    target: join(folder, "new", "hub.db"),
  };
}

/** Opens and verifies a store, and returns its content as text. */
async function contentsOf(file: string, workspace = "default"): Promise<string> {
  // With a clock of its own the hub carries out nothing that is due.
  const hub = await open(`sqlite:${file}`, { workspace, clock: new VirtualClock() });
  expect((await hub.verify()).problems).toEqual([]);
  const text = await exported(hub);
  await hub.close();
  return text;
}

describe("a backup", () => {
  it("contains every workspace of the store and reports what it verified [MEM-17]", async () => {
    const { hub, other, backup, report, folder, target } = await backedUp();
    expect(report).toMatchObject({
      ...{ kind: "store", file: backup, sha256: expect.stringMatching(/^[0-9a-f]{64}$/) },
      workspaces: [
        { workspace: "default", agents: 5 },
        { workspace: "other", memories: 3 },
      ],
    });
    expect(readdirSync(folder)).toEqual(["hub.backup"]);
    mkdirSync(dirname(target));
    const restored = await restore(backup, `sqlite:${target}`);
    expect(restored).toMatchObject({
      kind: "store",
      workspaces: report.kind === "store" ? report.workspaces : [],
    });
    expect(restored).not.toHaveProperty("kept");
    expect(await contentsOf(target)).toBe(await exported(hub));
    expect(await contentsOf(target, "other")).toBe(await exported(other));
  });

  it("is a consistent snapshot when taken during writes, and does not block them [MEM-17]", async () => {
    const address = freshAddress("sqlite");
    const [hub, writing] = [await open(address), await open(address)];
    const agents = await Promise.all(["ada", "ben"].map((name) => writing.agent(name, {})));
    const many = Array.from({ length: 1_000 }, (_, n) => ({
      content: `${n} ${"x".repeat(2_000)}`,
    }));
    for (let n = 0; n < 5; n++) await agents[0]?.remember(many);
    let working = true;
    let writes = 0;
    const writers = agents.map(async (agent) => {
      while (working) {
        const { id } = await agent.remember({ content: "meanwhile" });
        writes++;
        await agent.handoff({ to: agent.id, task: id, intent: "Do it" });
        writes++;
        await (await agent.accept({ task: id }))?.complete();
        writes++;
      }
    });
    const folder = tempFolder();
    let copies = 0;
    // A stalling disk can block the writers during one backup, but not during every one.
    const backup = await until("a backup during which others wrote", async () => {
      const file = join(folder, `${++copies}.backup`);
      const phases = new Set<string>();
      const before = writes;
      const report = await hub.archive.backup(file, {
        onProgress: ({ phase }) => phases.add(phase),
      });
      expect([...phases]).toEqual(["copying", "verifying"]);
      expect(report.kind).toBe("store");
      return writes > before && file;
    });
    working = false;
    await Promise.all(writers);
    const target = join(folder, "hub.db");
    await restore(backup, `sqlite:${target}`);
    const copy = await open(`sqlite:${target}`);
    expect((await copy.verify()).problems).toEqual([]);
    expect((await copy.deliveries.totals()).deliveries).toBeLessThanOrEqual(
      (await hub.deliveries.totals()).deliveries,
    );
  });

  it("does not replace a file, and is not made of a damaged store [MEM-17]", async () => {
    const { hub, address, backup, folder } = await backedUp();
    const before = readFileSync(backup);
    expect(await refusal(hub.archive.backup(backup))).toMatchObject({ code: "already_exists" });
    expect(readFileSync(backup).equals(before)).toBe(true);
    breakIn(address).exec("update memories set text = replace(text, 'plain', 'plane')");
    expect(await refusal(hub.archive.backup(join(folder, "again")))).toMatchObject({
      ...{ code: "store_corrupt", hint: expect.stringContaining("verify") },
    });
    expect(readdirSync(folder)).toEqual(["hub.backup"]);
    expect(await refusal(hub.archive.backup(join(folder, "no", "such")))).toMatchObject({
      code: "file_unusable",
    });
  });

  it("is an ordinary SQLite file in spite of its seal [MEM-17]", async () => {
    const { backup } = await backedUp();
    const db = new DatabaseSync(backup);
    expect(db.prepare("pragma integrity_check").get()).toEqual({ integrity_check: "ok" });
    db.close();
  });

  it.each(["postgres", "memory"] as const)(
    "of %s is an export that can be restored [MEM-17]",
    async (store) => {
      const hub = await openFresh(store);
      await (await hub.agent("ada", {})).remember({ content: "kept" });
      const file = join(tempFolder(), "team.jsonl");
      expect(await hub.archive.backup(file)).toMatchObject({
        ...{ kind: "workspace", workspace: "default", counts: { memory: 3 } },
      });
      const target = freshAddress("sqlite");
      expect(await restore(file, target)).toMatchObject({
        kind: "workspace",
        counts: { memory: 3 },
      });
      expect(await exported(await open(target))).toBe(await exported(hub));
    },
  );
});

describe("restoring", () => {
  it("leaves an existing store alone unless it is forced to replace it [MEM-17]", async () => {
    const { backup, folder, hub } = await backedUp();
    const target = join(folder, "hub.db");
    const there = await open(`sqlite:${target}`);
    await (await there.agent("old", {})).remember({ content: "was here before" });
    const before = await exported(there);
    await there.close();
    expect(await refusal(restore(backup, `sqlite:${target}`))).toMatchObject({
      code: "already_exists",
    });
    expect(await contentsOf(target)).toBe(before);
    const restored = await restore(backup, `sqlite:${target}`, { force: true });
    const kept = restored.kind === "store" ? present(restored.kept) : "";
    expect(kept).toContain(`${target}.before-`);
    expect(await contentsOf(kept)).toBe(before);
    expect(await contentsOf(target)).toBe(await exported(hub));
    // The index of the old store is not used for the new one.
    const found = (await (await open(`sqlite:${target}`)).memories.recent({ limit: 1_000 })).items;
    expect(found.map(({ content }) => content)).not.toContain("was here before");
  });

  it("does not replace a store that is open [MEM-17]", async () => {
    const { backup, folder } = await backedUp();
    const target = join(folder, "hub.db");
    const there = await open(`sqlite:${target}`);
    const ada = await there.agent("ada", {});
    const error = await refusal(restore(backup, `sqlite:${target}`, { force: true }));
    expect(error).toMatchObject({ code: "store_busy", hint: expect.stringContaining("Stop") });
    await ada.remember({ content: "still here" });
    await there.close();
    expect(await contentsOf(target)).toContain("still here");
    expect(readdirSync(folder).filter((name) => name.includes("partial"))).toEqual([]);
  });

  it("replaces an unreadable store and keeps its files [MEM-17]", async () => {
    const { backup, folder, hub } = await backedUp();
    const target = join(folder, "hub.db");
    writeFileSync(target, "no longer a database".repeat(100));
    writeFileSync(`${target}-wal`, "nor is this a log");
    const restored = await restore(backup, `sqlite:${target}`, { force: true });
    const kept = restored.kind === "store" ? present(restored.kept) : "";
    expect(readFileSync(kept, "utf8")).toContain("no longer a database");
    expect(readFileSync(`${kept}-wal`, "utf8")).toBe("nor is this a log");
    expect(await contentsOf(target)).toBe(await exported(hub));
  });

  it.each([false, true])(
    "moves the log of a store that is gone out of the way, with force %s [MEM-17]",
    async (force) => {
      const { backup, folder, hub } = await backedUp();
      const target = join(folder, "hub.db");
      const gone = await open(`sqlite:${join(folder, "gone.db")}`);
      await fillWorkspace(gone, randomFrom(4), 40);
      copyFileSync(join(folder, "gone.db-wal"), `${target}-wal`);
      const log = readFileSync(`${target}-wal`);
      const restored = await restore(backup, `sqlite:${target}`, { force });
      expect(restored).not.toHaveProperty("kept");
      expect(await contentsOf(target)).toBe(await exported(hub));
      const moved = readdirSync(folder).filter((name) => name.startsWith("hub.db.before-"));
      expect(moved).toEqual([expect.stringMatching(/-wal$/)]);
      expect(readFileSync(join(folder, moved[0] ?? ""))).toEqual(log);
    },
  );

  it("refuses a backup with any byte changed or missing, and changes nothing [MEM-17]", async () => {
    const { backup, folder } = await backedUp();
    const target = join(folder, "hub.db");
    const there = await open(`sqlite:${target}`);
    await (await there.agent("old", {})).remember({ content: "was here before" });
    await there.close();
    const before = readFileSync(target);
    const whole = readFileSync(backup);
    const seed = chosenSeed();
    const random = randomFrom(seed);
    const damaged = join(folder, "damaged");
    const places = [0, 30, whole.length - 1, whole.length - 50];
    for (const at of [...places, ...Array.from({ length: 30 }, () => random.below(whole.length))]) {
      const bytes = Buffer.from(whole);
      bytes[at] = (bytes[at] as number) ^ (1 << random.below(8));
      writeFileSync(damaged, bytes);
      const error = await refusal(restore(damaged, `sqlite:${target}`, { force: true }));
      expect(error.code, `BATON_SEED=${seed}, byte ${at}: ${error.message}`).toBe("invalid_backup");
    }
    for (const end of [0, 1, 50, whole.length - 97, whole.length - 1, random.below(whole.length)]) {
      writeFileSync(damaged, whole.subarray(0, end));
      const error = await refusal(restore(damaged, `sqlite:${target}`, { force: true }));
      expect(error.code, `BATON_SEED=${seed}, cut at ${end}`).toBe("invalid_backup");
    }
    expect(readFileSync(target).equals(before)).toBe(true);
    expect(readdirSync(folder).toSorted()).toEqual(
      ["damaged", "hub.backup", "hub.db", ...extras(folder)].toSorted(),
    );
  });

  it("refuses a file that is not a backup, a missing file and an unsupported target [MEM-17]", async () => {
    const { address, folder, hub } = await backedUp();
    const target = `sqlite:${join(folder, "hub.db")}`;
    await hub.close();
    const copied = join(folder, "copied.db");
    copyFileSync(fileOf(address), copied);
    expect(await refusal(restore(copied, target))).toMatchObject({ code: "invalid_backup" });
    expect(await refusal(restore(join(folder, "none"), target))).toMatchObject({
      code: "file_unusable",
    });
    const { backup } = await backedUp();
    expect(await refusal(restore(backup, "memory:"))).toMatchObject({ code: "store_unsupported" });
    expect(existsSync(join(folder, "hub.db"))).toBe(false);
  });
});

/** Returns the files that a store creates next to its own. */
const extras = (folder: string): string[] =>
  readdirSync(folder).filter((name) => /^hub\.db[.-](index|bells|head)/.test(name));
