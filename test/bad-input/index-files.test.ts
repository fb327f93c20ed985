/**
 * Damage to the index file next to the store: the index is derived data, so answers stay exact and
 * the index is rebuilt.
 */

import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Memory } from "../../src/index.ts";
import { type Agent, type Hub, openHub } from "../../src/index.ts";
import { present } from "../support/present.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { until } from "../support/until.ts";

/** Enough records for the hub to build an index. */
const RECORDS = 3_000;
const TASKS = 7;
const PAGE = 4_096;

interface Answers {
  readonly byTask: readonly string[];
  readonly byTag: readonly string[];
  readonly byType: readonly string[];
  readonly page: readonly string[];
  readonly byWords: readonly string[];
  readonly line: readonly string[];
  readonly pins: readonly string[];
}

async function write(hub: Hub, from: number, count: number): Promise<void> {
  const agent = await hub.agent("writer", { role: "writer" });
  const inputs = Array.from({ length: count }, (_, n) => ({
    content: `record ${from + n}`,
    task: `task-${(from + n) % TASKS}`,
    tags: [`tag-${(from + n) % 5}`],
    type: (from + n) % 3 === 0 ? "finding" : "step",
  }));
  for (let at = 0; at < inputs.length; at += 1_000) {
    await agent.remember(inputs.slice(at, at + 1_000));
  }
}

/** Words that occur in few records: numbers of two and of four digits. */
const WORDS = ["77", "1234", "2999"];

async function ask(hub: Hub): Promise<Answers> {
  const agent = await hub.agent("writer");
  const contents = async (query: Parameters<typeof agent.memories.recent>[0]): Promise<string[]> =>
    (await agent.memories.recent({ limit: 1_000, ...query })).items.map(({ content }) => content);
  const line = await hub.tasks.line("task-1");
  const { items: hits } = await hub.recall(WORDS.join(" "), { limit: 100, meaning: false });
  return {
    // Leaves out hits that contain none of the words.
    byWords: hits
      .filter(({ parts }) => parts.words > 0)
      .map(({ memory }) => memory.content)
      .sort(),
    byTask: await contents({ task: "task-1" }),
    byTag: await contents({ tag: "tag-2" }),
    byType: await contents({ type: "finding", task: "task-3", tag: "tag-4" }),
    page: await contents({ task: "task-1", after: await at(agent, 2_000), limit: 10 }),
    line: line.map(({ envelope }) => envelope.id),
    pins: (await agent.memories.pins()).map(({ id }) => id),
  };
}

/** Returns the id of the record with this sequence number. */
async function at(agent: Agent, seq: number): Promise<string> {
  let after: string | undefined;
  for (;;) {
    const { items, next } = await agent.memories.recent({ limit: 1_000, ...(after && { after }) });
    const found = items.find((memory) => memory.seq === seq);
    if (found !== undefined) return found.id;
    after = present(next);
  }
}

/** Computes the expected answers from all records, without an index. */
async function truth(hub: Hub): Promise<Answers> {
  const agent = await hub.agent("writer");
  const all: Memory[] = [];
  let after: string | undefined;
  do {
    const { items, next } = await agent.memories.recent({ limit: 1_000, ...(after && { after }) });
    all.push(...items);
    after = next;
  } while (after !== undefined);
  const contents = (fits: (memory: (typeof all)[number]) => boolean, limit = 1_000): string[] =>
    all
      .filter(fits)
      .map(({ content }) => content)
      .slice(0, limit);
  return {
    byTask: contents(({ task }) => task === "task-1"),
    byTag: contents(({ tags = [] }) => tags.includes("tag-2")),
    byType: contents(
      ({ type, task, tags = [] }) =>
        type === "finding" && task === "task-3" && tags.includes("tag-4"),
    ),
    byWords: all
      .filter(({ content }) => content.split(" ").some((word) => WORDS.includes(word)))
      .map(({ content }) => content)
      .sort(),
    page: contents(({ task, seq }) => task === "task-1" && seq < 2_000, 10),
    line: all
      .filter(({ type, task }) => type === "handoff" && task === "task-1")
      .map(({ envelope }) => envelope?.id ?? "")
      .reverse(),
    pins: all.filter(({ type }) => type === "pin").map(({ refs }) => String(refs?.[0])),
  };
}

const folder = temporaryFolder();
/** A closed store with an index that covers it; the tests work on copies. */
const filled = folder.file("hub.db");

beforeAll(() => fillStore(filled));
afterAll(() => folder[Symbol.dispose]());

function copyStore(file: string): void {
  for (const suffix of ["", ".index"]) copyFileSync(`${filled}${suffix}`, `${file}${suffix}`);
}

async function fillStore(file: string): Promise<void> {
  await using hub = await openHub(`sqlite:${file}`);
  await write(hub, 0, RECORDS);
  const agent = await hub.agent("writer");
  await agent.handoff({ to: "writer", task: "task-1", intent: "First" });
  const work = await agent.accept({ task: "task-1" });
  await work?.handoff({ to: "writer", intent: "Second" });
  const [fifth] = (await agent.memories.recent({ after: await at(agent, 7), limit: 1 })).items;
  await agent.memories.pin(fifth?.id ?? "");
  await indexed(hub);
}

/** Waits until the index covers all but the latest records, which are too few to index. */
async function indexed(hub: Hub): Promise<void> {
  await until("the index covers the store", async () => {
    const { records, indexed } = await hub.index.state();
    return records - indexed < 600;
  });
}

/** Expects exact answers with a damaged index, after it is rebuilt, and after further writes. */
async function expectExact(
  spoil: (index: string, file: string) => void | Promise<void>,
): Promise<void> {
  using folder = temporaryFolder();
  const file = folder.file("hub.db");
  copyStore(file);
  expect(existsSync(`${file}.index`)).toBe(true);
  await spoil(`${file}.index`, file);
  await using hub = await openHub(`sqlite:${file}`);
  const right = await truth(hub);
  expect(await ask(hub)).toEqual(right);
  await indexed(hub);
  expect(await ask(hub)).toEqual(right);
  await write(hub, RECORDS, 700);
  await indexed(hub);
  expect(await ask(hub)).toEqual(await truth(hub));
  expect((await hub.verify()).problems).toEqual([]);
}

describe("an index file", () => {
  it("gives exact answers when it is intact", () => expectExact(() => {}));

  it("is rebuilt when it is missing", () => expectExact((index) => rmSync(index)));

  it("is rebuilt when it is empty", () => expectExact((index) => writeFileSync(index, "")));

  it("is rebuilt when it is not a database", () =>
    expectExact((index) => writeFileSync(index, "not an index\n".repeat(1_000))));

  it("is rebuilt when it is truncated", () =>
    expectExact((index) => {
      writeFileSync(index, readFileSync(index).subarray(0, statSync(index).size >> 1));
    }));

  /** The first page has the schema, the second the watermark, the others the words. */
  it.each([
    ["its schema", 0, 1],
    ["its watermark", 1, 2],
    ["some of its words", 4, 6],
    ["all of its words", 2, 1_000],
  ])("is rebuilt after garbage was written to %s", (_, from, to) =>
    expectExact((index) => {
      const bytes = readFileSync(index);
      bytes.fill(0xa5, from * PAGE, Math.min(to * PAGE, bytes.length));
      writeFileSync(index, bytes);
    }),
  );

  it("is rebuilt when it is another program's database", () =>
    expectExact((index) => {
      rmSync(index);
      const db = new DatabaseSync(index);
      db.exec("create table watermark (x); create table tokens (text)");
      db.close();
    }));

  it("is rebuilt when it has an older version", () =>
    expectExact((index) => {
      const db = new DatabaseSync(index);
      db.exec("update watermark set version = 0");
      db.close();
    }));

  it("is rebuilt when it belongs to another store", () =>
    expectExact(async (index) => {
      using other = temporaryFolder();
      await fillStore(other.file("hub.db"));
      copyFileSync(other.file("hub.db.index"), index);
    }));

  it("is rebuilt when it is ahead of the store, as after restoring a backup", () =>
    expectExact((_, file) => {
      const db = new DatabaseSync(file);
      const cut = 2_500;
      db.exec(`delete from memories where pos > ${cut}; delete from relations where source > ${cut};
        delete from envelopes where pos > ${cut}; delete from deliveries`);
      db.exec(`update chains set (seq, stored_at, link) = (select seq, stored_at, link
        from memories where chain = chains.key order by seq desc limit 1)`);
      db.close();
    }));

  it("is not needed for exact answers when it cannot be created", async () => {
    using folder = temporaryFolder();
    const file = folder.file("hub.db");
    copyStore(file);
    rmSync(`${file}.index`);
    mkdirSync(`${file}.index`);
    await using hub = await openHub(`sqlite:${file}`);
    expect(await ask(hub)).toEqual(await truth(hub));
    await write(hub, RECORDS, 700);
    expect(await ask(hub)).toEqual(await truth(hub));
    expect((await hub.verify()).problems).toEqual([]);
  });

  it("is not needed for exact answers when it is deleted while the hub is open", async () => {
    using folder = temporaryFolder();
    const file = folder.file("hub.db");
    copyStore(file);
    await using hub = await openHub(`sqlite:${file}`);
    await ask(hub);
    for (const suffix of ["", "-wal", "-shm"]) rmSync(`${file}.index${suffix}`, { force: true });
    await write(hub, RECORDS, 700);
    expect(await ask(hub)).toEqual(await truth(hub));
  });
});
