/**
 * Vectors in an index of pgvector, where the server has that extension: a table for each model of a
 * workspace, so that the nearest are looked for among its records only. What is found is compared
 * again with the bytes that are kept anyway (vectors.ts): whichever way the nearest were found, a
 * likeness is the same number.
 */
import type { Row, Statement } from "../connection.ts";
import type { StatementRunner } from "../lines.ts";

/**
 * How a model's vectors are found: by signatures (vectors-cache.ts), or by an index over them, or over
 * them in half precision.
 */
export type IndexKind = "signatures" | "vector" | "halfvec";
type IndexedKind = Exclude<IndexKind, "signatures">;

/** What pgvector's index takes. */
export const MAX_DIMENSIONS: Readonly<Record<IndexedKind, number>> = {
  vector: 2_000,
  halfvec: 4_000,
};

/** How well it looks: about 99 of 100 true neighbours at 100, and what is asked for at least. */
const MIN_EF_SEARCH = 100;
const MAX_EF_SEARCH = 1_000;

export function indexKindFor(dimensions: number, hasExtension: boolean): IndexKind {
  if (!hasExtension) return "signatures";
  if (dimensions <= MAX_DIMENSIONS.vector) return "vector";
  return dimensions <= MAX_DIMENSIONS.halfvec ? "halfvec" : "signatures";
}

/** The schema pgvector is in, as an identifier; undefined where it is not. */
export async function extensionSchema(read: StatementRunner["read"]): Promise<string | undefined> {
  const [row] = await read(
    {
      name: "baton_extension",
      text: `select quote_ident(n.nspname) from pg_extension e
        join pg_namespace n on n.oid = e.extnamespace where e.extname = 'vector'`,
    },
    [],
  );
  return row?.[0] as string | undefined;
}

/** Takes no transaction of anybody's with it when it may not. */
export async function tryCreateExtension(read: StatementRunner["read"]): Promise<void> {
  const [row] = await read(
    {
      name: "baton_available",
      text: `select exists (select from pg_available_extensions where name = 'vector')
        and not exists (select from pg_extension where extname = 'vector')`,
    },
    [],
  );
  if (row?.[0] !== true) return;
  try {
    await read({ name: "baton_extend", text: "create extension if not exists vector" }, []);
  } catch {
    // Not ours to create: signatures do.
  }
}

/** The statements about one model's table. */
export class HnswTable {
  readonly #read: StatementRunner["read"];
  readonly #table: string;
  readonly #key: number;
  readonly #kind: IndexedKind;

  constructor(
    read: StatementRunner["read"],
    of: { readonly schema: string; readonly key: number; readonly kind: IndexedKind },
  ) {
    this.#read = read;
    this.#table = `${of.schema}.vectors_${of.key}`;
    this.#key = of.key;
    this.#kind = of.kind;
  }

  #run(name: string, text: string, ...values: readonly unknown[]): Promise<Row[]> {
    const statement: Statement = { name: `baton_hnsw_${name}_${this.#key}`, text };
    return this.#read(statement, values);
  }

  async make(dimensions: number, home: string): Promise<void> {
    const type = `${home}.${this.#kind}(${dimensions})`;
    await this.#run(
      "make",
      `create table ${this.#table} (pos bigint primary key, vector ${type} not null)`,
    );
    await this.#run(
      "index",
      `create index on ${this.#table} using hnsw (vector ${home}.${this.#kind}_cosine_ops)`,
    );
  }

  /** The zero vector is near to nothing, and in no index of cosines. */
  async put(
    vectors: readonly { readonly pos: number; readonly vector: Float32Array }[],
    home: string,
  ): Promise<void> {
    const there = vectors.filter(({ vector }) => vector.some((value) => value !== 0));
    await this.#run(
      "put",
      `insert into ${this.#table} (pos, vector)
         select u.pos, u.vector::${home}.${this.#kind} from unnest($1::bigint[], $2::text[])
           as u(pos, vector)
       on conflict (pos) do update set vector = excluded.vector`,
      there.map(({ pos }) => pos),
      there.map(({ vector }) => literal(vector)),
    );
  }

  async forget(positions: readonly number[]): Promise<void> {
    await this.#run(
      "forget",
      `delete from ${this.#table} where pos = any ($1::bigint[])`,
      positions,
    );
  }

  /** Nearest first, inside a transaction of the caller's. */
  async nearest(vector: Float32Array, limit: number, home: string): Promise<number[]> {
    const looked = Math.min(MAX_EF_SEARCH, Math.max(MIN_EF_SEARCH, limit));
    await this.#run("width", "select set_config('hnsw.ef_search', $1, true)", String(looked));
    const rows = await this.#run(
      "nearest",
      `select pos from ${this.#table}
       order by vector operator(${home}.<=>) $1::text::${home}.${this.#kind} limit $2`,
      literal(vector),
      limit,
    );
    return rows.map(([pos]) => pos as number);
  }

  async drop(): Promise<void> {
    await this.#run("drop", `drop table if exists ${this.#table}`);
  }
}

const literal = (vector: Float32Array): string => `[${vector.join(",")}]`;
