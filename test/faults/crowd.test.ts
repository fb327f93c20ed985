/**
 * Many processes on one SQLite file at once: every call succeeds, nothing is lost or duplicated.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Hub, openHub } from "../../src/index.ts";
import { SQLITE_STEPS } from "../../src/store/sqlite/migrations.ts";
import { dumpStore } from "../support/store-dump.ts";
import { type TemporaryFolder, temporaryFolder } from "../support/temporary-folder.ts";
import { APPENDS, type CrowdFact, HANDOFFS } from "./crowd-facts.ts";
import { crowd, factsOf } from "./crowd-run.ts";

const CROWD = 20;
/** Each process writes one record when it opens the store, then its appends and handoffs. */
const WRITTEN = CROWD * (1 + APPENDS + HANDOFFS);
const RACERS = 6;
const RACED = 60;

describe("many processes on one SQLite file", { timeout: 600_000 }, () => {
  // The same twenty processes open the store and then append: starting them takes most of the time.
  const folder = temporaryFolder();
  let said: readonly (readonly CrowdFact[])[];
  let hub: Hub;

  beforeAll(async () => {
    said = await crowd("open-append", CROWD, inFolder(folder));
    hub = await openHub(`sqlite:${folder.file("hub.db")}`);
  }, 600_000);

  afterAll(async () => {
    await hub?.close();
    folder[Symbol.dispose]();
  });

  it("open a new file at the same moment, create the schema once, and all write [DLV-1]", async () => {
    for (const facts of said) {
      const kinds = facts.map(({ kind }) => kind);
      expect(kinds.slice(0, 3)).toEqual(["ready", "remembered", "opened"]);
    }
    const report = await hub.verify();
    expect(report).toMatchObject({ agents: CROWD + 2, problems: [] });
    const { memories = [], migrations: steps = [] } = dumpStore(folder.file("hub.db"));
    expect(memories.filter(isOnMain)).toHaveLength(WRITTEN);
    // Each step ran once.
    expect(steps.map((step) => step["version"])).toEqual(
      SQLITE_STEPS.map(({ version }) => version),
    );
  });

  it("append at once without an error, a lost record or a gap in the sequence [MEM-1 DLV-1]", async () => {
    const facts = said.flat();
    const remembered = factsOf("remembered", facts);
    const sent = factsOf("sent", facts);
    expect(remembered).toHaveLength(CROWD * (1 + APPENDS));
    expect(sent).toHaveLength(CROWD * HANDOFFS);
    const { memories = [], envelopes = [], deliveries = [] } = dumpStore(folder.file("hub.db"));
    const stored = new Map(memories.map((row) => [row["id"], row["seq"]]));
    for (const { id, seq } of remembered) expect(stored.get(id), id).toBe(seq);
    const onMain = memories.filter(isOnMain);
    const seqs = onMain.map((row) => row["seq"] as number).sort((a, b) => a - b);
    expect(seqs).toEqual(Array.from({ length: WRITTEN }, (_, i) => i + 1));
    expect(idsOf(envelopes)).toEqual(sent.map(({ envelope }) => envelope).sort());
    expect(idsOf(deliveries)).toEqual(sent.map(({ delivery }) => delivery).sort());
    expect((await hub.verify()).problems).toEqual([]);
    expect((await hub.deliveries.totals()).byState.ready).toBe(CROWD * HANDOFFS);
  });

  it("race for deliveries with one holder per attempt and one completion per delivery [DLV-6]", async () => {
    using arena = temporaryFolder();
    await using open = await openHub(`sqlite:${arena.file("hub.db")}`);
    const sender = await open.agent("sender", { role: "sender" });
    await open.agent("runner", { role: "runner" });
    const raced = Array.from({ length: RACED }, (_, n) => n);
    const sent = await Promise.all(
      raced.map((n) => sender.handoff({ to: "runner", task: `t${n}`, intent: "Run" })),
    );
    const facts = (await crowd("race", RACERS, inFolder(arena))).flat();
    const accepted = factsOf("accepted", facts).map((fact) => `${fact.delivery} ${fact.attempt}`);
    expect(new Set(accepted).size).toBe(accepted.length);
    expect(accepted).toHaveLength(RACED + RACED / 3);
    const completed = factsOf("completed", facts).map(({ delivery }) => delivery);
    expect(completed.sort()).toEqual(sent.map(({ id }) => id).sort());
    expect((await open.deliveries.totals()).byState.completed).toBe(RACED);
    expect((await open.verify()).problems).toEqual([]);
  });
});

function inFolder(folder: TemporaryFolder) {
  return { address: `sqlite:${folder.file("hub.db")}`, start: folder.file("start") };
}

function idsOf(rows: readonly Readonly<Record<string, unknown>>[]): unknown[] {
  return rows.map((row) => row["id"]).sort();
}

/** Returns whether a memory's row is not an audit record, which is on a branch of its own. */
function isOnMain({ text }: Readonly<Record<string, unknown>>): boolean {
  return !String(text).includes('"type":"audit-record"');
}
