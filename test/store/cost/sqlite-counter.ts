/**
 * Counts what operations cost on SQLite: statements and rows through the methods of the prepared
 * statements, in the main thread and in the searcher's, and log frames by the size of the log.
 *
 * The housekeeper (index, checkpoints) is not counted. It starts when 512 commits and records have
 * accumulated, which no store gets here: the log only grows, and searches scan what is not indexed.
 */

import { realpathSync, statSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { pathToFileURL } from "node:url";
import threads, {
  MessageChannel,
  type MessagePort,
  receiveMessageOnPort,
  type WorkerOptions,
} from "node:worker_threads";
import { systemClock } from "../../../src/base/clock.ts";
import { DEFAULT_LIMITS } from "../../../src/base/limits.ts";
import { openSqliteStore } from "../../../src/store/sqlite/open.ts";
import { STATEMENT_TEXTS } from "../../../src/store/sqlite/statements.ts";
import { builtChild } from "../../support/build/place.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";
import type { Cost } from "./cost.ts";
import { add, type Counter, sorted } from "./counter.ts";
import { type Execution, recordStatements } from "./record-statements.ts";

/** A page with its header, as the log contains it. */
const FRAME_BYTES = 4_096 + 24;
/** Statements of which the second parameter is the kind of an entry. */
const OF_ENTRIES = ["anyEntry", "entry", "entriesFrom", "putEntry", "dropEntry"];
const NAMES = new Map(Object.entries(STATEMENT_TEXTS).map(([name, sql]) => [sql as string, name]));

export function sqliteCounter(): Counter {
  const folder = temporaryFolder();
  const path = realpathSync(folder.path);
  const executions: Execution[] = [];
  const inSearchers = recordSearchers(path);
  const stop = recordStatements(path, (execution) => executions.push(execution));
  let file = "";
  let stores = 0;
  let logged = 0;
  return {
    open: () => {
      file = folder.file(`hub-${++stores}.db`);
      logged = 0;
      return openSqliteStore({ file, clock: systemClock, limits: DEFAULT_LIMITS });
    },
    isBusy: () => false,
    async take() {
      const { size } = statSync(`${file}-wal`);
      const logFrames = (size - logged) / FRAME_BYTES;
      logged = size;
      return { ...costOf(executions.splice(0), inSearchers.take()), logFrames };
    },
    async [Symbol.asyncDispose]() {
      stop();
      inSearchers.stop();
      folder[Symbol.dispose]();
    },
  };
}

function costOf(here: readonly Execution[], inSearchers: readonly Execution[]): Cost {
  const rows = new Map<string, number>();
  const statements = new Map<string, number>();
  let rowsReturned = 0;
  for (const execution of here) add(statements, nameOf(execution));
  for (const execution of inSearchers) add(statements, `${nameOf(execution)} (in the searcher)`);
  for (const execution of [...here, ...inSearchers]) {
    rowsReturned += execution.rowsReturned;
    add(rows, tableOf(execution), execution.rowsWritten);
  }
  const transactions = statements.get("commit") ?? 0;
  return { rows: sorted(rows), statements: sorted(statements), transactions, rowsReturned };
}

/** Returns the name in statements.ts; the beginning of the text for a statement of the index file. */
function nameOf({ sql, kind }: Execution): string {
  const name = NAMES.get(sql);
  if (name === undefined) return sql.trim().replaceAll(/\s+/g, " ").slice(0, 60);
  return OF_ENTRIES.includes(name) ? `${name} ${kind}` : name;
}

function tableOf({ sql, kind }: Execution): string {
  const table = /^\s*(?:insert into|update|delete from) (\w+)/.exec(sql)?.[1] ?? "";
  return table === "entries" ? `entries ${kind}` : table;
}

/** Loads searcher-child.ts into each searcher that is started from now on. */
function recordSearchers(folder: string): { take(): Execution[]; stop(): void } {
  const { Worker } = threads;
  const ports: MessagePort[] = [];
  const counting = pathToFileURL(builtChild(new URL("./searcher-child.ts", import.meta.url))).href;
  const Counted = class extends Worker {
    constructor(module: string | URL, options: WorkerOptions = {}) {
      if (!String(module).includes("searcher-thread")) {
        super(module, options);
        return;
      }
      const { port1, port2: executions } = new MessageChannel();
      ports.push(port1);
      super(module, {
        ...options,
        execArgv: [...(options.execArgv ?? []), "--import", counting],
        workerData: { ...options.workerData, folder, executions },
        transferList: [executions],
      });
    }
  };
  Object.assign(threads, { Worker: Counted });
  syncBuiltinESMExports();
  return {
    take: () => ports.flatMap(received),
    stop() {
      Object.assign(threads, { Worker });
      syncBuiltinESMExports();
      for (const port of ports) port.close();
    },
  };
}

function received(port: MessagePort): Execution[] {
  const all: Execution[] = [];
  for (let next = receiveMessageOnPort(port); next; next = receiveMessageOnPort(port)) {
    all.push(next.message);
  }
  return all;
}
