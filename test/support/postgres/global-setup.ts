/** One server for all test files of a run. */
import type { TestProject } from "vitest/node";
import { type PostgresServer, startPostgres } from "./server.ts";

declare module "vitest" {
  interface ProvidedContext {
    readonly postgres: string;
  }
}

let server: PostgresServer | undefined;

export async function setup(project: TestProject): Promise<void> {
  const named = process.env["DATABASE_URL"] || undefined;
  // No test pulls the plug: waiting for the disk at each commit would only take time.
  if (named === undefined) server = await startPostgres(["fsync=off"]);
  project.provide("postgres", named ?? server?.url ?? "");
}

export async function teardown(): Promise<void> {
  await server?.stop();
}
