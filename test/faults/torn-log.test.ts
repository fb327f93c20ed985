/**
 * A log with a damaged end, as a power failure leaves it. The store's file and log are copied while
 * the hub is open, the copied log is cut or garbled at many positions, and the copy must contain
 * every write whose log frames all precede the damage, and no partial write.
 */
import { copyFileSync, readFileSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Hub, openHub } from "../../src/index.ts";
import { configure, connect } from "../../src/store/sqlite/connection.ts";
import { chosenSeed, randomFrom } from "../support/random.ts";
import { dumpStore, type StoreDump } from "../support/store-dump.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const WRITES = 25;
const LOG_HEADER = 32;
const FRAME_HEADER = 24;
const seed = chosenSeed();
const random = randomFrom(seed);
const folder = temporaryFolder();
const file = folder.file("hub.db");

/** An acknowledged write, and the length of the log at that time. */
interface Acknowledged {
  readonly table: "memories" | "envelopes";
  readonly id: string;
  readonly log: number;
}

describe(`a log with a damaged end (BATON_SEED=${seed})`, () => {
  const acknowledged: Acknowledged[] = [];
  let hub: Hub;
  let log: Buffer;

  beforeAll(async () => {
    hub = await openHub(`sqlite:${file}`);
    const sender = await hub.agent("sender", { role: "sender" });
    const receiver = await hub.agent("receiver", { role: "receiver" });
    const note = (table: Acknowledged["table"], id: string): void => {
      acknowledged.push({ table, id, log: statSync(`${file}-wal`).size });
    };
    for (let n = 0; n < WRITES; n++) {
      const content = `record ${n} ${"x".repeat(random.below(9_000))}`;
      note("memories", (await sender.remember({ content })).id);
      const sent = await sender.handoff({ to: "receiver", task: `t${n}`, intent: "Go on" });
      note("envelopes", sent.envelope.id);
      await using work = await receiver.accept();
      note("memories", work?.delivery.acceptedBy ?? "");
      await work?.complete();
    }
    log = readFileSync(`${file}-wal`);
  });

  afterAll(async () => {
    await hub.close();
    folder[Symbol.dispose]();
  });

  it("was only appended to, which the other tests rely on", () => {
    const lengths = acknowledged.map((write) => write.log);
    expect(lengths).toEqual(lengths.toSorted((a, b) => a - b));
    expect(log.length).toBeGreaterThan(0);
    expect(statSync(`${file}-wal`).size).toBe(log.length);
  });

  it("is written in WAL mode with synchronous = FULL and fullfsync [DLV-1]", () => {
    using scratch = temporaryFolder();
    const db = connect(scratch.file("hub.db"));
    configure(db, 0);
    const setting = (name: string) => Object.values(db.prepare(`pragma ${name}`).get() ?? {})[0];
    expect(setting("journal_mode")).toBe("wal");
    expect(setting("synchronous")).toBe(2);
    expect(setting("fullfsync")).toBe(1);
    db.close();
  });

  it("keeps every write before a cut at any position, and the copy verifies [DLV-1]", async () => {
    for (const length of placesIn(log.length)) {
      await expectWhole(`cut to ${length} of ${log.length} bytes`, length, (copy) =>
        truncateSync(copy, length),
      );
    }
  });

  it("keeps every write before garbled bytes near its end, and the copy verifies [DLV-1]", async () => {
    for (const start of placesIn(log.length - 1)) {
      const damaged = Buffer.from(log);
      const end = Math.min(log.length, start + 1 + random.below(600));
      for (let at = start; at < end; at++)
        damaged[at] = (damaged[at] ?? 0) ^ (1 + random.below(255));
      await expectWhole(`garbled from ${start} to ${end}`, start, (copy) =>
        writeFileSync(copy, damaged),
      );
    }
  });

  it("keeps every write when old frames follow its end, and the copy verifies [DLV-1]", async () => {
    await expectWhole("junk behind the end", log.length, (copy) => {
      writeFileSync(copy, Buffer.concat([log, log.subarray(LOG_HEADER, LOG_HEADER + 50_000)]));
    });
  });

  /** Returns positions at and near the ends of commits, within frames, and at random. */
  function placesIn(length: number): number[] {
    const places = [length, length - 1, LOG_HEADER, LOG_HEADER + FRAME_HEADER, LOG_HEADER - 1, 1];
    for (let i = 0; i < 2; i++) {
      const commit = acknowledged[random.below(acknowledged.length)]?.log ?? length;
      places.push(
        commit,
        commit - 1,
        commit - 4_000,
        LOG_HEADER + random.below(length - LOG_HEADER),
      );
    }
    return places.filter((place) => place >= 0 && place <= length);
  }

  async function expectWhole(
    what: string,
    intact: number,
    damage: (log: string) => void,
  ): Promise<void> {
    using scratch = temporaryFolder();
    const copy = scratch.file("hub.db");
    copyFileSync(file, copy);
    writeFileSync(`${copy}-wal`, log);
    damage(`${copy}-wal`);
    await using reopened = await openHub(`sqlite:${copy}`);
    expect(lostFrom(dumpStore(copy), intact), what).toEqual([]);
    const agent = await reopened.agent("after", { role: "after" });
    await agent.remember({ content: "life goes on" });
    expect((await reopened.verify()).problems, what).toEqual([]);
  }

  function lostFrom(dump: StoreDump, intact: number): Acknowledged[] {
    const ids = new Set(
      [...(dump["memories"] ?? []), ...(dump["envelopes"] ?? [])].map((row) => row["id"]),
    );
    return acknowledged.filter((write) => write.log <= intact && !ids.has(write.id));
  }
});
