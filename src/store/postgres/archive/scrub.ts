/**
 * Scrubs a PostgreSQL store after redactions: rebuilds the index, and vacuums the tables so that the server
 * can reuse the space of redacted rows. Copies that the server keeps elsewhere are only reported.
 */

import { sqlState } from "../failures.ts";
import { INDEX_VERSION } from "../search/indexer.ts";
import type { ExecuteSql } from "./export.ts";

/** Tables with texts. The index has none: it contains hashes of words. */
const TABLES = ["memories", "envelopes", "attempts", "entries", "agents", "vectors"];

const DENIED = "42501";

/** Resets the index. Runs in the caller's transaction; waits for a hub that is filling the index. */
export async function resetIndex(ask: ExecuteSql, workspace: string): Promise<void> {
  await ask("select pg_advisory_xact_lock(hashtextextended('baton index $schema ' || $1, 0))", [
    workspace,
  ]);
  // A new, empty index: hubs that cache words of an earlier one recognize that it was replaced.
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

/** Runs outside of transactions. Returns where redacted texts may remain. */
export async function vacuum(ask: ExecuteSql): Promise<readonly string[]> {
  try {
    await ask(`vacuum ${TABLES.map((table) => `$schema.${table}`).join(", ")}`, []);
    return OUT_OF_REACH;
  } catch (error) {
    if (sqlState(error) !== DENIED) throw error;
    return [
      "The tables: this user is not allowed to vacuum them, so the server keeps the old rows.",
      ...OUT_OF_REACH,
    ];
  }
}

const OUT_OF_REACH: readonly string[] = [
  "Free space inside the tables' pages, until the server overwrites it; VACUUM FULL rewrites them.",
  "The server's write-ahead log and its archive, replicas, base backups and dumps.",
  "The server's logs, if it is configured to log statements or their values.",
];
