/** Tests opening a hub: the default location of its file, and the supported addresses. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { type Hub, openHub } from "../../src/index.ts";
import { open, refusal, tempFolder } from "../support/hub/support.ts";

const FILE = join(".baton", "hub.db");

beforeEach(() => {
  vi.stubEnv("BATON_STORE", undefined);
});

afterEach(() => {
  vi.unstubAllEnvs();
});

/** Opens a hub without an address, like a program started in that folder. */
async function openIn(folder: string): Promise<Hub> {
  const before = process.cwd();
  onTestFinished(() => process.chdir(before));
  process.chdir(folder);
  const hub = await openHub();
  onTestFinished(() => hub.close());
  return hub;
}

function git(folder: string, ...args: string[]): void {
  const author = ["-c", "user.name=Test", "-c", "user.email=test@example.org"];
  execFileSync("git", [...author, ...args], { cwd: folder, stdio: "pipe" });
}

function repository(): string {
  const folder = join(tempFolder(), "repository");
  mkdirSync(join(folder, "deep", "inside"), { recursive: true });
  git(folder, "init", "--quiet");
  writeFileSync(join(folder, "file.txt"), "x");
  git(folder, "add", ".");
  git(folder, "commit", "--quiet", "--no-gpg-sign", "--message", "First");
  return folder;
}

describe("a hub without an address", () => {
  it("uses .baton in the current folder outside a repository", async () => {
    const folder = tempFolder();
    const hub = await openIn(folder);
    expect(hub.store).toContain(join(folder, FILE));
    expect(existsSync(join(folder, FILE))).toBe(true);
  });

  it("uses the root of the repository from any folder in it", async () => {
    const folder = repository();
    const hub = await openIn(join(folder, "deep", "inside"));
    expect(hub.store).toContain(join(folder, FILE));
    expect(existsSync(join(folder, FILE))).toBe(true);
    expect(readdirSync(join(folder, "deep"))).toEqual(["inside"]);
  });

  it("is shared by all worktrees of a repository", async () => {
    const folder = repository();
    const worktree = join(tempFolder(), "elsewhere", "worktree");
    git(folder, "worktree", "add", "--quiet", worktree);
    mkdirSync(join(worktree, "deep"));
    const here = await openIn(folder);
    const planner = await here.agent("planner", {});
    await here.agent("coder", {});
    const sent = await planner.handoff({ to: "coder", intent: "Go" });
    const there = await openIn(join(worktree, "deep"));
    expect(there.store).toBe(here.store);
    const work = await (await there.agent("coder")).accept();
    expect(work?.envelope).toEqual(sent.envelope);
    expect(existsSync(join(worktree, ".baton"))).toBe(false);
  });

  it("uses BATON_STORE unless an address is passed", async () => {
    const [folder, named, given] = [tempFolder(), tempFolder(), tempFolder()];
    vi.stubEnv("BATON_STORE", `sqlite:${join(named, "team.db")}`);
    const hub = await openIn(folder);
    expect(hub.store).toContain(join(named, "team.db"));
    expect(existsSync(join(named, "team.db"))).toBe(true);
    const explicit = await open(`sqlite:${join(given, "my.db")}`);
    expect(explicit.store).toContain(join(given, "my.db"));
    expect(readdirSync(folder)).toEqual([]);
  });

  it("treats an empty BATON_STORE as unset, as shells and CI set it", async () => {
    vi.stubEnv("BATON_STORE", "");
    const folder = tempFolder();
    const hub = await openIn(folder);
    expect(hub.store).toContain(join(folder, FILE));
  });
});

describe("a hub with an address", () => {
  it("creates missing folders, and keeps its data when closed", async () => {
    const address = `sqlite:${join(tempFolder(), "a", "b", "hub.db")}`;
    {
      await using hub = await openHub(address);
      await (await hub.agent("scout", {})).remember({ content: "Kept." });
    }
    const again = await open(address);
    expect((await (await again.agent("scout")).memories.recent()).items).toMatchObject([
      { content: "Kept." },
    ]);
  });

  it("is not shared with another hub on memory:", async () => {
    const [one, two] = [await open("memory:"), await open("memory:")];
    await one.agent("scout", {});
    expect(await two.agents.list()).toEqual([]);
  });

  it("separates workspaces of one file, and refuses an invalid name", async () => {
    const address = `sqlite:${join(tempFolder(), "hub.db")}`;
    const [left, right] = [
      await open(address, { workspace: "left" }),
      await open(address, { workspace: "right" }),
    ];
    const planner = await left.agent("planner", {});
    await right.agent("coder", {});
    expect(await refusal(planner.handoff({ to: "coder", intent: "Go" }))).toMatchObject({
      code: "unknown_agent",
    });
    expect(await right.deliveries.totals()).toMatchObject({ envelopes: 0 });
    const wrong = open("memory:", { workspace: " " });
    expect(await refusal(wrong)).toMatchObject({ code: "invalid_input", path: "workspace" });
  });

  it("accepts a plain file path", async () => {
    const file = join(tempFolder(), "team.db");
    const one = await open(file);
    await one.agent("planner", {});
    const two = await open(`sqlite:${file}`);
    expect((await two.agents.list()).map(({ id }) => id)).toEqual(["planner"]);
  });

  it.each(["mysql://me:secret@host/db", "sqlite:", "hub", "redis:x"])(
    "refuses %s without repeating the password in the error",
    async (address) => {
      const error = await refusal(openHub(address));
      expect(error).toMatchObject({ code: "store_unsupported", path: "address" });
      expect(JSON.stringify(error)).not.toContain("secret");
    },
  );
});
