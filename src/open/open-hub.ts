/** `openHub()`: opens a hub by address. The only place of the library that chooses a store. */
import { existsSync } from "node:fs";
import { delimiter } from "node:path";
import { systemClock } from "../base/clock.ts";
import { BatonError } from "../base/errors.ts";
import { defaultStoreFile, fileOf, storeMissing } from "../base/files/store-file.ts";
import { resolveLimits } from "../base/limits.ts";
import { loadOptional } from "../base/optional-package.ts";
import { type Hub, LocalHub } from "../hub/hub.ts";
import { knownMode, sessionTimeout, workspaceName } from "../hub/option-checks.ts";
import { filesFolder, type HubOptions, secretMode } from "../hub/options.ts";
import { isPostgresAddress } from "../store/postgres/address.ts";
import { openSqliteStore } from "../store/sqlite/open.ts";

/**
 * Opens a hub by address and returns it; close it when done, or declare it with `await using`.
 *
 * - a file path or `sqlite:<path>`: a SQLite store, created if it does not exist (unless `create: false`)
 * - `postgres://…`: a PostgreSQL store (src/store/postgres/address.ts lists the parameters); needs the
 *   package `pg`
 * - `http://…` or `https://…`: a hub served elsewhere
 * - `memory:`: a hub that ends with the process
 *
 * Default: the environment variable `BATON_STORE`, otherwise `.baton/hub.db` of this repository, otherwise of
 * the current folder. Throws `store_unsupported` for any other address, and `invalid_input` for invalid
 * options.
 *
 * ```ts
 * await using hub = await openHub("./team.db");
 * ```
 */
export async function openHub(address?: string, options: HubOptions = {}): Promise<Hub> {
  const chosen = resolveAddress(address);
  if (typeof chosen !== "string" || !/^https?:/i.test(chosen)) return openLocalHub(chosen, options);
  // Loaded on demand, because a hub with a local store does not need it.
  const { openRemoteHub } = await import("../client/open.ts");
  const { nodeModules } = await import("../client/node/modules.ts");
  const token = options.token ?? (process.env["BATON_TOKEN"] || undefined);
  const allowInsecure = options.allowInsecure ?? process.env["BATON_ALLOW_INSECURE_HTTP"] === "1";
  const known = token === undefined ? options : { ...options, token };
  return openRemoteHub(chosen, { ...known, allowInsecure }, nodeModules);
}

/** Returns the address, or the default if none is passed. */
export function resolveAddress(address: string | undefined): string {
  const named = address ?? (process.env["BATON_STORE"] || undefined);
  return named ?? `sqlite:${defaultStoreFile(process.cwd())}`;
}

/** Opens a hub in this process; a server uses it. Throws `store_unsupported` for an HTTP address. */
export async function openLocalHub(chosen: string, options: HubOptions = {}): Promise<LocalHub> {
  const clock = options.clock ?? systemClock;
  const limits = resolveLimits(options.limits);
  workspaceName(options); // Invalid options leave no file behind.
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
  const store = await openSqliteStore({ file, clock, limits, safeFolders: safeFolders() });
  return new LocalHub(store, options);
}

/** Returns the folders in which a store of another user, or one that git tracks, is accepted. */
export const safeFolders = (): readonly string[] =>
  (process.env["BATON_SAFE_FOLDERS"] ?? "").split(delimiter).filter((folder) => folder !== "");

/**
 * Returns the error for an unsupported address. Shows only the scheme or a bare word, because an address may
 * contain a password.
 */
function unsupported(address: unknown): BatonError {
  const scheme = /^[a-z][a-z0-9+.-]*:/i.exec(String(address))?.[0];
  const word = /^[a-z.-]{1,32}$/i.exec(String(address))?.[0] ?? "…";
  const shown = scheme === undefined ? word : `${scheme}…`;
  return new BatonError("store_unsupported", {
    message: `Invalid store address "${shown}".`,
    path: "address",
    hint: "Use a path (./team.db) or sqlite:<path> for a file, postgres://… for a database, http://… for a remote hub, or memory: for a hub that ends with the process.",
  });
}
