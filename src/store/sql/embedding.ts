/**
 * Where a record's vector comes from: the one place. An author can attach one, under `embedding`, to a
 * memory's data or a handoff's payload; and a model may have made one of the memory, or of the memory
 * that vouches for the handoff. They are not comparable, so a query says which it means.
 */
import type { RunQuery } from "../sql-query.ts";
import type { Dialect, Sql } from "./dialect.ts";

type VectorSource = RunQuery["vectors"];

/** `m` is the memory's row. */
export const memoryEmbedding = (dialect: Dialect, wanted: VectorSource): Sql =>
  embedding(dialect, wanted, dialect.vector("m.text", "data", "embedding"));

/** `e` is the envelope's row, `m` that of the memory that vouches for it. */
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
