/** What a record meant, to any model, is forgotten: a vector is made from the text, and can tell of it. */
import type { ExecuteSql } from "../archive/export.ts";
import type { IndexKind } from "./hnsw-table.ts";

/** An envelope has the position of the record that vouches for it. */
const TABLES = { memory: "memories", envelope: "envelopes" } as const;

/** Inside a transaction of the caller's. Who keeps signatures reads them anew: the revision says so. */
export async function deleteVectors(
  ask: ExecuteSql,
  workspace: number,
  { kind, id }: { readonly kind: "memory" | "envelope"; readonly id: string },
): Promise<void> {
  // Who puts vectors right now is waited for; who comes next finds the text gone.
  await ask(
    `select pg_advisory_xact_lock(hashtextextended('baton vectors $schema ' || w.name, 0))
     from $schema.workspaces w where w.key = $1`,
    [workspace],
  );
  const gone = await ask(
    `with gone as (delete from $schema.vectors v using $schema.${TABLES[kind]} m
        where m.workspace = $1 and m.id = $2 and v.workspace = m.workspace and v.pos = m.pos
        returning v.pos, v.model)
      update $schema.models x set revision = x.revision + 1 from gone where x.key = gone.model
      returning gone.pos, x.key, x.kind, to_regclass('$schema.vectors_' || x.key) is not null`,
    [workspace, id],
  );
  for (const row of gone) {
    const [pos, key, how, isThere] = row as [number, number, IndexKind, boolean];
    if (how === "signatures" || !isThere) continue;
    await ask(`delete from $schema.vectors_${key} where pos = $1`, [pos]);
  }
}
