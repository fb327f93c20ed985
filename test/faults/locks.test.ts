/**
 * The locks of a process: the system drops all of them as soon as the process closes any handle of the
 * file, whoever in it had opened that. Another process can then take itself for the last one on the
 * store, and remove the log that this one goes on writing to: what was acknowledged is lost. (SQLite
 * looks twice since 3.51; an older one, in somebody's shell, does not.) So whatever a process does with
 * a store that it has open, its locks stay.
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
  /** A path beside the store. */
  beside(name: string): string;
}

/** A hub on a store that was closed before: its log is empty, and the file alone says what it holds. */
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

/** What another process sees, after it has written something or not. */
async function elsewhere(address: string, content = ""): Promise<readonly string[]> {
  const said: string[] = [];
  const script = new URL("./locks-child.ts", import.meta.url);
  const { code, stderr } = await startChild(script, [address, content], (line) => said.push(line))
    .ended;
  expect(code, stderr).toBe(0);
  return JSON.parse(said.join()) as string[];
}

/** What a process can do while it has the store open, each of it with the file in some way. */
const ACTS: Readonly<Record<string, (opened: Opened) => Promise<unknown>>> = {
  "a second hub opens and closes": async ({ address }) => (await openHub(address)).close(),
  "a second hub is opened by way of a link, and closed": async ({ file, beside }) => {
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
  "something is redacted": async ({ ada }) => {
    await ada.remember({ content: `has ${SECRET}` });
    await ada.memories.redact({ text: SECRET }, "leaked");
  },
  "the store is to be replaced, and is not": async ({ hub, address, beside }) => {
    await hub.archive.backup(beside("hub.backup"));
    const replacing = () => restore(beside("hub.backup"), address, { force: true });
    await refused(replacing, { code: "store_busy" });
  },
  "it is taken for a backup, and refused": ({ file, beside }) =>
    refused(() => restore(file, `sqlite:${beside("other.db")}`), { code: "file_unusable" }),
  "it is taken for an export, and refused": ({ file, hub }) =>
    refused(() => hub.archive.import(file), { code: "file_unusable" }),
};

describe("a process with a store open", () => {
  it("loses nothing when hubs and other processes come and go [DLV-1]", async () => {
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

  // Only Linux tells who holds which locks.
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

/** What SQLite keeps locked for as long as it has a store open: a byte of the file, by its ending. */
const LASTING = { "": 0x4000_0002, "-shm": 128 };

/** Of these, what this process has locked: `1: POSIX  ADVISORY  READ 4711 fe:00:3678370 128 128`. */
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
