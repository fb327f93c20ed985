/** Checks the store: whether it opens, its contents, size and permissions, and the errors of hooks. */
import { statSync } from "node:fs";
import { basename, dirname, resolve } from "node:path";
import { isShared } from "../../base/files/private-file.ts";
import { fileOf, STORE_FOLDER } from "../../base/files/store-file.ts";
import { type HookErrorEntry, readHookErrors } from "../../harness/hook-error-log.ts";
import type { Hub } from "../../hub/hub.ts";
import { isPostgresAddress } from "../../store/postgres/address.ts";
import { isLogKept } from "../../store/sqlite/merge-log.ts";
import { addressOf, openExisting, type StoreChoice } from "../store.ts";
import { plural } from "../terminal.ts";
import { type CheckResult, failed, ok, warn } from "./check-result.ts";

/** A larger write-ahead log means that a long-running reader prevents its checkpoint. */
const MAX_WAL_BYTES = 256 * 1024 * 1024;

/** The results of the store's checks. */
export interface StoreCheck {
  readonly findings: readonly CheckResult[];
  /** Names and aliases of registered agents; undefined if the store cannot be opened. */
  readonly agents: ReadonlySet<string> | undefined;
}

/** Opens the store and checks it; a missing store is a warning. */
export async function checkStore(choice: StoreChoice): Promise<StoreCheck> {
  const address = await addressOf(choice);
  const file = fileOf(address);
  const trouble = file === undefined ? [] : hookErrorResults(readHookErrors(file));
  try {
    await using hub = await openExisting(choice);
    const agents = await hub.agents.list();
    const names = new Set(agents.flatMap(({ id, aliases }) => [id, ...aliases]));
    const held = ok("store", `${hub.store}, ${await contentsOf(hub, agents.length)}`);
    const details =
      file === undefined
        ? await postgresResults(address)
        : [sizeOf(file), permissionsOf(resolve(file))];
    return { findings: [held, ...details, ...trouble], agents: names };
  } catch (error) {
    const finding = failed("store", error);
    const isNone = finding.status === "fail" && finding.code === "store_missing";
    const shown = isNone ? warn("store", finding.found, NO_STORE) : finding;
    return { findings: [shown, ...trouble], agents: undefined };
  }
}

const NO_STORE =
  "Create one: baton setup claude-code, baton agent add <agent> --role <role>, or baton demo";

async function contentsOf(hub: Hub, agents: number): Promise<string> {
  const { envelopes, deliveries, byState } = await hub.deliveries.totals();
  const { ready, dead } = byState;
  return `workspace ${hub.workspace}: ${plural(agents, "agent")}, ${plural(envelopes, "envelope")}, ${plural(deliveries, "delivery")} (${ready} ready, ${dead} dead)`;
}

function sizeOf(file: string): CheckResult {
  const [size, log] = [file, `${file}-wal`].map(
    (each) => statSync(each, { throwIfNoEntry: false })?.size ?? 0,
  ) as [number, number];
  const found = `${megabytes(size)}, write-ahead log ${megabytes(log)}`;
  if (isLogKept(file)) {
    return warn(
      "size",
      `${found}; the disk failed while the log was merged, so the log is kept and grows`,
      "Check the disk, then close every process that uses the store and open it again.",
    );
  }
  return log <= MAX_WAL_BYTES
    ? ok("size", found)
    : warn(
        "size",
        found,
        "Stop long-running readers: the write-ahead log is merged when no reader is active.",
      );
}

/** Warns about files of the store that other users of the machine can read. */
function permissionsOf(file: string): CheckResult {
  const folder = dirname(file);
  const paths = [
    ...(basename(folder) === STORE_FOLDER ? [folder] : []),
    ...["", "-wal", "-shm", ".index", ".index-wal", ".index-shm", ".bells"].map(
      (end) => file + end,
    ),
  ];
  const shared = paths.filter(isShared);
  if (shared.length === 0) return ok("permissions", "only this user can read the store");
  return warn(
    "permissions",
    `other users of this machine have access to ${shared.join(", ")}`,
    `Make it private: chmod -R go-rwx ${shared.map((path) => `"${path}"`).join(" ")}`,
  );
}

async function postgresResults(address: string): Promise<CheckResult[]> {
  return isPostgresAddress(address) ? [await checkSqlRole(address)] : [];
}

/** Checks as whom SQL queries run (docs/SQL.md). */
async function checkSqlRole(address: string): Promise<CheckResult> {
  const { readSqlRole, SQL_ROLE } = await import("../../store/postgres/sql/sql-role.ts");
  const state = await readSqlRole(address);
  switch (state.kind) {
    case "ready":
      return ok("sql", `queries run as the role ${SQL_ROLE}`);
    case "creatable":
      return ok("sql", `queries run as the role ${SQL_ROLE}, which the first query creates`);
    case "missing":
      return warn(
        "sql",
        `queries run with the rights of the hub's user, because ${state.problem}`,
        `As an administrator of the database: ${state.fix};`,
      );
  }
}

const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`;

function hookErrorResults(all: readonly HookErrorEntry[]): CheckResult[] {
  const last = all.at(-1);
  if (last === undefined) return [];
  const { harness, event, at, message } = last;
  return [
    warn(
      "hook errors",
      `${all.length}; last ${at}, ${harness} ${event}: ${message}`,
      "Run that hook by hand with --strict; once it works, delete hook-trouble.jsonl next to the store.",
    ),
  ];
}
