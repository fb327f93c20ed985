/**
 * The search index on PostgreSQL is derived data: however far it is filled, and by whichever hub, a
 * search returns everything that was acknowledged, and nothing that was redacted or pruned.
 */
import pg from "pg";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { sha256 } from "../../src/base/digest.ts";
import { DEFAULT_LIMITS } from "../../src/base/limits.ts";
import { toUnit } from "../../src/search/embedding/embedder.ts";
import { signatureFunctionFor } from "../../src/search/embedding/vector-signature.ts";
import { openPostgresStore } from "../../src/store/postgres/open.ts";
import { INDEX_VERSION } from "../../src/store/postgres/search/indexer.ts";
import type { MemoryRow } from "../../src/store/rows.ts";
import type { Store } from "../../src/store/store.ts";
import { publicVisibility } from "../../src/store/visibility.ts";
import { findMatchingIds, searchOf } from "../../store-contract/suite/records/search.ts";
import { Scene } from "../../store-contract/suite/scene.ts";
import { postgresUrl, type TestSchema, testSchema } from "../support/postgres/schema.ts";
import { randomFrom } from "../support/random.ts";
import { until } from "../support/until.ts";

describe("the search index on PostgreSQL", () => {
  let schema: TestSchema;
  let scene: Scene;
  const others: Store[] = [];

  const open = async (): Promise<Store> =>
    openPostgresStore({ address: schema.address, clock: scene.clock, limits: DEFAULT_LIMITS });

  /** Opens the store again, as another process would. */
  const another = async (): Promise<Store> => {
    const store = await open();
    others.push(store);
    return store;
  };

  beforeEach(async () => {
    schema = testSchema();
    scene = await Scene.open(async ({ clock }) => ({
      store: await openPostgresStore({ address: schema.address, clock, limits: DEFAULT_LIMITS }),
    }));
  });

  afterEach(async () => {
    for (const store of others.splice(0)) await store.close();
    await scene.close();
    await schema[Symbol.asyncDispose]();
  });

  const remember = async (count: number, content = "the anchor", branch = "main") =>
    (
      await scene.remember(
        Array.from({ length: count }, (_, n) =>
          scene.record("ada", { content: `${content} ${n}`, session: `${branch} ${n}` }),
        ),
        { branch },
      )
    ).map(({ id }) => id);

  const found = async (store: Store, text: string, traces = false): Promise<string[]> => {
    const sight = { ...publicVisibility("main"), traces };
    const { hits } = await store.search(searchOf(scene, text, { sight, limit: 100_000 }));
    return hits.filter(({ matchedTerms: said }) => said.length > 0).map(({ row }) => row.id);
  };

  const count = async (table: string, where = "true"): Promise<number> => {
    const [row] = await schema.query(
      `select count(*)::int as n from ${schema.schema}.${table} where workspace > 0 and ${where}`,
    );
    return row?.["n"] as number;
  };

  /** Waits until at least this many records are indexed. */
  const filled = async (least: number): Promise<void> => {
    await until(
      `${least} records are indexed`,
      async () => (await scene.store.indexState()).indexed >= least,
    );
  };

  /** Locks the index, like another hub that is filling it. */
  const holdIndex = async () => {
    const client = new pg.Client(postgresUrl());
    await client.connect();
    const name = `baton index ${schema.schema} ${scene.workspace}`;
    await client.query("select pg_advisory_lock(hashtextextended($1, 0))", [name]);
    let ended: Promise<void> | undefined;
    return {
      isWaitedFor: () =>
        until("a process waits for the index", async () => {
          const [row] = await schema.query(
            "select count(*)::int as n from pg_locks where locktype = 'advisory' and not granted",
          );
          return (row?.["n"] as number) > 0;
        }),
      [Symbol.asyncDispose]: () => (ended ??= client.end()),
    };
  };

  it("finds everything that was acknowledged, from two processes, while it is being filled [MEM-7]", async () => {
    const reader = await another();
    const ids: string[] = [];
    for (let round = 0; round < 8; round++) {
      ids.push(...(await remember(100 + 37 * round)));
      const answers = await Promise.all([
        ...[scene.store, reader].flatMap((store) => [
          found(store, "anchor"),
          found(store, "anchor"),
        ]),
      ]);
      for (const answer of answers) expect(answer.toSorted()).toEqual(ids.toSorted());
    }
    await filled(ids.length - 256);
    expect(await count("postings", "block < 9007199254740992")).toBeGreaterThan(0);
    expect((await found(await another(), "anchor")).sort()).toEqual(ids.sort());
  });

  it("is rebuilt when an earlier version created it [MEM-7]", async () => {
    const ids = await remember(300);
    await filled(300);
    await schema.query(
      `update ${schema.schema}.indexed set version = ${INDEX_VERSION - 1};
       update ${schema.schema}.found set packed = '', reach = 'nobody';
       update ${schema.schema}.postings set positions = '\\x0000000001' where workspace > 0;
       update ${schema.schema}.census set records = 7`,
    );
    const store = await another();
    expect((await found(store, "anchor")).sort()).toEqual(ids.toSorted());
    ids.push(...(await remember(300)));
    await filled(600);
    expect((await found(store, "anchor")).sort()).toEqual(ids.toSorted());
    expect(await count("found")).toBe(600);
  });

  it("is rebuilt with the text of handoffs by hubs that only read [MEM-19]", async () => {
    const payload = { type: "note", data: { remark: "heliograph" } };
    const { place } = await scene.send({ says: { payload } });
    await remember(300);
    await filled(301);
    await schema.query(
      `update ${schema.schema}.indexed set version = ${INDEX_VERSION - 1};
       delete from ${schema.schema}.found where workspace > 0`,
    );
    const store = await another();
    expect(await found(store, "heliograph")).toEqual([place.id]);
    await until("all is indexed again", async () => (await count("found")) === 301);
    expect(await found(store, "heliograph")).toEqual([place.id]);
  });

  it("does not find redacted words that were searched for before anything was indexed [MEM-18]", async () => {
    await using filling = await holdIndex();
    const [secret, other] = await remember(2, "xyzzy");
    expect(await found(scene.store, "xyzzy")).toHaveLength(2);
    expect(await count("indexed")).toBe(0);
    const [row] = await scene.store.readMemories(scene.workspace, [secret as string]);
    const { id, text } = row as MemoryRow;
    const redacting = scene.store.redactBodies({
      ...{ workspace: scene.workspace, branch: "main" },
      memory: scene.record("ada", { content: "taken away", type: "redaction" }),
      erasures: [{ kind: "memory", id, digest: sha256(text), text: '{"content":""}' }],
    });
    await filling.isWaitedFor();
    await filling[Symbol.asyncDispose]();
    expect((await redacting).kind).toBe("redacted");
    expect(await found(scene.store, "xyzzy")).toEqual([other]);
  });

  it("does not keep what was redacted, nor does any process [MEM-18]", async () => {
    const ids = await remember(300, "the password is xyzzy");
    await filled(300);
    const tail = await remember(20, "the password is xyzzy");
    const reader = await another();
    for (const store of [scene.store, reader]) {
      expect(await found(store, "xyzzy")).toHaveLength(320);
    }
    const secrets = [ids[3], tail[3]] as [string, string];
    const rows = await scene.store.readMemories(scene.workspace, secrets);
    const outcome = await scene.store.redactBodies({
      ...{ workspace: scene.workspace, branch: "main" },
      memory: scene.record("ada", { content: "taken away", type: "redaction" }),
      erasures: rows.map(({ id, text }) => ({
        ...{ kind: "memory" as const, id, digest: sha256(text) },
        text: JSON.stringify({ ...(JSON.parse(text) as object), content: "" }),
      })),
    });
    expect(outcome.kind).toBe("redacted");
    const left = [...ids, ...tail].filter((id) => !secrets.includes(id)).toSorted();
    for (const store of [scene.store, await another()]) {
      expect((await found(store, "xyzzy")).sort()).toEqual(left);
    }
    await filled(321);
    expect(await count("found", `id in ('${secrets.join("', '")}')`)).toBe(0);
    // Like a process that did not search while the index was rebuilt up to the same position.
    await schema.query(`update ${schema.schema}.indexed set pos = 300`);
    expect((await found(reader, "xyzzy")).sort()).toEqual(left);
  });

  it("does not find pruned trace steps [MEM-18]", async () => {
    await remember(300, "a step with the anchor", "trace/s1");
    await filled(300);
    const kept = await remember(1);
    expect(await found(scene.store, "anchor", true)).toHaveLength(301);
    await scene.store.pruneTrace({
      ...{ workspace: scene.workspace, branch: "trace/s1", upTo: 300, limit: 1_000 },
    });
    expect(await found(scene.store, "anchor", true)).toEqual(kept);
    expect(await count("found")).toBe(0);
  });

  it("delays pruning while a hub that may have read the steps fills it [MEM-18]", async () => {
    await using filling = await holdIndex();
    await remember(300, "a step with the anchor", "trace/s1");
    await remember(1);
    const pruning = scene.store.pruneTrace({
      ...{ workspace: scene.workspace, branch: "trace/s1", upTo: 300, limit: 1_000 },
    });
    await filling.isWaitedFor();
    expect(await count("memories")).toBe(301);
    await filling[Symbol.asyncDispose]();
    expect(await pruning).toMatchObject({ records: 300 });
    expect(await count("memories")).toBe(1);
  });

  it("finds a replaced vector among more vectors than are compared exactly [MEM-8]", async () => {
    const { workspace } = scene;
    await remember(1_300);
    const random = randomFrom(5);
    const sign = signatureFunctionFor({ dimensions: 8, balanced: false });
    const someVector = () => toUnit(Float32Array.from({ length: 8 }, () => random.next() - 0.5));
    const put = (store: Store, vectors: readonly { pos: number; vector: Float32Array }[]) =>
      store.putVectors({
        ...{ workspace, model: "m", dimensions: 8, upTo: 1_300 },
        vectors: vectors.map(({ pos, vector }) => ({ pos, vector, signature: sign(vector) })),
      });
    const asked = someVector();
    const opposite = asked.map((value) => -value);
    await put(
      scene.store,
      Array.from({ length: 1_300 }, (_, n) => ({
        pos: n + 1,
        vector: n === 6 ? opposite : someVector(),
      })),
    );
    const meant = { model: "m", vector: asked, signature: sign(asked) };
    const nearest = async () => scene.store.search(searchOf(scene, "", { meant }));
    const before = await nearest();
    expect(before.vectors).toBe("quantised");
    expect(before.hits.map(({ row }) => row.seq)).not.toContain(7);
    await put(await another(), [{ pos: 7, vector: asked }]);
    expect((await nearest()).hits[0]?.row.seq).toBe(7);
  });

  it("separates workspaces [OPS-10]", async () => {
    await scene.register("ada", {}, "elsewhere");
    await scene.remember(
      Array.from({ length: 300 }, () => scene.record("ada", "an anchor elsewhere")),
      { workspace: "elsewhere" },
    );
    const here = await remember(300);
    await filled(600);
    expect((await findMatchingIds(scene, "anchor")).sort()).toEqual(here.toSorted());
    const there = await findMatchingIds(scene, "anchor", { workspace: "elsewhere" });
    expect(there).toHaveLength(300);
  });
});
