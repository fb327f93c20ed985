/** What a store writes is readable by its owner only, and a store that others can change is refused. */
import { execFileSync, spawnSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { openHub, restore } from "../../src/index.ts";
import { testStore } from "../cli/baton.ts";
import { refusal, tempFolder } from "../support/hub/support.ts";
import { until } from "../support/until.ts";

const isRoot = process.geteuid?.() === 0;
const NOT_ROOT = "only root can give files to another user, or run a program as one";
/** A user without rights; need not exist. */
const OTHER = 65_534;

/** A folder that every user may enter, as a project's often is. */
function openFolder(): string {
  const folder = join(tempFolder(), "project");
  mkdirSync(folder);
  chmodSync(join(folder, ".."), 0o755);
  chmodSync(folder, 0o755);
  return folder;
}

/** Until the test ends, new files get every permission that their creator asks for. */
function withoutUmask(): void {
  const before = process.umask(0);
  onTestFinished(() => void process.umask(before));
}

/** By path, the permissions of everything in a folder that group or others have any of. */
function sharedIn(folder: string): Record<string, string> {
  const paths = readdirSync(folder, { recursive: true }).map((name) => join(folder, String(name)));
  const modes = paths.map((path) => [path, statSync(path).mode & 0o777] as const);
  return Object.fromEntries(
    modes
      .filter(([, mode]) => (mode & 0o077) !== 0)
      .map(([path, mode]) => [path, mode.toString(8)]),
  );
}

const git = (folder: string, ...args: string[]): string =>
  execFileSync("git", ["-C", folder, ...args], { encoding: "utf8" });

describe.skipIf(process.platform === "win32")("the files of a store", () => {
  it("are readable by their owner only: store, log, index, wake-up files, exports, backups [OPS-15]", async () => {
    withoutUmask();
    const folder = openFolder();
    const file = join(folder, ".baton", "hub.db");
    await using hub = await openHub(`sqlite:${file}`);
    const ada = await hub.agent("ada", { role: "coder" });
    const memories = Array.from({ length: 600 }, (_, n) => ({ content: `Note ${n} about jose.` }));
    for (const start of [0, 300]) await ada.remember(memories.slice(start, start + 300));
    const stop = new AbortController();
    const waiting = ada.accept({ wait: true, signal: stop.signal }).catch(() => undefined);
    await until("an index and wake-up files", () =>
      [".index", ".bells"].every((end) => existsSync(file + end)),
    );
    await hub.archive.exportTo(join(folder, "team.jsonl"));
    await hub.archive.backup(join(folder, "team.backup"));
    await restore(join(folder, "team.backup"), `sqlite:${join(folder, "restored.db")}`);
    expect(sharedIn(folder)).toEqual({});
    expect(readdirSync(join(folder, ".baton"))).toEqual(
      expect.arrayContaining(["hub.db", "hub.db-wal", "hub.db-shm", "hub.db.index"]),
    );
    expect(statSync(join(folder, ".baton")).mode & 0o777).toBe(0o700);
    stop.abort();
    await waiting;
  });

  it.skipIf(!isRoot)("cannot be read by another user [OPS-15]", async () => {
    const file = join(openFolder(), "hub.db");
    await using hub = await openHub(`sqlite:${file}`);
    await hub.agent("ada", { role: "coder" });
    for (const path of [file, `${file}-wal`]) {
      const read = spawnSync("cat", [path], { uid: OTHER, gid: OTHER, encoding: "utf8" });
      expect(read).toMatchObject({ status: 1, stdout: "" });
    }
  });

  it("keep the permissions of a store that its owner shares with a group [OPS-15]", async () => {
    const file = join(openFolder(), "hub.db");
    await (await openHub(`sqlite:${file}`)).close();
    chmodSync(file, 0o660);
    await using hub = await openHub(`sqlite:${file}`);
    const ada = await hub.agent("ada", { role: "coder" });
    const memories = Array.from({ length: 600 }, (_, n) => ({ content: `Note ${n}.` }));
    for (const start of [0, 300]) await ada.remember(memories.slice(start, start + 300));
    await until("an index", () => existsSync(`${file}.index`));
    const modes = ["-wal", ".index"].map((end) => statSync(file + end).mode & 0o777);
    expect(modes).toEqual([0o660, 0o660]);
  });

  it("are reported by baton doctor if other users can read them, with the fix [OPS-15]", async () => {
    using store = testStore();
    await (await store.open()).close();
    const finding = async () => {
      const { stdout } = await store.baton("doctor", "--json", "--port", "1");
      const { findings } = JSON.parse(stdout) as { findings: { check: string }[] };
      return findings.find(({ check }) => check === "permissions");
    };
    expect(await finding()).toMatchObject({ status: "ok" });
    chmodSync(store.file, 0o644);
    expect(await finding()).toMatchObject({
      status: "warn",
      found: expect.stringContaining(store.file),
      fix: expect.stringContaining(`chmod -R go-rwx "${store.file}"`),
    });
  });
});

describe("a store", () => {
  it.skipIf(!isRoot)(
    `in a folder of another user is refused, unless the folder is listed (${NOT_ROOT}) [OPS-15]`,
    async () => {
      const folder = openFolder();
      const file = join(folder, "hub.db");
      const backup = join(tempFolder(), "team.backup");
      {
        await using hub = await openHub(`sqlite:${file}`);
        await hub.archive.backup(backup);
      }
      chownSync(folder, OTHER, OTHER);
      const refused = await refusal(openHub(`sqlite:${file}`));
      expect(refused).toMatchObject({
        code: "store_unsafe",
        path: folder,
        hint: expect.stringContaining(`BATON_SAFE_FOLDERS=${folder}`),
        details: { why: "owner", owner: OTHER },
      });
      const restored = restore(backup, `sqlite:${join(folder, "new.db")}`);
      expect(await refusal(restored)).toMatchObject({ code: "store_unsafe", path: folder });
      chownSync(folder, 0, 0);
      chownSync(file, OTHER, OTHER);
      expect(await refusal(openHub(`sqlite:${file}`))).toMatchObject({ path: file });
      process.env["BATON_SAFE_FOLDERS"] = `/elsewhere:${folder}`;
      onTestFinished(() => void delete process.env["BATON_SAFE_FOLDERS"]);
      await (await openHub(`sqlite:${file}`)).close();
    },
  );

  it("that git tracks is refused until git forgets it [OPS-15]", async () => {
    const folder = openFolder();
    git(folder, "init", "-q");
    const file = join(folder, "team.db");
    await (await openHub(`sqlite:${file}`)).close();
    git(folder, "add", "-f", "team.db");
    expect(await refusal(openHub(`sqlite:${file}`))).toMatchObject({
      code: "store_unsafe",
      hint: expect.stringContaining("git rm --cached"),
      details: { why: "tracked" },
    });
    git(folder, "rm", "-q", "--cached", "team.db");
    await (await openHub(`sqlite:${file}`)).close();
  });

  it("in .baton is ignored by git, and a .gitignore that exists is kept [OPS-15]", async () => {
    const folder = openFolder();
    git(folder, "init", "-q");
    const file = join(folder, ".baton", "hub.db");
    await (await openHub(`sqlite:${file}`)).close();
    expect(git(folder, "status", "--porcelain")).toBe("");
    const ignore = join(folder, ".baton", ".gitignore");
    expect(readFileSync(ignore, "utf8")).toBe("*\n");
    writeFileSync(ignore, "hub.db*\n");
    await (await openHub(`sqlite:${file}`)).close();
    expect(readFileSync(ignore, "utf8")).toBe("hub.db*\n");
  });
});
