/**
 * Vector search on PostgreSQL with pgvector: an HNSW index and a table for each model, half
 * precision for many dimensions, and signatures for too many. Runs a real PostgreSQL with the real
 * extension in this process (support/postgres/pglite.ts).
 */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { toUnit } from "../../src/search/embedding/embedder.ts";
import { signatureFunctionFor } from "../../src/search/embedding/vector-signature.ts";
import { queryOf } from "../../src/search/query.ts";
import { EFFORT } from "../../src/search/rank.ts";
import { WEIGHTS } from "../../src/search/weights.ts";
import { deleteVectors } from "../../src/store/postgres/search/delete-vectors.ts";
import { tryCreateExtension } from "../../src/store/postgres/search/hnsw-table.ts";
import { Searcher } from "../../src/store/postgres/search/searcher.ts";
import {
  dropModel,
  findUnembedded,
  listModels,
  putVectors,
} from "../../src/store/postgres/search/vector-search.ts";
import type { SearchMemories } from "../../src/store/search.ts";
import { publicVisibility } from "../../src/store/visibility.ts";
import { type InProcess, startPglite } from "../support/postgres/pglite.ts";
import { randomFrom } from "../support/random.ts";

const WORKSPACE = "here";
const RECORDS = 300;
const DIMENSIONS = 24;
const NOW = 1_770_000_000_000;

describe("vector search with pgvector", () => {
  let server: InProcess;
  let searcher = new Searcher();
  let random = randomFrom(20);
  const vectors = Array.from({ length: RECORDS }, () => someVector(DIMENSIONS));

  function someVector(dimensions: number): Float32Array {
    return toUnit(Float32Array.from({ length: dimensions }, () => random.next() - 0.5));
  }

  beforeAll(async () => {
    server = await startPglite();
    await remember(server);
  }, 120_000);

  beforeEach(() => {
    random = randomFrom(21);
  });

  afterAll(() => server?.[Symbol.asyncDispose]());

  const withExtension = (): Promise<void> => tryCreateExtension(server.reader.read);

  async function withoutExtension(): Promise<void> {
    await server.ask("drop extension if exists vector cascade", []);
    searcher = new Searcher();
  }

  async function put(model: string, given: readonly Float32Array[], from = 1): Promise<void> {
    const dimensions = given[0]?.length ?? DIMENSIONS;
    const sign = signatureFunctionFor({ dimensions, balanced: false });
    await server.inOneGo((reader) =>
      putVectors(reader, {
        ...{ workspace: WORKSPACE, model, dimensions, upTo: RECORDS },
        vectors: given.map((vector, n) => ({ pos: from + n, vector, signature: sign(vector) })),
      }),
    );
  }

  async function nearestTo(model: string, vector: Float32Array, limit = 10) {
    const signature = signatureFunctionFor({ dimensions: vector.length, balanced: false })(vector);
    const operation: SearchMemories = {
      ...{ workspace: WORKSPACE, sight: publicVisibility("main"), filter: {}, limit },
      ranking: {
        ...{ query: queryOf(""), weights: WEIGHTS, effort: EFFORT, now: NOW },
        ...{ graph: { depth: 0, visits: 0 }, superseded: "marked" },
      },
      meant: { model, vector, signature },
    };
    const answer = await server.inOneGo((reader) => searcher.search(reader, operation));
    return { compared: answer.vectors, found: answer.hits.map(({ row }) => row.seq) };
  }

  /** Returns the nearest records, computed without an index. */
  function exactly(vector: Float32Array, limit = 10): number[] {
    const likeness = (other: Float32Array): number =>
      other.reduce((sum, value, d) => sum + value * (vector[d] ?? 0), 0);
    return vectors
      .map((other, n) => ({ seq: n + 1, like: likeness(other) }))
      .sort((a, b) => b.like - a.like)
      .slice(0, limit)
      .map(({ seq }) => seq);
  }

  const comparedBy = async (model: string): Promise<string | undefined> =>
    (await listModels(server.reader, WORKSPACE)).find((each) => each.model === model)?.compared;

  const tables = async (): Promise<string[]> => {
    const rows = await server.ask(
      "select tablename from pg_tables where schemaname = '$schema' and tablename ~ '^vectors_'",
      [],
    );
    return rows.map(([name]) => name as string).sort();
  };

  it("compares signatures without the extension, and reports it [MEM-8]", async () => {
    await withoutExtension();
    const before = await tables();
    await put("plain", vectors);
    const { compared, found } = await nearestTo("plain", vectors[6] as Float32Array);
    expect(compared).toBe("exact");
    expect(found[0]).toBe(7);
    expect(await comparedBy("plain")).toMatch(/signatures.*does not have pgvector/);
    expect(await tables()).toEqual(before);
  });

  it("uses an HNSW index with the extension, and reports it [MEM-8]", async () => {
    await withExtension();
    const before = await tables();
    await put("indexed", vectors.slice(0, 200));
    await put("indexed", vectors.slice(200), 201);
    expect(await comparedBy("indexed")).toBe("with a pgvector HNSW index");
    const [table] = (await tables()).filter((name) => !before.includes(name));
    await server.ask("set enable_seqscan = off", []);
    const plan = await server.ask(
      `explain select pos from $schema.${table} order by vector <=> $1::text::vector limit 10`,
      [`[${someVector(DIMENSIONS)}]`],
    );
    await server.ask("reset enable_seqscan", []);
    expect(plan.join("\n")).toContain("Index Scan using");
    for (let n = 0; n < 20; n++) {
      const asked = someVector(DIMENSIONS);
      const { compared, found } = await nearestTo("indexed", asked);
      expect(compared).toBe("hnsw");
      const missed = exactly(asked).filter((seq) => !found.includes(seq));
      // Storing a byte for each number may change the order of the last hits.
      expect(missed.length).toBeLessThanOrEqual(1);
    }
  });

  it("reports that pgvector was not installed when a model was added [MEM-8]", async () => {
    await withoutExtension();
    await put("begun before", vectors);
    await withExtension();
    expect(await comparedBy("begun before")).toMatch(
      /pgvector was not installed when the model was added/,
    );
  });

  it("replaces the vector of a record when it is written again [MEM-8]", async () => {
    await withExtension();
    await put("said again", vectors);
    const turned = (vectors[6] as Float32Array).map((value) => -value);
    await put("said again", [turned], 7);
    expect((await nearestTo("said again", turned)).found[0]).toBe(7);
    expect((await nearestTo("said again", vectors[6] as Float32Array)).found).not.toContain(7);
    await put("said again", [vectors[6] as Float32Array], 7);
    expect((await nearestTo("said again", vectors[6] as Float32Array)).found[0]).toBe(7);
  });

  it("deletes the vector of a redacted record from every table [MEM-18]", async () => {
    await withoutExtension();
    await put("redacted plain", vectors);
    await withExtension();
    const before = await tables();
    await put("redacted indexed", vectors);
    const added = (await tables()).filter((name) => !before.includes(name));
    expect(added).toHaveLength(1);
    const count = async (where: string): Promise<unknown> =>
      (await server.ask(`select count(*) from $schema.${where} pos = 9`, []))[0]?.[0];
    const places = [
      "vectors where workspace > 0 and",
      ...(await tables()).map((table) => `${table} where`),
    ];
    expect(await count(`${added[0]} where`)).toBe(1);
    const [key] = (await server.ask("select key from $schema.workspaces", []))[0] as [number];
    await server.inOneGo(() => deleteVectors(server.ask, key, { kind: "memory", id: "mem-9" }));
    for (const model of ["redacted plain", "redacted indexed"]) {
      expect((await nearestTo(model, vectors[8] as Float32Array)).found).not.toContain(9);
    }
    for (const place of places) expect(await count(place), place).toBe(0);
  });

  it.each([
    {
      dimensions: 2_001,
      says: /half precision: 2001 dimensions exceed the 2000/,
      how: "hnsw",
    },
    { dimensions: 4_001, says: /at most 4000 dimensions, and this model has 4001/, how: "exact" },
  ])("uses another method for $dimensions dimensions, and reports why [MEM-8]", async (of) => {
    await withExtension();
    const { dimensions, says, how } = of;
    const model = `of ${dimensions}`;
    const given = Array.from({ length: 20 }, () => someVector(dimensions));
    await put(model, given);
    expect(await comparedBy(model)).toMatch(says);
    const { compared, found } = await nearestTo(model, given[4] as Float32Array);
    expect(compared).toBe(how);
    expect(found[0]).toBe(5);
  });

  it("does not return a record with a zero vector [MEM-8]", async () => {
    await withExtension();
    await put("empty", [new Float32Array(DIMENSIONS), vectors[1] as Float32Array]);
    expect((await nearestTo("empty", vectors[1] as Float32Array)).found).toEqual([2]);
  });

  it("drops the table of a model with the model [MEM-8]", async () => {
    await withExtension();
    const before = await tables();
    await put("dropped", vectors);
    expect((await tables()).length - before.length).toBe(1);
    await server.inOneGo((reader) => dropModel(reader, WORKSPACE, "dropped"));
    expect(await tables()).toEqual(before);
    const slice = await findUnembedded(server.reader, {
      ...{ workspace: WORKSPACE, model: "dropped", limit: 5 },
    });
    expect(slice).toMatchObject({ done: 0, total: RECORDS });
    expect(slice.records).toHaveLength(5);
  });

  it("compares signatures after the extension is dropped [MEM-8]", async () => {
    await withExtension();
    await put("taken away", vectors);
    expect((await nearestTo("taken away", vectors[6] as Float32Array)).compared).toBe("hnsw");
    await withoutExtension();
    const { compared, found } = await nearestTo("taken away", vectors[6] as Float32Array);
    expect(compared).toBe("exact");
    expect(found[0]).toBe(7);
    await put("taken away", [vectors[6] as Float32Array], 7);
  });
});

/**
 * Inserts the records as rows: the functions that write belong to the store and need its
 * connections.
 */
async function remember({ ask }: InProcess): Promise<void> {
  await ask("insert into $schema.workspaces (name, position) values ($1, $2)", [
    ...[WORKSPACE, RECORDS],
  ]);
  await ask(`insert into $schema.chains select key, 1, $1, 0, '', 'main' from $schema.workspaces`, [
    RECORDS,
  ]);
  const texts = Array.from({ length: RECORDS }, (_, n) =>
    JSON.stringify({
      ...{ agent: "ada", instance: `i${n}`, type: "fact", content: `record ${n + 1}` },
      createdAt: NOW,
    }),
  );
  await ask(
    `insert into $schema.memories (workspace, pos, chain, seq, stored_at, id, link, signature, text)
     select w.key, u.n, 1, u.n, $2, 'mem-' || u.n, '', '', u.text
     from $schema.workspaces w, unnest($1::text[]) with ordinality as u(text, n)`,
    [texts, NOW],
  );
}
