/**
 * The cost of operations on PostgreSQL, in rows read, which must not grow with the stored data.
 * Compares the server's own counters after the same operation on a new store and on one with a
 * history, whatever plan the server has chosen.
 */
import pg from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { DEFAULT_LIMITS } from "../../src/base/limits.ts";
import { type Agent, type Hub, openHub } from "../../src/index.ts";
import { openPostgresStore } from "../../src/store/postgres/open.ts";
import { type StatementName, statementsIn } from "../../src/store/postgres/statements.ts";
import type { Store } from "../../src/store/store.ts";
import { Scene } from "../../store-contract/suite/scene.ts";
import { postgresUrl, testSchema } from "../support/postgres/schema.ts";
import { until } from "../support/until.ts";

/** Five times `SLACK`: a cost of one row per handoff would show. */
const HISTORY = 1_000;
/** Records with a relation each, which are quick to write: a small table does not need an index. */
const RELATED = 5_000;
/**
 * A new store has fewer than ten memories to return, no dead entries to skip, and no list yet for
 * most of the words that are indexed later: about thirty for each record.
 */
const SLACK = 200;

interface Cast {
  readonly hub: Hub;
  readonly ada: Agent;
  readonly ben: Agent;
}

const schema = testSchema();

async function cast(): Promise<Cast> {
  const hub = await openHub(schema.address);
  const ada = await hub.agent("ada", { role: "planner" });
  const ben = await hub.agent("ben", { role: "coder" });
  return { hub, ada, ben };
}

/**
 * Returns the rows read from tables and the entries read from indexes so far. The counts of a
 * session are complete when the server has ended it, some time after its client has closed it.
 */
async function touched({ schema: name, query } = schema): Promise<number> {
  const sessions = `select 1 from pg_stat_activity where application_name = '${name}'`;
  await until("all sessions have ended", async () => (await query(sessions)).length === 0);
  const [row] = await query(
    `select (select sum(seq_tup_read + coalesce(idx_tup_fetch, 0)) from pg_stat_user_tables
         where schemaname = $1)
       + (select sum(idx_tup_read) from pg_stat_user_indexes where schemaname = $1) as rows`,
    [name],
  );
  return Number(row?.["rows"]);
}

/** Measures with a hub of its own, whose sessions end with it. */
async function rowsTouchedBy(act: (cast: Cast) => Promise<unknown>): Promise<number> {
  const before = await touched();
  const actors = await cast();
  await act(actors);
  await actors.hub.close();
  return (await touched()) - before;
}

let sent = 0;
const handoff = ({ ada }: Cast, task = `task ${sent++}`) =>
  ada.handoff({ to: "ben", task, intent: "Do it", next: ["one step"] });

const OPERATIONS: Record<string, (cast: Cast) => Promise<unknown>> = {
  "remembering a fact": ({ ada }) => ada.remember({ content: "a fact" }),
  "handing off": (cast) => handoff(cast),
  "handing off, accepting and completing": async (cast) => {
    await handoff(cast);
    await (await cast.ben.accept())?.complete({ summary: "done" });
  },
  "offering, accepting and failing": async (cast) => {
    await handoff(cast);
    for await (const offer of cast.ben.inbox({ wait: false })) {
      await (await offer.accept()).fail({ message: "no", class: "permanent" });
    }
  },
  "extending a waiting handoff": async (cast) => {
    await handoff(cast, "twice");
    await handoff(cast, "twice");
    await (await cast.ben.accept({ task: "twice" }))?.decline("enough");
  },
  "accepting from an empty inbox": ({ ben }) => ben.accept(),
  "listing waiting deliveries": ({ ben }) => ben.deliveries.waiting(),
  "listing the newest ten deliveries": ({ hub }) => hub.deliveries.list({ limit: 10 }),
  "listing the newest ten memories": ({ hub }) => hub.memories.recent({ limit: 10 }),
  "listing a page of events": ({ hub }) => hub.events.list({ after: 0, limit: 10 }),
};

async function makeHistory(): Promise<void> {
  const actors = await cast();
  let next = 0;
  await Promise.all(
    Array.from({ length: 64 }, async () => {
      while (next++ < HISTORY) {
        await handoff(actors);
        await (await actors.ben.accept())?.complete({ summary: "done" });
      }
    }),
  );
  await relate(actors.ada);
  await actors.hub.close();
}

async function relate(ada: Agent): Promise<void> {
  let targets: readonly string[] = [];
  for (let written = 0; written < RELATED; written += targets.length) {
    const records = Array.from({ length: 500 }, (_, n) => {
      const to = targets[n];
      const relations = to === undefined ? [] : [{ kind: "supports" as const, to }];
      return { content: `record ${written + n}`, relations };
    });
    targets = (await ada.remember(records)).map(({ id }) => id);
  }
}

/** Statements that read a whole workspace, or the whole store, by design. */
const READS_EVERYTHING: readonly StatementName[] = [
  "countStates",
  "countEnvelopes",
  "totals",
  "indexTotals",
];
/** The tables that hold history. */
const HISTORIES =
  /Seq Scan on (memories|relations|envelopes|deliveries|attempts|events|entries|facets|postings|found|vectors)/;

/** The statements that read, each with the index that finds its rows. */
const FOUND_BY: Partial<Record<StatementName, string>> = {
  agentByName: "agent_names_pkey",
  memories: "memories_id",
  places: "memories_id",
  memoriesBackward: "memories_seq",
  memoriesTail: "memories_pkey",
  memoriesBefore: "memories_pkey",
  lastOf: "memories_seq",
  tips: "memories_seq",
  position: "memories_id",
  memoriesByFacet: "facets_pkey",
  postings: "postings_pkey",
  found: "found_pkey",
  foundWithText: "found_pkey",
  beside: "found_session",
  edgesAround: "relations_target",
  memoriesBeyond: "memories_pkey",
  memoriesAt: "memories_pkey",
  vectorsAt: "vectors_pkey",
  signaturesAfter: "vectors_pkey",
  memoriesAfter: "memories_pkey",
  memoriesOfChain: "memories_seq",
  edgesOut: "relations_pkey",
  edgesInto: "relations_target",
  beyondIn: "relations_target",
  beyondOut: "relations_pkey",
  delivery: "deliveries_pkey",
  deliveryRow: "deliveries_pkey",
  openWork: "deliveries_open",
  openDeliveries: "deliveries_inbox",
  openOfTask: "deliveries_open",
  countOpen: "deliveries_inbox",
  parked: "deliveries_parked",
  browse: "deliveries_pkey",
  due: "deliveries_lapsing",
  entry: "entries_pkey",
  entries: "entries_pkey",
  processes: "deliveries_held",
  line: "envelopes_task",
  envelope: "envelopes_pkey",
  deliveriesOf: "deliveries_pkey",
  attempts: "attempts_pkey",
  events: "events_pkey",
};

describe("rows read on PostgreSQL", () => {
  const young = new Map<string, number>();
  const old = new Map<string, number>();

  // A table may be too small for an index: what counts is the index that it will use.
  const planner = new pg.Client({
    connectionString: postgresUrl(),
    options: "-c enable_seqscan=off",
  });

  beforeAll(async () => {
    await planner.connect();
    await cast().then(({ hub }) => hub.close());
    for (const [name, act] of Object.entries(OPERATIONS)) {
      young.set(name, await rowsTouchedBy(act));
    }
    await makeHistory();
    await rowsTouchedBy(async ({ hub, ada }) => {
      await ada.remember({ content: "what was left to index is indexed" });
      await until("everything is indexed", async () => {
        const { records, indexed } = await hub.index.state();
        return records === indexed;
      });
    });
    await schema.query(
      `vacuum analyze ${["memories", "relations", "envelopes", "deliveries", "attempts", "events", "facets", "postings", "found"].map((table) => `${schema.schema}.${table}`).join(", ")}`,
    );
    for (const [name, act] of Object.entries(OPERATIONS)) {
      old.set(name, await rowsTouchedBy(act));
    }
  }, 120_000);

  afterAll(async () => {
    await planner.end();
    await schema[Symbol.asyncDispose]();
  });

  it.each(Object.keys(OPERATIONS))("%s costs no more after a long history [OPS-10]", (name) => {
    const before = young.get(name) ?? 0;
    expect(old.get(name)).toBeLessThanOrEqual(before + SLACK);
    expect(before).toBeGreaterThan(0);
  });

  const sql = statementsIn(schema.schema);
  const planOf = async (name: StatementName): Promise<string> => {
    const { rows } = await planner.query(`explain (generic_plan) ${sql[name].text}`);
    return rows.map((row) => row["QUERY PLAN"]).join("\n");
  };
  const reading = (Object.keys(sql) as StatementName[]).filter(
    (name) => /^(select|with)/.test(sql[name].text) && !READS_EVERYTHING.includes(name),
  );

  it.each(reading)("%s does not scan a table with history [OPS-10]", async (name) => {
    expect(await planOf(name)).not.toMatch(HISTORIES);
  });

  it.each(Object.entries(FOUND_BY))("%s finds its rows by %s", async (name, index) => {
    expect(await planOf(name as StatementName)).toContain(index);
  });
});

describe("rows read on PostgreSQL with many agents", () => {
  const many = testSchema();
  const open = () =>
    openPostgresStore({ address: many.address, clock: scene.clock, limits: DEFAULT_LIMITS });
  const team = Array.from({ length: 1_000 }, (_, n) => `agent-${n}`);
  let scene: Scene;

  /** Runs while the scene's own store is closed, so that its background work is not counted. */
  let whileClosed = async (): Promise<void> => {};

  /** Measures with a store of its own, whose sessions end with it. */
  async function rowsTouchedOn(act: (store: Store) => Promise<unknown>): Promise<number> {
    let rows = 0;
    whileClosed = async () => {
      const before = await touched(many);
      const store = await open();
      await act(store);
      await store.close();
      rows = (await touched(many)) - before;
    };
    await scene.reopen();
    return rows;
  }

  beforeAll(async () => {
    scene = await Scene.open(async ({ clock }) => ({
      store: await openPostgresStore({ address: many.address, clock, limits: DEFAULT_LIMITS }),
      reopen: async () => {
        await whileClosed();
        return open();
      },
    }));
    await Promise.all(team.map((id) => scene.register(id, { role: "crew" })));
  });

  afterAll(async () => {
    await scene.end();
    await many[Symbol.asyncDispose]();
  });

  it("publishing to a thousand agents costs at most 1.5 times as much per agent as to ten", async () => {
    const each: number[] = [];
    for (const count of [10, 1_000]) {
      const publication = scene.publication(team.slice(0, count), { task: `to ${count}` });
      const rows = await rowsTouchedOn(async (store) => {
        expect(await store.sendHandoff(publication)).toMatchObject({ kind: "sent" });
      });
      each.push(rows / count);
    }
    const [few = 0, lots = 0] = each;
    expect(lots).toBeLessThanOrEqual(1.5 * few);
  });

  it("claiming from two inboxes costs no more when they are long", async () => {
    const claim = scene.claimOf("agent-7");
    const rows: number[] = [];
    for (const length of [1, 500]) {
      for (let n = 0; n < length; n++) {
        await Promise.all([
          scene.send({ to: "agent-7", task: `own ${length} ${n}` }),
          scene.send({ to: "role:crew", task: `shared ${length} ${n}` }),
        ]);
      }
      rows.push(
        await rowsTouchedOn(async (store) => {
          expect(await store.claimDeliveries(claim)).toMatchObject({ kind: "claimed" });
        }),
      );
    }
    const [short = 0, long = 0] = rows;
    expect(long).toBeLessThanOrEqual(short + SLACK);
  });
});
