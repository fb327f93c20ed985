/** Deletes all vectors of a redacted record: a vector is computed from the text and can reveal it. */
import type { ExecuteSql } from "../archive/export.ts";
import type { IndexKind } from "./hnsw-table.ts";

/** Tables with the positions: an envelope has the position of the record that vouches for it. */
const TABLES = { memory: "memories", envelope: "envelopes" } as const;

/** Runs in the caller's transaction. The new revision makes hubs that cache signatures read them again. */
export async function deleteVectors(
  ask: ExecuteSql,
  workspace: number,
  { kind, id }: { readonly kind: "memory" | "envelope"; readonly id: string },
): Promise<void> {
  // Waits for a hub that is writing vectors; the next one finds the text erased.
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
