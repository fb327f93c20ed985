/**
 * Redacted text is gone from the bytes of every file of a SQLite store, not only from its answers.
 */
import { readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { type Agent, type Hub, openHub } from "../../src/index.ts";
import { breakIn, tempFolder } from "../support/hub/support.ts";
import { until } from "../support/until.ts";

const SECRET = "xq-very-secret-0123456789";
const WHY = "leaked";

interface Opened {
  readonly hub: Hub;
  readonly ada: Agent;
  readonly file: string;
}

async function opened(): Promise<Opened> {
  const file = join(tempFolder(), "store", "hub.db");
  const hub = await openHub(`sqlite:${file}`);
  onTestFinished(() => hub.close());
  return { hub, ada: await hub.agent("ada", {}), file };
}

/** Returns the files whose bytes contain the text now. */
function holding(file: string, text: string): string[] {
  const folder = dirname(file);
  const files = readdirSync(folder, { recursive: true }).map(String);
  return files.filter((name) => bytesOf(join(folder, name)).includes(text));
}

/** Returns no bytes for a folder, or for a journal that was deleted meanwhile. */
function bytesOf(path: string): Buffer {
  try {
    return statSync(path).isFile() ? readFileSync(path) : Buffer.alloc(0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return Buffer.alloc(0);
    throw error;
  }
}

describe("the files of a store after a redaction", () => {
  it("do not contain the text while the hub is open: main file, log and index [MEM-18]", async () => {
    const { hub, ada, file } = await opened();
    await ada.remember({ content: `short ${SECRET}`, tags: [SECRET] });
    await ada.handoff({ to: "ada", task: "t", intent: `handed ${SECRET}`, state: SECRET });
    await ada.remember(Array.from({ length: 40 }, (_, n) => ({ content: `${n} ${SECRET}` })));
    expect(holding(file, SECRET)).not.toEqual([]);
    await ada.memories.redact({ text: SECRET }, WHY);
    expect(holding(file, SECRET)).toEqual([]);
    expect((await hub.verify()).problems).toEqual([]);
    await hub.close();
    expect(holding(file, SECRET)).toEqual([]);
  });

  it("do not contain text that was in overflow pages [MEM-18]", async () => {
    const { hub, ada, file } = await opened();
    const long = Array.from({ length: 2_000 }, (_, n) => `${SECRET} ${n}`).join("\n");
    const memories = await ada.remember([
      { content: long.slice(0, 60_000) },
      { content: "between" },
      { content: long.slice(0, 30_000), data: { more: long.slice(0, 30_000) } },
    ]);
    await ada.memories.redact({ ids: [memories[0]?.id ?? "", memories[2]?.id ?? ""] }, WHY);
    expect(holding(file, SECRET)).toEqual([]);
    expect(await ada.memories.read(memories[1]?.id ?? "")).toEqual(memories[1]);
    expect((await hub.verify()).problems).toEqual([]);
  });

  it("do not contain its words in the index, which is rebuilt [MEM-18]", async () => {
    const { hub, ada, file } = await opened();
    const word = "xqverysecretword";
    const memory = await ada.remember({ content: `${word} alone`, task: "t" });
    // With the second batch there is enough to index: everything that is stored by then.
    for (let n = 0; n < 2; n++) {
      await ada.remember(Array.from({ length: 400 }, (_, i) => ({ content: `${word} ${i}` })));
    }
    await filled(hub);
    expect(holding(file, word).join()).toContain(".index");
    await ada.memories.redact({ text: word }, WHY);
    expect(holding(file, word)).toEqual([]);
    await filled(hub);
    expect(holding(file, word)).toEqual([]);
    expect((await hub.memories.recent({ task: "t" })).items.map(({ id }) => id)).toEqual([
      memory.id,
    ]);
  });

  it("do not contain texts that were redacted by id, one after the other [MEM-18]", async () => {
    const { hub, ada, file } = await opened();
    const inputs = Array.from({ length: 10 }, (_, n) => ({ content: `${SECRET} ${n}` }));
    const memories = await ada.remember(inputs);
    const sent = await ada.handoff({ to: "ada", task: "t", intent: SECRET });
    for (const { id } of memories) await ada.memories.redact({ ids: [id] }, WHY);
    await ada.memories.redact({ ids: [sent.envelope.id] }, WHY);
    expect(holding(file, SECRET)).toEqual([]);
    expect((await hub.verify()).problems).toEqual([]);
  });

  it("do not contain the text in the main file if the process dies before cleaning up [MEM-18]", async () => {
    const { hub, ada, file } = await opened();
    await ada.remember(Array.from({ length: 900 }, (_, n) => ({ content: `filler ${n}` })));
    await ada.remember(Array.from({ length: 40 }, (_, n) => ({ content: `${SECRET} ${n}` })));
    await hub.close();
    const store = await openDying(file, new Error("killed here"));
    await (await store.agent("ada")).memories.redact({ text: SECRET }, WHY).catch(() => {});
    await store.close();
    expect(holding(file, SECRET), "the log went with the last who closed").not.toContain("hub.db");
  });

  it("do not contain text that was in space freed before [MEM-18]", async () => {
    const { hub, ada, file } = await opened();
    for (const name of ["b", "c", "d"]) await hub.agent(name, { description: `${name} ${SECRET}` });
    for (let n = 0; n < 30; n++) await ada.effects.run(`effect-${n}`, () => `${SECRET} ${n}`);
    // Freed but not overwritten, as an earlier version or another program may leave it.
    const db = breakIn(`sqlite:${file}`);
    db.exec("pragma secure_delete = off; create table gone (x text)");
    db.exec(
      `insert into gone select '${SECRET} ' || value from generate_series(1, 400)`.replace(
        "generate_series(1, 400)",
        "json_each((select json_group_array(pos) from (select 1 as pos union select 2 union select 3)))",
      ),
    );
    db.exec("drop table gone; pragma wal_checkpoint(truncate)");
    db.close();
    expect(holding(file, SECRET)).toContain("hub.db");
    await ada.memories.redact({ text: SECRET }, WHY);
    expect(holding(file, SECRET)).toEqual([]);
    expect((await hub.verify()).problems).toEqual([]);
  });

  it("do not contain the text after a killed redaction is repeated [MEM-18]", async () => {
    const { hub, ada, file } = await opened();
    const word = "xqverysecretword";
    await ada.remember(Array.from({ length: 600 }, (_, i) => ({ content: `${word} ${i}` })));
    await filled(hub);
    const scrub = new Error("killed here");
    const store = await openDying(file, scrub);
    await expect((await store.agent("ada")).memories.redact({ text: word }, WHY)).rejects.toBe(
      scrub,
    );
    await store.close();
    expect(holding(file, word).join()).toContain(".index");
    expect((await ada.memories.recent({ limit: 1 })).items).toHaveLength(1); // Finds the old index.
    await filled(hub);
    expect(holding(file, word).filter((name) => name.includes("index"))).toEqual([]);
    await ada.memories.redact({ text: word }, WHY);
    expect(holding(file, word)).toEqual([]);
  });
});

/** Opens a hub whose process dies right after the bodies were erased. */
async function openDying(file: string, error: Error): Promise<Hub> {
  const { openSqliteStore } = await import("../../src/store/sqlite/open.ts");
  const { systemClock } = await import("../../src/base/clock.ts");
  const { DEFAULT_LIMITS, LocalHub } = await import("../../src/index.ts");
  const store = await openSqliteStore({ file, clock: systemClock, limits: DEFAULT_LIMITS });
  store.scrub = () => Promise.reject(error);
  return new LocalHub(store);
}

/** Waits until the index has every record. */
async function filled(hub: Hub): Promise<void> {
  await until("the index has every record", async () => {
    const { records, indexed } = await hub.index.state();
    return records === indexed;
  });
}
