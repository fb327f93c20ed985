/** Runs the store contract suite on the reference store, and on SQLite with real files. */
import { DEFAULT_LIMITS } from "../../src/base/limits.ts";
import { openSqliteStore } from "../../src/store/sqlite/open.ts";
import { storeContract } from "../../store-contract/index.ts";
import { openReferenceStore } from "../../store-contract/reference/open.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

storeContract("reference", async ({ clock }) => ({ store: openReferenceStore({ clock }) }));

storeContract("sqlite", async ({ clock }) => {
  const folder = temporaryFolder();
  const file = folder.file("hub.db");
  const open = () => openSqliteStore({ file, clock, limits: DEFAULT_LIMITS });
  return { store: await open(), reopen: open, dispose: async () => folder[Symbol.dispose]() };
});
