/** `repair()`: rebuilds what can be derived in a damaged SQLite store, without a hub. */
import { existsSync } from "node:fs";
import { systemClock } from "../base/clock.ts";
import { BatonError } from "../base/errors.ts";
import { fileOf, storeMissing } from "../base/files/store-file.ts";
import { DEFAULT_LIMITS } from "../base/limits.ts";
import type { RepairResult } from "../store/sqlite/archive/repair.ts";

/** Repairs the store at an address. Throws `store_unsupported` for a store that is not SQLite. */
export async function repair(
  address: string,
  { dryRun }: { readonly dryRun: boolean },
): Promise<RepairResult> {
  const file = fileOf(address);
  if (file === undefined) {
    throw new BatonError("store_unsupported", {
      message: `${address} is not a SQLite store.`,
      path: "store",
      hint: "Repair indexes of PostgreSQL with reindex, and check them with pg_amcheck.",
    });
  }
  if (!existsSync(file)) throw storeMissing(file);
  const { repairFile } = await import("../store/sqlite/archive/repair.ts");
  return repairFile({ file, dryRun, clock: systemClock, busyMs: DEFAULT_LIMITS.busyMs });
}
