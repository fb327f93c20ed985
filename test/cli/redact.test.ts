/** `baton redact`: erasing a secret by ids or by its text, and reporting what it cannot reach. */
import { spawnSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { BATON } from "../support/build/place.ts";
import { type TestStore, team, testStore } from "./baton.ts";

const SECRET = "sk-live-0123456789";

async function withSecret(store: TestStore): Promise<string> {
  await team(store);
  await using hub = await store.open();
  const ada = await hub.agent("ada");
  return (await ada.remember({ content: `The key is ${SECRET}` })).id;
}

describe("baton redact", () => {
  it("erases a text, and reports where, its record and what it cannot reach [MEM-18]", async () => {
    using store = testStore();
    const id = await withSecret(store);
    const { code, stdout } = await store.baton(
      ...["redact", "--as", "ada", "--reason", "leaked", "--text", SECRET],
    );
    expect(code).toBe(0);
    expect(stdout).toContain("1 text erased:");
    expect(stdout).toContain(`memory ${id}`);
    expect(stdout).toMatch(/Recorded as mem_/);
    expect(stdout).toContain("Backups, exports and copies");
    expect(stdout).not.toContain(SECRET);
    expect((await store.baton("recent")).stdout).toContain("(redacted by ada: leaked)");
    expect((await store.baton("verify")).code).toBe(0);
    const again = await store.baton(
      ...["redact", "--as", "ada", "--reason", "leaked", "--text", SECRET],
    );
    expect(again).toMatchObject({ code: 0 });
    expect(again.stdout).toContain("No matching text");
  });

  it("counts records that the caller cannot see, except on a dry run [MEM-18]", async () => {
    using store = testStore();
    const id = await withSecret(store);
    let own = "";
    {
      await using hub = await store.open();
      const ben = await hub.agent("ben");
      own = (await ben.remember({ scope: "agent", content: `Mine: ${SECRET}` })).id;
    }
    const act = (...more: string[]) =>
      store.baton("redact", "--as", "ada", "--reason", "leaked", "--text", SECRET, ...more);
    const dry = await act("--dry-run");
    expect(dry.stdout).toContain(`1 text would be erased:\n  memory ${id}\n`);
    const { stdout } = await act();
    expect(stdout).toContain(`2 texts erased:\n  memory ${id}\n  and 1 not visible to you\n`);
    expect(stdout).not.toContain(own);
  });

  it("erases by id, and prints the report as JSON [MEM-18]", async () => {
    using store = testStore();
    const id = await withSecret(store);
    const args = ["redact", "--as", "ben", "--reason", "leaked", "--id", id, "--json"];
    const report = JSON.parse((await store.baton(...args)).stdout);
    expect(report).toMatchObject({ dryRun: false, erased: [{ kind: "memory", id }], left: [] });
    const again = JSON.parse((await store.baton(...args)).stdout);
    expect(again).toMatchObject({ erased: [], left: [{ kind: "memory", id, why: "already" }] });
    const { stdout } = await store.baton(...args.slice(0, -1));
    expect(stdout).toContain(`not erased: memory ${id} is already redacted`);
  });

  it("changes nothing with --dry-run [MEM-18]", async () => {
    using store = testStore();
    const id = await withSecret(store);
    const { stdout } = await store.baton(
      ...["redact", "--as", "ada", "--reason", "leaked", "--text", SECRET, "--dry-run"],
    );
    expect(stdout).toContain("1 text would be erased:");
    await using hub = await store.open();
    expect((await hub.memories.read(id)).content).toContain(SECRET);
  });

  it("reads the secret from stdin, which keeps it out of the shell history [MEM-18]", async () => {
    using store = testStore();
    const id = await withSecret(store);
    const { status, stdout } = spawnSync(
      process.execPath,
      [
        BATON,
        ...["redact", "--as", "ada", "--reason", "leaked", "--stdin", "--store", store.address],
      ],
      { input: `${SECRET}\n`, encoding: "utf8" },
    );
    expect(status).toBe(0);
    expect(stdout).toContain(`memory ${id}`);
  });

  it.each([
    ["a call without an id or a text", [], 64, "needs exactly one of --id, --text and --stdin"],
    [
      "an id together with a text",
      ["--id", "mem_x", "--text", SECRET],
      64,
      "needs exactly one of --id, --text and --stdin",
    ],
    ["a malformed id", ["--id", "x"], 64, "ids[0]: must be a memory id (mem_…) or an envelope"],
    ["a text that is too short", ["--text", "abc"], 64, "text"],
    [
      "an unknown id",
      ["--id", "mem_01a1df5a-52a9-7000-a39b-ea67e3f6baac"],
      66,
      "No memory has the id",
    ],
  ])("refuses %s with the reason [MEM-18]", async (_case, given, exit, said) => {
    using store = testStore();
    await withSecret(store);
    const { code, stderr } = await store.baton(
      ...["redact", "--as", "ada", "--reason", "leaked", ...given],
    );
    expect(stderr).toContain(said);
    expect(code).toBe(exit);
  });
});
