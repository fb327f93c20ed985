/**
 * File locks of a process that has a store open. The system drops all locks of a process on a file
 * as soon as the process closes any handle to that file. Another process can then conclude that it
 * is the last one on the store and delete the log that this process still writes to, which loses
 * acknowledged writes. (SQLite checks twice since 3.51; an older version, in a shell for example,
 * does not.) So nothing that a process does with an open store may drop its locks.
 */
import { readFileSync, statSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { type Agent, type Hub, openHub, restore } from "../../src/index.ts";
import { startChild } from "../support/child.ts";
import { refused } from "../support/refusal.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const SECRET = "xq-very-secret-0123456789";

interface Opened {
  readonly file: string;
  readonly address: string;
  readonly hub: Hub;
  readonly ada: Agent;
  /** Returns a path in the folder of the store. */
  beside(name: string): string;
}

/**
 * Opens a hub on a store that was closed before: its log is empty, all data is in the main file.
 */
async function opened(): Promise<Opened> {
  const folder = temporaryFolder();
  onTestFinished(() => folder[Symbol.dispose]());
  const file = folder.file("hub.db");
  const address = `sqlite:${file}`;
  const first = await openHub(address);
  await (await first.agent("ada", {})).remember({ content: "first" });
  await first.close();
  const hub = await openHub(address);
  onTestFinished(() => hub.close());
  const ada = await hub.agent("ada");
  expect(statSync(`${file}-wal`).size, "the log").toBe(0);
  return { file, address, hub, ada, beside: (name) => join(folder.path, name) };
}

/** Returns what another process reads, after it has written `content`, if given. */
async function elsewhere(address: string, content = ""): Promise<readonly string[]> {
  const said: string[] = [];
  const script = new URL("./locks-child.ts", import.meta.url);
  const { code, stderr } = await startChild(script, [address, content], (line) => said.push(line))
    .ended;
  expect(code, stderr).toBe(0);
  return JSON.parse(said.join()) as string[];
}

/**
 * What a process can do while it has the store open; each operation touches the file in some way.
 */
const ACTS: Readonly<Record<string, (opened: Opened) => Promise<unknown>>> = {
  "a second hub opens and closes": async ({ address }) => (await openHub(address)).close(),
  "a second hub opens through a symbolic link and closes": async ({ file, beside }) => {
    symlinkSync(file, beside("link.db"));
    await (await openHub(`sqlite:${beside("link.db")}`)).close();
  },
  "a second hub closes while a third opens": async ({ address }) => {
    const second = await openHub(address);
    const [third] = await Promise.all([openHub(address), second.close()]);
    await third.close();
  },
  "the store is backed up": ({ hub, beside }) => hub.archive.backup(beside("hub.backup")),
  "the workspace is exported": ({ hub, beside }) => hub.archive.exportTo(beside("hub.jsonl")),
  "its own export is imported": async ({ hub, beside }) => {
    await hub.archive.exportTo(beside("hub.jsonl"));
    await hub.archive.import(beside("hub.jsonl"));
  },
  "a memory is redacted": async ({ ada }) => {
    await ada.remember({ content: `has ${SECRET}` });
    await ada.memories.redact({ text: SECRET }, "leaked");
  },
  "a restore over the store is refused": async ({ hub, address, beside }) => {
    await hub.archive.backup(beside("hub.backup"));
    const replacing = () => restore(beside("hub.backup"), address, { force: true });
    await refused(replacing, { code: "store_busy" });
  },
  "the store file is refused as a backup": ({ file, beside }) =>
    refused(() => restore(file, `sqlite:${beside("other.db")}`), { code: "file_unusable" }),
  "the store file is refused as an export": ({ file, hub }) =>
    refused(() => hub.archive.import(file), { code: "file_unusable" }),
};

describe("a process with an open store", () => {
  it("loses no memory while other hubs and processes open and close the store [DLV-1]", async () => {
    const { address, hub, ada } = await opened();
    const second = await openHub(address);
    expect(await elsewhere(address, "guest 1")).toEqual(["first", "guest 1"]);
    await second.close();
    expect(await elsewhere(address, "guest 2")).toContain("guest 2");
    const third = await openHub(address);
    await ada.remember({ content: "here" });
    expect(await elsewhere(address)).toEqual(["first", "guest 1", "guest 2", "here"]);
    await third.close();
    expect((await hub.verify()).problems).toEqual([]);
    await hub.close();
    expect(await elsewhere(address)).toEqual(["first", "guest 1", "guest 2", "here"]);
  });

  // Only Linux lists the locks of each process.
  it.runIf(process.platform === "linux").each(Object.entries(ACTS))(
    "keeps its locks when %s [DLV-1]",
    async (_, act) => {
      const all = await opened();
      expect(held(all.file)).toEqual(LASTING);
      await act(all);
      expect(held(all.file)).toEqual(LASTING);
    },
  );
});

/** The byte that SQLite keeps locked while a store is open, by file suffix. */
const LASTING = { "": 0x4000_0002, "-shm": 128 };

/**
 * Returns those of them that this process has locked. Reads lines such as
 * `1: POSIX  ADVISORY  READ 4711 fe:00:3678370 128 128`.
 */
function held(file: string): object {
  const lines = readFileSync("/proc/locks", "utf8").split("\n");
  const isLocked = (ending: string, byte: number): boolean => {
    const inode = `${statSync(`${file}${ending}`).ino}`;
    return lines.some((line) => {
      const [, , , , pid, where, from, to] = line.trim().split(/\s+/);
      const isOurs = Number(pid) === process.pid && where?.split(":").at(-1) === inode;
      return isOurs && Number(from) <= byte && (to === "EOF" || byte <= Number(to));
    });
  };
  return Object.fromEntries(Object.entries(LASTING).filter((each) => isLocked(...each)));
}
