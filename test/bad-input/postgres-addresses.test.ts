/** Addresses of databases that are no good: refused before anything is asked, and never repeated. */
import { createServer } from "node:net";
import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import { type ErrorCode, openHub } from "../../src/index.ts";
import { refused } from "../support/refusal.ts";

const SECRET = "s3cr3t";

/** Opening is refused, and nothing of the password shows, however closely one looks. */
async function refusedQuietly(address: string, code: ErrorCode, path: string | RegExp) {
  const error = await refused(() => openHub(address), { code, path });
  const everything = JSON.stringify(error) + inspect(error, { depth: 9, showHidden: true });
  expect(everything + error.stack).not.toContain(SECRET);
  return error;
}

describe("a PostgreSQL address", () => {
  it.for([
    ["without anything", "postgres:"],
    ["without a host's slashes", `postgres:planner:${SECRET}@db.example.com/baton`],
    ["with a port that is none", `postgres://planner:${SECRET}@db.example.com:99999/baton`],
    ["with a password that breaks the URL", `postgres://planner:${SECRET}/x@db.example.com/baton`],
    ["with digits before the break", `postgres://planner:123/${SECRET}@db.example.com/baton`],
    ["with a broken escape in the password", `postgres://planner:${SECRET}%zz@db/baton`],
    ["with a broken escape in the database", `postgres://planner:${SECRET}@db/bat%on`],
    ["with a space for a host", `postgresql://planner:${SECRET}@a b/baton`],
  ])("%s is refused", async ([, address]) => {
    await refusedQuietly(address as string, "invalid_input", "address");
  });

  it.for([
    ["schema", "Baton"],
    ["schema", ""],
    ["schema", "a-b"],
    ["schema", "1a"],
    ["schema", "x".repeat(64)],
    ["schema", 'a";drop schema public;--'],
    ["pool", "0"],
    ["pool", "-1"],
    ["pool", "1.5"],
    ["pool", "many"],
    ["pool", ""],
    ["pool", "101"],
    ["pgbouncer", "yes"],
    ["pgbouncer", ""],
  ])("with %s=%s is refused", async ([name, value]) => {
    const address = new URL(`postgres://planner:${SECRET}@db.example.com/baton`);
    address.searchParams.set(name as string, value as string);
    const error = await refusedQuietly(address.href, "invalid_input", name as string);
    expect(error.message).toContain(name);
  });
});

describe.concurrent("a server that cannot be reached", () => {
  it("because nobody listens there: store_unavailable, naming host and port", async () => {
    // Bound here, so that no other process listens on the port, at the other address either.
    const taken = createServer();
    await new Promise<void>((resolve) => taken.listen(0, "127.0.0.1", resolve));
    using _ = { [Symbol.dispose]: () => void taken.close() };
    const { port } = taken.address() as { port: number };
    const address = `postgres://planner:${SECRET}@127.0.0.2:${port}/baton`;
    const error = await refusedQuietly(address, "store_unavailable", /^postgres 127\.0\.0\.2:\d+/);
    expect(error.message).toContain(String(port));
    expect(error.retryable).toBe(true);
  });

  it("because there is no such host: store_unavailable", async () => {
    const address = `postgres://planner:${SECRET}@no-such-host.invalid/baton`;
    await refusedQuietly(address, "store_unavailable", /no-such-host/);
  });

  it("because it is no PostgreSQL: store_unavailable", async () => {
    const server = createServer((socket) => {
      socket.on("error", () => {});
      socket.end("HTTP/1.1 400 Bad Request\r\n\r\n");
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    using _ = { [Symbol.dispose]: () => void server.close() };
    const { port } = server.address() as { port: number };
    const address = `postgres://planner:${SECRET}@127.0.0.1:${port}/baton`;
    await refusedQuietly(address, "store_unavailable", /^postgres /);
  });
});
