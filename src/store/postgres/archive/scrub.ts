/**
 * Scrubbing on PostgreSQL: the index is begun anew, and a vacuum lets the server use the space of what
 * was redacted again. What it keeps elsewhere is not ours to remove: that is told.
 */

import { sqlState } from "../failures.ts";
import { INDEX_VERSION } from "../search/indexer.ts";
import type { ExecuteSql } from "./export.ts";

/** Those that have texts. The index has none: words are hashes there. */
const TABLES = ["memories", "envelopes", "attempts", "entries", "agents", "vectors"];

const DENIED = "42501";

/** Inside a transaction of the caller's. Whoever fills the index right now is waited for. */
export async function resetIndex(ask: ExecuteSql, workspace: string): Promise<void> {
  await ask("select pg_advisory_xact_lock(hashtextextended('baton index $schema ' || $1, 0))", [
    workspace,
  ]);
  // An index of nothing, made now: hubs that hold words of an earlier one see that it is another.
  await ask(
    `delete from $schema.indexed
     where workspace = (select key from $schema.workspaces where name = $1)`,
    [workspace],
  );
  await ask(
    `insert into $schema.indexed (workspace, version, pos)
     select key, $2, 0 from $schema.workspaces where name = $1`,
    [workspace, INDEX_VERSION],
  );
}

/** Outside of any transaction. Answers with what is out of reach. */
export async function vacuum(ask: ExecuteSql): Promise<readonly string[]> {
  try {
    await ask(`vacuum ${TABLES.map((table) => `$schema.${table}`).join(", ")}`, []);
    return OUT_OF_REACH;
  } catch (error) {
    if (sqlState(error) !== DENIED) throw error;
    return [
      "The tables: this user may not vacuum them, so the server keeps the old rows.",
      ...OUT_OF_REACH,
    ];
  }
}

const OUT_OF_REACH: readonly string[] = [
  "Free space inside the tables' pages, until the server writes over it; VACUUM FULL rewrites them.",
  "The server's write-ahead log and its archive, replicas, base backups and dumps.",
  "The server's own logs, where it was told to log statements or their values.",
];
