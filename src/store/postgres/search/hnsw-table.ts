/**
 * The pgvector index of one model, used if the server has that extension: a table per model and workspace, so
 * that only its records are searched. Results are compared again with the stored bytes (vector-search.ts), so
 * that a similarity is the same number, whichever way the nearest were found.
 */
import type { Row, Statement } from "../connection.ts";
import type { StatementRunner } from "../lines.ts";

/**
 * How the nearest vectors of a model are found: by signatures (signature-cache.ts), or with an index in full
 * or half precision.
 */
export type IndexKind = "signatures" | "vector" | "halfvec";
type IndexedKind = Exclude<IndexKind, "signatures">;

/** Maximum number of dimensions that a pgvector index supports. */
export const MAX_DIMENSIONS: Readonly<Record<IndexedKind, number>> = {
  vector: 2_000,
  halfvec: 4_000,
};

/** Search width: 100 finds about 99 % of the true neighbours; at least the number of requested results. */
const MIN_EF_SEARCH = 100;
const MAX_EF_SEARCH = 1_000;

/** Returns the kind of index for a new model. */
export function indexKindFor(dimensions: number, hasExtension: boolean): IndexKind {
  if (!hasExtension) return "signatures";
  if (dimensions <= MAX_DIMENSIONS.vector) return "vector";
  return dimensions <= MAX_DIMENSIONS.halfvec ? "halfvec" : "signatures";
}

/** Returns the schema of the pgvector extension, as an identifier; undefined if it is not installed. */
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

/** Creates the extension if it is available. Runs outside of transactions, so that a failure aborts none. */
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
    // The user may not create it: signatures are used instead.
  }
}

/** Statements for the table of one model. `home` is the schema of the extension. */
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

  /** Creates the table and its index. */
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

  /** Writes vectors, except zero vectors: those have no direction, and a cosine index excludes them. */
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

  /** Deletes the vectors at given positions. */
  async forget(positions: readonly number[]): Promise<void> {
    await this.#run(
      "forget",
      `delete from ${this.#table} where pos = any ($1::bigint[])`,
      positions,
    );
  }

  /** Returns positions, nearest first. Runs in the caller's transaction. */
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
