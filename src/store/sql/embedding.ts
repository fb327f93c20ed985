/**
 * Builds the SQL expression for the vector of a memory or handoff. An author can attach a vector under
 * `embedding` in a memory's data or a handoff's payload, and a model may have embedded the memory (for a
 * handoff: the memory that vouches for it). The two are not comparable, so a query states which one it uses.
 */
import type { RunQuery } from "../sql-query.ts";
import type { Dialect, Sql } from "./dialect.ts";

type VectorSource = RunQuery["vectors"];

/** Returns the expression for a memory's vector. `m` is the memory's row. */
export const memoryEmbedding = (dialect: Dialect, wanted: VectorSource): Sql =>
  embedding(dialect, wanted, dialect.vector("m.text", "data", "embedding"));

/** Returns the expression for a handoff's vector. `e` is the envelope's row, `m` its memory's row. */
export const handoffEmbedding = (dialect: Dialect, wanted: VectorSource): Sql =>
  embedding(dialect, wanted, dialect.vector("e.text", "payload", "data", "embedding"));

function embedding(d: Dialect, { attached, model }: VectorSource, byAuthor: Sql): Sql {
  const byModel = `(select ${d.keptVector("v.vector")} from ${d.table("vectors")} v
    join ${d.table("models")} k on k.key = v.model${d.together("k", "v")}
    where k.workspace = ${d.workspace} and k.name = ${d.literal(model)}
      and v.pos = m.pos${d.together("v", "m")})`;
  if (!attached) return byModel;
  return model === "" ? byAuthor : `coalesce(${byAuthor}, ${byModel})`;
}
