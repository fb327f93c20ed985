/** `baton export`, `import`, `backup` and `restore`. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { baton, type TestStore, testStore, withHandoff } from "./baton.ts";

/** Exports through the SDK, for tests of another command. */
async function exported(store: TestStore, file: string): Promise<void> {
  await using hub = await store.open();
  await hub.archive.exportTo(file);
}

async function backedUp(store: TestStore, file: string): Promise<void> {
  await using hub = await store.open();
  await hub.archive.backup(file);
}

describe("baton export and import", () => {
  it("moves a workspace to another store, and reports what it did [MEM-17]", async () => {
    using store = testStore();
    using folder = temporaryFolder();
    await withHandoff(store);
    const file = folder.file("team.jsonl");
    const run = await store.baton("export", file);
    expect(run).toMatchObject({ code: 0, stderr: "" });
    expect(run.stdout).toContain(`Exported workspace default to ${file}.`);
    const to = `sqlite:${folder.file("new.db")}`;
    const imported = await baton(["import", file, "--store", to]);
    expect(imported).toMatchObject({ code: 0, stderr: "" });
    expect(imported.stdout).toContain("and verified it.");
    const again = await baton(["import", file, "--store", to, "--json"]);
    expect(JSON.parse(again.stdout)).toMatchObject({ kind: "already_there", workspace: "default" });
    const [verified, there, here] = await Promise.all([
      baton(["verify", "--store", to]),
      baton(["line", "auth", "--store", to, "--json"]),
      store.baton("line", "auth", "--json"),
    ]);
    expect(verified.code).toBe(0);
    expect(JSON.parse(there.stdout)).toEqual(JSON.parse(here.stdout));
  });

  it("prints the export if no file is named, and a JSON report if one is [MEM-17]", async () => {
    using store = testStore();
    using folder = temporaryFolder();
    await withHandoff(store);
    const printed = (await store.baton("export")).stdout;
    expect(JSON.parse(printed.split("\n")[0] ?? "")).toMatchObject({ format: "baton-export" });
    const file = folder.file("team.jsonl");
    const report = JSON.parse((await store.baton("export", file, "--json")).stdout);
    expect(report).toMatchObject({ file, workspace: "default", counts: { agent: 3, delivery: 1 } });
    expect(report.bytes).toBe(readFileSync(file).length);
    expect((await store.baton("export", "--json")).code).toBe(64);
    const taken = await store.baton("export", file, "--json");
    expect(taken.code).toBe(73);
    expect(JSON.parse(taken.stderr)).toMatchObject({ code: "already_exists", path: file });
    expect((await store.baton("export", file, "--force")).code).toBe(0);
  });

  it("imports into the workspace that the file names, and refuses another [MEM-17]", async () => {
    using store = testStore();
    using folder = temporaryFolder();
    const file = folder.file("team.jsonl");
    await store.baton("agent", "add", "ada", "--workspace", "team");
    await store.baton("export", file, "--workspace", "team");
    const to = `sqlite:${folder.file("new.db")}`;
    const wrong = await baton(["import", file, "--store", to, "--workspace", "other"]);
    expect(wrong.code).toBe(64);
    expect(wrong.stderr).toContain("--workspace team");
    const report = await baton(["import", file, "--store", to, "--json"]);
    expect(JSON.parse(report.stdout)).toMatchObject({ kind: "imported", workspace: "team" });
  });

  it("refuses a damaged file with its line, and leaves no empty store [MEM-17]", async () => {
    using store = testStore();
    using folder = temporaryFolder();
    await withHandoff(store);
    const file = folder.file("team.jsonl");
    await exported(store, file);
    writeFileSync(file, readFileSync(file, "utf8").replace("Refactor auth", "Refactor oath"));
    const target = folder.file("new.db");
    const refused = await baton(["import", file, "--store", `sqlite:${target}`, "--json"]);
    expect(refused.code).toBe(65);
    expect(JSON.parse(refused.stderr)).toMatchObject({
      ...{ code: "invalid_export", path: expect.stringMatching(/^line \d+$/) },
    });
    expect(existsSync(target)).toBe(false);
    const missing = await baton(["import", folder.file("none"), "--store", `sqlite:${target}`]);
    expect(missing.code).toBe(66);
  });

  it("only validates a file with --dry-run [MEM-17]", async () => {
    using store = testStore();
    using folder = temporaryFolder();
    await withHandoff(store);
    const file = folder.file("team.jsonl");
    await exported(store, file);
    const target = folder.file("new.db");
    const checked = await baton(["import", file, "--store", `sqlite:${target}`, "--dry-run"]);
    expect(checked).toMatchObject({ code: 0, stdout: expect.stringContaining("is valid") });
    expect(existsSync(target)).toBe(false);
  });

  it("exports only memories with --memories, and refuses filters without it [MEM-17]", async () => {
    using store = testStore();
    await withHandoff(store);
    const { stdout } = await store.baton("export", "--memories", "--type", "plan");
    const lines = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(lines.map(({ kind }) => kind)).toEqual(["header", "memory", "footer"]);
    expect(lines[0]).toMatchObject({ format: "baton-memories", lossy: true });
    const wrong = await store.baton("export", "--type", "plan");
    expect(wrong.code).toBe(64);
    expect(wrong.stderr).toContain("--memories or --markdown");
  });

  it("keeps the file if the branch is unknown, and says how to create it [MEM-17]", async () => {
    using store = testStore();
    using folder = temporaryFolder();
    await withHandoff(store);
    const file = folder.file("MEMORY.md");
    writeFileSync(file, "What the team knows.");
    for (const kind of ["--markdown", "--memories"]) {
      const run = await store.baton("export", kind, file, "--force", "--branch", "nope");
      expect(run).toMatchObject({ code: 66, stdout: "" });
      expect(run.stderr).toContain("baton branch create nope");
      expect(readFileSync(file, "utf8")).toBe("What the team knows.");
    }
  });

  it("writes a MEMORY.md, and imports it with a person's changes [MEM-17]", async () => {
    using store = testStore();
    using folder = temporaryFolder();
    await withHandoff(store);
    const file = folder.file("MEMORY.md");
    const written = await store.baton("export", "--markdown", file);
    expect(written).toMatchObject({ code: 0, stdout: `Written to ${file}.\n` });
    const text = readFileSync(file, "utf8");
    expect(text).toContain("## Plans\n\n- Split, then test. <!-- mem_");
    expect((await store.baton("import", "--markdown", file)).stderr).toContain("--as");
    const same = await store.baton("import", "--markdown", file, "--as", "coder");
    expect(same.stdout).toBe("0 imported, 1 unchanged.\n");
    writeFileSync(file, `${text.replace("then test", "test, ship")}\n## Lessons\n\n- Ask first.\n`);
    const asked = ["import", "--markdown", file, "--as", "coder"];
    const dry = JSON.parse((await store.baton(...asked, "--dry-run", "--json")).stdout);
    expect(dry).toMatchObject({ dryRun: true, taken: [{ type: "plan" }, { type: "lesson" }] });
    for (const entry of dry.taken) expect(entry).not.toHaveProperty("memory");
    const taken = JSON.parse((await store.baton(...asked, "--json")).stdout);
    expect(taken.taken).toMatchObject([
      { type: "plan", supersedes: [expect.stringMatching(/^mem_/)] },
      { type: "lesson", supersedes: [] },
    ]);
    expect((await store.baton(...asked)).stdout).toBe("0 imported, 2 unchanged.\n");
    const after = (await store.baton("export", "--markdown")).stdout;
    expect(after).toContain("Split, test, ship.");
    expect(after).not.toContain("Split, then test.");
  });
});

describe("baton backup and restore", () => {
  it("backs up a store and restores it to another file [MEM-17]", async () => {
    using store = testStore();
    using folder = temporaryFolder();
    await withHandoff(store);
    const file = folder.file("hub.backup");
    const backup = await store.baton("backup", file);
    expect(backup).toMatchObject({ code: 0, stderr: "" });
    expect(backup.stdout).toContain(`to ${file} and verified the copy.`);
    expect(backup.stdout).toMatch(/default: \d+ memories, 1 delivery/);
    expect((await store.baton("backup", file)).code).toBe(73);
    const to = `sqlite:${folder.file("new.db")}`;
    const restored = await baton(["restore", file, "--store", to]);
    expect(restored).toMatchObject({ code: 0, stderr: "" });
    expect(restored.stdout).toContain("Restored and verified");
    expect((await baton(["verify", "--store", to])).code).toBe(0);
  });

  it("replaces a store only with --force, and reports where the old one is [MEM-17]", async () => {
    using store = testStore();
    using folder = temporaryFolder();
    await withHandoff(store);
    const file = folder.file("hub.backup");
    await store.baton("backup", file, "--json");
    const refused = await store.baton("restore", file, "--json");
    expect(refused.code).toBe(73);
    expect(JSON.parse(refused.stderr)).toMatchObject({ code: "already_exists" });
    const forced = await store.baton("restore", file, "--force", "--json");
    expect(forced.code).toBe(0);
    const { kept, workspaces } = JSON.parse(forced.stdout);
    expect(existsSync(kept)).toBe(true);
    expect(workspaces).toMatchObject([{ workspace: "default", agents: 3 }]);
  });

  it("refuses a damaged backup [MEM-17]", async () => {
    using store = testStore();
    using folder = temporaryFolder();
    await withHandoff(store);
    const file = folder.file("hub.backup");
    await backedUp(store, file);
    const bytes = readFileSync(file);
    bytes[5_000] = (bytes[5_000] as number) ^ 1;
    writeFileSync(file, bytes);
    const target = folder.file("new.db");
    const refused = await baton(["restore", file, "--store", `sqlite:${target}`, "--json"]);
    expect(refused.code).toBe(65);
    expect(JSON.parse(refused.stderr)).toMatchObject({ code: "invalid_backup" });
    expect(existsSync(target)).toBe(false);
  });
});
