/**
 * A process of the next schema version: reports that it is ready, waits for a file, opens the
 * store, and reports how many problems it has.
 * Usage: `next-step-child.ts <file or postgres://…> <file to wait for>`
 */
import { existsSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { DEFAULT_LIMITS } from "../../src/base/limits.ts";
import { openPostgresStore } from "../../src/store/postgres/open.ts";
import { openSqliteStore } from "../../src/store/sqlite/open.ts";
import { sayLine } from "../support/child.ts";
import { NEXT_POSTGRES, NEXT_SQLITE } from "./next-step.ts";

const [address = "", start = ""] = process.argv.slice(2);
const limits = DEFAULT_LIMITS;

sayLine("ready");
while (!existsSync(start)) await sleep(1);
const store = address.startsWith("postgres:")
  ? await openPostgresStore({ address, limits, steps: NEXT_POSTGRES })
  : await openSqliteStore({ file: address, clock: Date, limits, steps: NEXT_SQLITE });
const { problems } = await store.verify("default");
await store.close();
sayLine(problems.length);
