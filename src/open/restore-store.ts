/**
 * `restore()`: creates a store from a backup, without a hub. A copy of a SQLite store is put in place as a
 * file; an export is imported into any store. Everything is verified first; an existing store is not touched
 * before that.
 */
import { open } from "node:fs/promises";
import * as z from "zod";
import { type ImportReport, readHeader } from "../archive/import.ts";
import { checkedFile, checkedOptions, progressListener } from "../archive/input-checks.ts";
import { type Clock, systemClock } from "../base/clock.ts";
import { BatonError } from "../base/errors.ts";
import { toFileError } from "../base/files/staged-file.ts";
import { fileOf } from "../base/files/store-file.ts";
import { refuseStoreInUse } from "../base/files/store-in-use.ts";
import { type Limits, resolveLimits } from "../base/limits.ts";
import { parseOrThrow } from "../envelope/violations.ts";
import type { CopiedWorkspace } from "../store/archive.ts";
import { openHub, safeFolders } from "./open-hub.ts";

const RestoreSchema = z.strictObject({
  clock: z
    .custom<Clock>((clock) => typeof (clock as Partial<Clock> | null)?.now === "function", {
      error: "must be a clock",
      params: { rule: "type", hint: "Pass an object with now(), or omit it." },
    })
    .optional(),
  /** True: replace an existing store; the old one is kept beside it. Default: false. */
  force: z.boolean().default(false),
  /** Checked together with the defaults, by `resolveLimits()`. */
  limits: z.custom<Partial<Limits>>().optional(),
  onProgress: progressListener<{
    readonly phase: "copying" | "reading" | "writing" | "verifying";
    readonly done: number;
    readonly total: number;
  }>(),
});

export type RestoreOptions = z.input<typeof RestoreSchema>;

const Address = z.string().min(1);

/** What was restored, by `kind`. */
export type RestoreResult =
  | {
      readonly kind: "store";
      readonly bytes: number;
      readonly sha256: string;
      readonly workspaces: readonly CopiedWorkspace[];
      /** The path of the store that was replaced; absent if there was none. */
      readonly kept?: string;
    }
  | ({ readonly kind: "workspace" } & Omit<ImportReport, "kind">);

/**
 * Restores a backup. `address`: the store to create, `sqlite:<path>`, or for an export any other store.
 * Throws `invalid_backup`, `invalid_export`, `workspace_not_empty`, and `store_unsupported` if a copy of a
 * SQLite store is restored to another kind of store.
 */
export async function restore(
  backup: string,
  address: string,
  options: RestoreOptions = {},
): Promise<RestoreResult> {
  checkedFile(backup, "backup");
  parseOrThrow(Address, address, { code: "invalid_input", what: "The address", prefix: "address" });
  const checked = checkedOptions(RestoreSchema, options);
  const limits = resolveLimits(checked.limits);
  const { clock = systemClock, force, onProgress = () => {} } = checked;
  if (!(await isCopy(backup))) {
    return restoreExport(backup, address, { clock, limits, onProgress });
  }
  const file = fileOf(address);
  if (file === undefined) throw sqliteTargetRequired();
  const { restoreFile } = await import("../store/sqlite/archive/restore.ts");
  const { kept, ...restored } = await restoreFile({
    ...{ backup, file, force, clock, onProgress },
    safeFolders: safeFolders(),
  });
  return { kind: "store", ...restored, ...(kept === "" ? {} : { kept }) };
}

interface ImportSettings extends Pick<RestoreOptions, "onProgress"> {
  readonly clock: Clock;
  readonly limits: Limits;
}

async function restoreExport(
  backup: string,
  address: string,
  { onProgress, ...how }: ImportSettings,
): Promise<RestoreResult> {
  const { workspace } = await readHeader(how, backup);
  await using hub = await openHub(address, { ...how, workspace });
  const { kind: _kind, ...report } = await hub.archive.import(backup, { onProgress });
  return { kind: "workspace", ...report };
}

/**
 * Returns true for a copy of a file. An export begins with `{`; everything else is treated as a copy and
 * checked as one.
 */
async function isCopy(file: string): Promise<boolean> {
  refuseStoreInUse(file);
  try {
    await using handle = await open(file, "r");
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(1), 0, 1, 0);
    return bytesRead === 0 || buffer.toString("latin1") !== "{";
  } catch (error) {
    throw toFileError(error, file);
  }
}

function sqliteTargetRequired(): BatonError {
  return new BatonError("store_unsupported", {
    message: "A copy of a SQLite store can only be restored to a SQLite store.",
    path: "address",
    hint: "Restore it to sqlite:<path>; to move it to PostgreSQL, export the restored store and import that.",
  });
}
