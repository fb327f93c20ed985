/** Many equal hubs on one database: every call succeeds, and nothing is lost or duplicated. */
import { describe, expect, it, onTestFinished } from "vitest";
import { DEFAULT_LIMITS } from "../../../src/base/limits.ts";
import { type Hub, LocalHub, openHub } from "../../../src/index.ts";
import { openPostgresStore } from "../../../src/store/postgres/open.ts";
import type { Store } from "../../../src/store/store.ts";
import { workspaceRows } from "../../support/postgres/rows.ts";
import { testSchema } from "../../support/postgres/schema.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";
import { until } from "../../support/until.ts";
import { untilSettled } from "../../support/until-settled.ts";
import { APPENDS, HANDOFFS } from "../crowd-facts.ts";
import { crowd, factsOf } from "../crowd-run.ts";

const PROCESSES = 4;
const HUBS_EACH = 4;
const RACED = 120;
/** Deliveries that each process gets before any of them continues: none is starved. */
const SHARE = 10;

describe("many hubs on one PostgreSQL database", { timeout: 120_000 }, () => {
  it("open an empty database at the same moment, set it up once, and all write [OPS-10]", async () => {
    using folder = temporaryFolder();
    await using schema = testSchema();
    const place = { address: schema.address, start: folder.file("start"), hubs: HUBS_EACH };
    const facts = (await crowd("open", PROCESSES, place)).flat();
    expect(factsOf("remembered", facts)).toHaveLength(PROCESSES * HUBS_EACH);
    await using hub = await openHub(schema.address);
    expect(await hub.verify()).toMatchObject({
      // One audit record for each agent; the hub's own agent is one.
      memories: PROCESSES * HUBS_EACH + PROCESSES + 1,
      agents: PROCESSES + 1,
      problems: [],
    });
    const migrations = await schema.query(`select version from ${schema.schema}.baton_migrations`);
    expect(new Set(migrations.map(({ version }) => version)).size).toBe(migrations.length);
  });

  it("append to one branch without gaps or duplicates, and a reader misses no event [MEM-1 DLV-1 OPS-10]", async () => {
    using folder = temporaryFolder();
    await using schema = testSchema();
    await using hub = await openHub(schema.address);
    await hub.agent("reader", { role: "reader" });
    using reading = readAlong(hub);
    const place = { address: schema.address, start: folder.file("start") };
    const facts = (await crowd("append", PROCESSES, place)).flat();
    const remembered = factsOf("remembered", facts);
    const sent = factsOf("sent", facts);
    expect(remembered).toHaveLength(PROCESSES * APPENDS);
    expect(sent).toHaveLength(PROCESSES * HANDOFFS);
    const { memories = [], deliveries = [], events = [] } = await workspaceRows(schema);
    const stored = new Map(memories.map((row) => [row["id"], row["seq"]]));
    for (const { id, seq } of remembered) expect(stored.get(id), id).toBe(seq);
    const onMain = memories.filter(({ text }) => !String(text).includes('"type":"audit-record"'));
    expect(numbersOf(onMain, "seq")).toEqual(upTo(PROCESSES * (APPENDS + HANDOFFS)));
    expect(deliveries.map(({ id }) => id).sort()).toEqual(sent.map((fact) => fact.delivery).sort());
    expect((await hub.verify()).problems).toEqual([]);
    expect(await reading.upTo(events.length)).toEqual(upTo(events.length));
  });

  it.for([2, PROCESSES])(
    "share one inbox (%i processes): one holder per attempt, work for each, no event missed [DLV-6 DLV-13 OPS-10]",
    async (hubs) => {
      using folder = temporaryFolder();
      await using schema = testSchema();
      await using hub = await openHub(schema.address);
      const sent = await sendTo(hub);
      using reading = readAlong(hub);
      const place = { address: schema.address, start: folder.file("start"), share: SHARE };
      const said = await crowd("race", hubs, place);
      const accepted = factsOf("accepted", said.flat());
      expect(new Set(accepted.map((fact) => `${fact.delivery} ${fact.attempt}`)).size).toBe(
        accepted.length,
      );
      expect(accepted).toHaveLength(RACED + RACED / 3);
      const completed = factsOf("completed", said.flat()).map(({ delivery }) => delivery);
      expect(completed.sort()).toEqual(sent.sort());
      for (const facts of said) {
        expect(factsOf("accepted", facts).length).toBeGreaterThanOrEqual(SHARE);
      }
      expect((await hub.deliveries.totals()).byState.completed).toBe(RACED);
      expect((await hub.verify()).problems).toEqual([]);
      const { length } = (await workspaceRows(schema))["events"] ?? [];
      expect(await reading.upTo(length)).toEqual(upTo(length));
    },
  );
});

describe("one hub with concurrent calls", () => {
  it("serializes a claim and an extension of the same delivery [DLV-6]", async () => {
    await using schema = testSchema();
    const store = await openPostgresStore({ address: schema.address, limits: DEFAULT_LIMITS });
    onTestFinished(() => store.close());
    // The extension and the claim wait for each other, and are submitted in the same turn.
    const { promise: adding, resolve: add } = Promise.withResolvers<void>();
    const { promise: accepting, resolve: accept } = Promise.withResolvers<void>();
    const together: Store = {
      ...store,
      close: () => store.close(),
      async sendHandoff(operation) {
        if (operation.extend !== undefined) {
          add();
          await accepting;
        }
        return store.sendHandoff(operation);
      },
      async claimDeliveries(operation) {
        accept();
        await adding;
        return store.claimDeliveries(operation);
      },
    };
    const hub = new LocalHub(together);
    const ann = await hub.agent("ann", { role: "worker" });
    const ben = await hub.agent("ben", { role: "worker" });
    await ann.handoff({ to: "ben", task: "t", intent: "Go" });
    const [sent, work] = await Promise.all([
      ann.handoff({ to: "ben", task: "t", intent: "Go", next: ["More"] }),
      ben.accept(),
    ]);
    expect((await hub.verify()).problems).toEqual([]);
    const taken = work ?? (await ben.accept());
    await untilSettled(async () => taken?.complete());
    expect((await sent.status()).state).toBe("completed");
    expect((await hub.verify()).problems).toEqual([]);
  });

  it("executes the calls of a holder in order, even if they are not awaited [DLV-6]", async () => {
    await using schema = testSchema();
    await using hub = await openHub(schema.address);
    const ann = await hub.agent("ann", { role: "worker" });
    const tasks = upTo(40).map((n) => `t${n}`);
    await Promise.all(tasks.map((task) => ann.handoff({ to: "ann", task, intent: "Go" })));
    const carry = async (): Promise<string[]> => {
      const work = await ann.accept();
      if (work === undefined) return ["nothing"];
      const notes = upTo(5).map((n) => work.note(`step ${n}`));
      const settling = work.complete();
      const kinds = (await Promise.all(notes)).map(({ kind }) => kind);
      return [...kinds, (await settling).kind];
    };
    for (const said of await Promise.all(tasks.map(carry))) {
      expect(said).toEqual([...upTo(5).map(() => "noted"), "settled"]);
    }
    expect((await hub.deliveries.totals()).byState.completed).toBe(tasks.length);
    expect((await hub.verify()).problems).toEqual([]);
  });
});

async function sendTo(hub: Hub): Promise<string[]> {
  const sender = await hub.agent("sender", { role: "sender" });
  await hub.agent("runner", { role: "runner" });
  const sent = await Promise.all(
    upTo(RACED).map((n) => sender.handoff({ to: "runner", task: `t${n - 1}`, intent: "Run" })),
  );
  return sent.map(({ id }) => id);
}

/** Polls events with a cursor, in small pages, so that it is always in the middle. */
function readAlong(hub: Hub): Disposable & { upTo(number: number): Promise<number[]> } {
  const seen: number[] = [];
  let ended = false;
  const poll = async (): Promise<void> => {
    while (!ended) {
      const events = (await hub.events.list({ after: seen.at(-1) ?? 0, limit: 20 })).items;
      seen.push(...events.map(({ number }) => number));
      if (events.length === 0) await new Promise(setImmediate);
    }
  };
  const polling = poll();
  return {
    async upTo(number) {
      await until(`event ${number} is read`, () => (seen.at(-1) ?? 0) >= number);
      ended = true;
      await polling;
      return seen;
    },
    [Symbol.dispose]() {
      ended = true;
    },
  };
}

function upTo(number: number): number[] {
  return Array.from({ length: number }, (_, n) => n + 1);
}

function numbersOf(rows: readonly Readonly<Record<string, unknown>>[], column: string): number[] {
  return rows.map((row) => row[column] as number).sort((a, b) => a - b);
}
