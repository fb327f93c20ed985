/** Runs the store contract suite on a real PostgreSQL server, each test in a schema of its own. */
import { DEFAULT_LIMITS } from "../../src/base/limits.ts";
import { openPostgresStore } from "../../src/store/postgres/open.ts";
import { storeContract } from "../../store-contract/index.ts";
import { reusableSchema } from "../support/postgres/schema.ts";

storeContract("postgres", async ({ clock }) => {
  const schema = reusableSchema();
  const open = () => openPostgresStore({ address: schema.address, clock, limits: DEFAULT_LIMITS });
  return {
    store: await open(),
    reopen: open,
    dispose: async () => schema[Symbol.asyncDispose](),
  };
});
