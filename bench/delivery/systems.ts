/** All systems, in the order of the tables. */
import type { System } from "./system.ts";
import { batonPostgres, batonSqlite } from "./systems/baton.ts";
import { bullmqAlways, bullmqEverysec } from "./systems/bullmq.ts";
import { graphileWorker } from "./systems/graphile-worker.ts";
import { pgBoss } from "./systems/pg-boss.ts";
import { rawPostgres } from "./systems/raw-postgres.ts";

export const SYSTEMS: readonly System[] = [
  batonSqlite,
  batonPostgres,
  bullmqEverysec,
  bullmqAlways,
  pgBoss,
  graphileWorker,
  rawPostgres,
];

/** Plain inserts (`bench/raw.ts`): not a queue and so not in the list, but a row of the table. */
export const RAW_SQLITE = { name: "raw-sqlite", title: "raw SQLite inserts" } as const;

export function systemOf(name: string): System {
  const found = SYSTEMS.find((system) => system.name === name);
  if (found === undefined) throw new Error(`Unknown system "${name}"`);
  return found;
}

export function titleOf(name: string): string {
  return name === RAW_SQLITE.name ? RAW_SQLITE.title : systemOf(name).title;
}
