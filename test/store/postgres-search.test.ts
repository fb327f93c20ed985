/**
 * PostgreSQL, SQLite and the reference store return the same ranked hits for the same records and
 * the same query, with part of the records in the index and part beyond it, for any reader and any
 * filter.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { DEFAULT_LIMITS } from "../../src/base/limits.ts";
import { type MemoryInput, RELATION_KINDS } from "../../src/memory/record.ts";
import { toUnit } from "../../src/search/embedding/embedder.ts";
import { signatureFunctionFor } from "../../src/search/embedding/vector-signature.ts";
import { openPostgresStore } from "../../src/store/postgres/open.ts";
import type { SearchFilter, SearchMemories, SearchResult } from "../../src/store/search.ts";
import { openSqliteStore } from "../../src/store/sqlite/open.ts";
import { ANONYMOUS_READER, END_OF_BRANCH, type Visibility } from "../../src/store/visibility.ts";
import { openReferenceStore } from "../../store-contract/reference/open.ts";
import { searchOf } from "../../store-contract/suite/records/search.ts";
import { type OpenStore, Scene } from "../../store-contract/suite/scene.ts";
import { testSchema } from "../support/postgres/schema.ts";
import { chosenSeed, type Random, randomFrom } from "../support/random.ts";
import { runs } from "../support/runs.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { until } from "../support/until.ts";

const OPENED: Record<"reference" | "sqlite" | "postgres", OpenStore> = {
  reference: async ({ clock }) => ({ store: openReferenceStore({ clock }) }),
  sqlite: async ({ clock }) => {
    const folder = temporaryFolder();
    const file = folder.file("hub.db");
    return {
      store: await openSqliteStore({ file, clock, limits: DEFAULT_LIMITS }),
      dispose: async () => folder[Symbol.dispose](),
    };
  },
  postgres: async ({ clock }) => {
    const schema = testSchema();
    const { address } = schema;
    return {
      store: await openPostgresStore({ address, clock, limits: DEFAULT_LIMITS }),
      dispose: async () => schema[Symbol.asyncDispose](),
    };
  },
};

const seed = chosenSeed();
const RECORDS = 420;
const BATCH = 20;
/** PostgreSQL indexes the first batch, then every 256 records: the rest stays beyond the index. */
const INDEXED = 280;
const QUESTIONS = runs(120);
const DIMENSIONS = 16;
const MODEL = "random";
const HOUR = 3_600_000;
const WORDS = (
  "anchor boat harbour sail storm rope chain engine crew captain deck cargo port chart wind tide " +
  "signal lamp fuel repair inspect delay schedule weather radio pilot dock crane customs manifest"
).split(" ") as [string, ...string[]];
const BRANCHES = ["main", "main", "main", "side", "trace/s1"] as const;
const AGENTS = ["ada", "ben", "cyd"] as const;

describe(`ranked search, seed ${seed}`, () => {
  const scenes = new Map<string, Scene>();
  const sign = signatureFunctionFor({ dimensions: DIMENSIONS, balanced: false });

  beforeAll(async () => {
    for (const [name, open] of Object.entries(OPENED)) {
      const scene = await Scene.open(open);
      scenes.set(name, scene);
      await fill(scene, randomFrom(seed), name === "postgres" ? INDEXED : undefined);
      await embed(scene, randomFrom(seed + 1));
    }
  }, 120_000);

  afterAll(async () => {
    for (const scene of scenes.values()) {
      await scene.close(); // No single reader sees all edges: nothing to verify.
      await scene.end();
    }
  });

  const random = randomFrom(seed + 2);
  const questions = Array.from({ length: QUESTIONS }, () => question(random));

  const alike = async (ask: (scene: Scene) => SearchMemories, store: string): Promise<void> => {
    const [expected, answer] = await Promise.all(
      ["reference", store].map((name) => {
        const scene = scenes.get(name) as Scene;
        return scene.store.search(ask(scene));
      }),
    );
    expect(comparable(answer as SearchResult)).toEqual(comparable(expected as SearchResult));
  };

  it.each(questions)(
    "%s returns the same hits on PostgreSQL as on the reference store [MEM-8]",
    (_text, ask) => alike(ask, "postgres"),
  );

  it.each(questions.filter(([text]) => !isMeant(text)))(
    "%s returns the same hits on SQLite as on the reference store [MEM-8]",
    (_text, ask) => alike(ask, "sqlite"),
  );

  // SQLite preselects the nearest by signatures: the last hits may differ.
  it.each(questions.filter(([text]) => isMeant(text)))(
    "%s returns nearly the same first ten hits on SQLite [MEM-8]",
    async (_text, ask) => {
      const [expected, answer] = await Promise.all(
        ["reference", "sqlite"].map(async (name) => {
          const scene = scenes.get(name) as Scene;
          const { hits } = await scene.store.search(ask(scene));
          return hits.slice(0, 10).map(({ row }) => row.id);
        }),
      );
      const missed = (expected ?? []).filter((id) => !answer?.includes(id));
      expect(missed.length).toBeLessThanOrEqual(2);
    },
  );

  it("covers every kind of hit with its random queries", async () => {
    const scene = scenes.get("postgres") as Scene;
    const answers = await Promise.all(
      questions.map(([_text, ask]) => scene.store.search(ask(scene))),
    );
    const found = answers.flatMap(({ hits }) => hits);
    expect(answers.filter(({ hits }) => hits.length > 0).length).toBeGreaterThan(QUESTIONS / 2);
    for (const { index } of answers) expect(index.indexed).toBeLessThan(index.records);
    const has = (is: (hit: (typeof found)[number]) => unknown): number => found.filter(is).length;
    expect(has(({ neighbourTerms: terms }) => terms.length > 0)).toBeGreaterThan(0);
    expect(has(({ connected }) => connected)).toBeGreaterThan(0);
    expect(has(({ supersededBy }) => supersededBy.length > 0)).toBeGreaterThan(0);
    expect(has(({ similarity }) => similarity)).toBeGreaterThan(0);
    expect(has(({ row }) => row.branch.startsWith("trace/"))).toBeGreaterThan(0);
    expect(has(({ row }) => row.text.includes('"scope":"agent"'))).toBeGreaterThan(0);
  });

  function isMeant(text: string): boolean {
    return text.endsWith('"with meaning"]');
  }

  function question(from: Random): [text: string, ask: (scene: Scene) => SearchMemories] {
    const text = sentence(from, 1 + from.below(5));
    const filter = narrowed(from);
    const sight = looking(from);
    const superseded = from.chance(0.5) ? ("marked" as const) : ("left-out" as const);
    const depth = from.below(3);
    const page = from.pick([{ limit: 10 }, { limit: 5 }, { limit: 50 }, { limit: 500 }]);
    const vector = from.chance(0.4) ? someDirection(from) : undefined;
    const said = [text, filter, sight, superseded, depth, page, vector ? "with meaning" : ""];
    return [
      JSON.stringify(said),
      (scene) => {
        const { ranking, ...rest } = searchOf(scene, text, { filter, sight, ...page });
        const graph = { depth, visits: 40 };
        return {
          ...{ ...rest, ranking: { ...ranking, superseded, graph } },
          ...(vector && { meant: { model: MODEL, vector, signature: sign(vector) } }),
        };
      },
    ];
  }

  /** Writes the same vectors for the same records on every store. */
  async function embed({ store, workspace }: Scene, from: Random): Promise<void> {
    const slice = await store.findUnembedded({ workspace, model: MODEL, limit: RECORDS });
    const few = slice.records.filter((_, n) => n % 3 === 0); // Fewer than stores compare exactly.
    const vectors = few.map(({ pos }) => {
      const vector = someDirection(from);
      return { pos, vector, signature: sign(vector) };
    });
    const { upTo } = slice;
    await store.putVectors({ workspace, model: MODEL, dimensions: DIMENSIONS, vectors, upTo });
  }
});

const sentence = (from: Random, words: number): string =>
  Array.from({ length: words }, () => from.pick(WORDS)).join(" ");

function someDirection(from: Random): Float32Array {
  return toUnit(Float32Array.from({ length: DIMENSIONS }, () => from.next() - 0.5));
}

/**
 * Writes the records. Waits when `indexed` of them are written until they are indexed; otherwise
 * the result would depend on how fast that is.
 */
async function fill(scene: Scene, from: Random, indexed: number | undefined): Promise<void> {
  const ids: string[] = [];
  for (let n = 0; n < RECORDS; n += BATCH) {
    const branch = from.pick(BRANCHES);
    const records = Array.from({ length: BATCH }, () => {
      const record = scene.record(from.pick(AGENTS), input(from, scene.now, ids));
      ids.push(record.id);
      return record;
    });
    await scene.remember(records, { branch });
    await scene.clock.advance(7 * HOUR);
    if (n + BATCH === indexed) {
      const isIndexed = async () => (await scene.store.indexState()).indexed === indexed;
      await until("what there is so far is indexed", isIndexed);
    }
  }
}

function input(from: Random, now: number, ids: readonly string[]): MemoryInput {
  const maybe = <Value>(probability: number, value: () => Value): Value | undefined =>
    from.chance(probability) ? value() : undefined;
  const earlier = (): string => ids[from.below(ids.length)] ?? "";
  const given = {
    session: `s${from.below(12)}`,
    type: maybe(0.5, () => from.pick(["plan", "risk", "fact"])),
    task: maybe(0.3, () => `t${from.below(4)}`),
    run: maybe(0.2, () => `r${from.below(3)}`),
    tags: maybe(0.4, () => [from.pick(WORDS)]),
    concepts: maybe(0.2, () => [from.pick(WORDS)]),
    importance: maybe(0.4, () => from.below(10) / 10),
    confidence: maybe(0.3, () => from.below(10) / 10),
    scope: maybe(0.15, () => from.pick(["agent", "session", "team"] as const)),
    validFrom: maybe(0.2, () => now - from.below(1_000) * HOUR),
    validUntil: maybe(0.1, () => now + from.below(1_000) * HOUR),
    refs: ids.length === 0 ? undefined : maybe(0.1, () => [earlier()]),
    relations:
      ids.length === 0
        ? undefined
        : maybe(0.3, () => [
            { kind: from.pick(RELATION_KINDS as unknown as ["supports"]), to: earlier() },
          ]),
  };
  const content = `${sentence(from, 3 + from.below(30))}${from.chance(0.2) ? "?" : "."}`;
  const entries = Object.entries(given).filter(([, value]) => value !== undefined);
  return { content, ...Object.fromEntries(entries) };
}

function narrowed(from: Random): SearchFilter {
  if (from.chance(0.4)) return {};
  return from.pick<SearchFilter>([
    { types: ["plan"] },
    { types: ["plan", "risk"], agents: ["ada"] },
    { agents: ["ben"] },
    { sessions: ["s3", "s4"] },
    { tasks: ["t1"] },
    { runs: ["r1", "r2"] },
    { tags: [from.pick(WORDS)] },
    { concepts: [from.pick(WORDS)] },
    { scopes: ["agent"] },
    { branches: ["side"] },
    { minImportance: 0.6 },
    { minConfidence: 0.5, types: ["fact"] },
  ]);
}

function looking(from: Random): Visibility {
  return {
    lines: from.pick<Visibility["lines"]>([
      [{ branch: "main", upTo: END_OF_BRANCH }],
      [{ branch: "main", upTo: 100 }],
      [
        { branch: "side", upTo: END_OF_BRANCH },
        { branch: "main", upTo: 150 },
      ],
      [{ branch: "side", upTo: END_OF_BRANCH }],
    ]),
    reader: from.pick([ANONYMOUS_READER, { agent: "ada", session: "s1", user: "" }]),
    traces: from.chance(0.2),
    quarantined: [],
  };
}

/** Removes what stores may do in their own way, and rounds numbers as far as they have to agree. */
function comparable({ hits, more }: SearchResult): object {
  const rounded = (value: unknown): unknown =>
    typeof value === "number" ? Number(value.toFixed(9)) : value;
  return {
    more,
    hits: hits.map(({ row, score, parts, similarity, ...rest }) => ({
      ...rest,
      id: row.id,
      score: rounded(score),
      similarity: rounded(similarity),
      parts: Object.fromEntries(Object.entries(parts).map(([name, part]) => [name, rounded(part)])),
    })),
  };
}
