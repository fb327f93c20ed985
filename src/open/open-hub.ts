/** Opening a hub by address: the one place of the library that chooses a store. */
import { existsSync } from "node:fs";
import { systemClock } from "../base/clock.ts";
import { BatonError } from "../base/errors.ts";
import { resolveLimits } from "../base/limits.ts";
import { loadOptional } from "../base/optional-package.ts";
import { defaultStoreFile, fileOf, storeMissing } from "../base/store-file.ts";
import { type Hub, LocalHub } from "../hub/hub.ts";
import { knownMode, sessionTimeout, workspaceName } from "../hub/option-checks.ts";
import { filesFolder, type HubOptions, secretMode } from "../hub/options.ts";
import { isPostgresAddress } from "../store/postgres/address.ts";
import { openSqliteStore } from "../store/sqlite/open.ts";

/**
 * A file's path or `sqlite:path`, `postgres://…` (store/postgres/address.ts lists its parameters),
 * `http(s)://…` for a hub that is served elsewhere, or `memory:` for one that ends with the process. Default:
 * `BATON_STORE`, else `.baton/hub.db` of this repository, else of the current folder.
 */
export async function openHub(address?: string, options: HubOptions = {}): Promise<Hub> {
  const chosen = resolveAddress(address);
  if (typeof chosen !== "string" || !/^https?:/i.test(chosen)) return openLocalHub(chosen, options);
  // Loaded when it is asked for: whoever has the store at hand needs none of it.
  const { openRemoteHub } = await import("../client/open.ts");
  const { nodeModules } = await import("../client/node/modules.ts");
  const token = options.token ?? (process.env["BATON_TOKEN"] || undefined);
  return openRemoteHub(chosen, token === undefined ? options : { ...options, token }, nodeModules);
}

/** The address that is meant where none is named. */
export function resolveAddress(address: string | undefined): string {
  const named = address ?? (process.env["BATON_STORE"] || undefined);
  return named ?? `sqlite:${defaultStoreFile(process.cwd())}`;
}

/** A hub in this process, on a store of its own: what a server stands on. */
export async function openLocalHub(chosen: string, options: HubOptions = {}): Promise<LocalHub> {
  const clock = options.clock ?? systemClock;
  const limits = resolveLimits(options.limits);
  workspaceName(options); // Wrong options leave no file behind.
  knownMode(options);
  sessionTimeout(options);
  filesFolder(options);
  secretMode(options);
  if (chosen === "memory:") {
    const { openReferenceStore } = await import("../../store-contract/reference/open.ts");
    return new LocalHub(openReferenceStore({ clock }), options);
  }
  if (isPostgresAddress(chosen)) {
    const { openPostgresStore } = await loadOptional(
      "pg",
      () => import("../store/postgres/open.ts"),
      { neededFor: "A PostgreSQL store" },
    );
    const { clock, create = true } = options;
    const store = await openPostgresStore({ address: chosen, clock, limits, create });
    return new LocalHub(store, options);
  }
  const file = fileOf(chosen);
  if (file === undefined) throw unsupported(chosen);
  if (options.create === false && !existsSync(file)) throw storeMissing(file);
  return new LocalHub(await openSqliteStore({ file, clock, limits }), options);
}

/** Shows the scheme, or a bare word, and nothing else: an address may hold a password. */
function unsupported(address: unknown): BatonError {
  const scheme = /^[a-z][a-z0-9+.-]*:/i.exec(String(address))?.[0];
  const word = /^[a-z.-]{1,32}$/i.exec(String(address))?.[0] ?? "…";
  const shown = scheme === undefined ? word : `${scheme}…`;
  return new BatonError("store_unsupported", {
    message: `Invalid store address "${shown}".`,
    path: "address",
    hint: "Use a path (./team.db) or sqlite:<path> for a file, postgres://… for a database, http://… for a hub elsewhere, or memory: for a hub that ends with the process.",
  });
}
