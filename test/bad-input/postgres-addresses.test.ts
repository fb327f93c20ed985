/**
 * Invalid PostgreSQL addresses and unreachable servers: opening is refused, and no error contains
 * the password.
 */
import { createServer } from "node:net";
import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import { type ErrorCode, openHub } from "../../src/index.ts";
import { refused } from "../support/refusal.ts";

const SECRET = "s3cr3t";

/** Expects opening to be refused, and the error to contain the password nowhere. */
async function refusedQuietly(address: string, code: ErrorCode, path: string | RegExp) {
  const error = await refused(() => openHub(address), { code, path });
  const everything = JSON.stringify(error) + inspect(error, { depth: 9, showHidden: true });
  expect(everything + error.stack).not.toContain(SECRET);
  return error;
}

describe("a PostgreSQL address", () => {
  it.for([
    ["without a host", "postgres:"],
    ["without slashes before the host", `postgres:planner:${SECRET}@db.example.com/baton`],
    ["with an invalid port", `postgres://planner:${SECRET}@db.example.com:99999/baton`],
    [
      "with an unescaped slash in the password",
      `postgres://planner:${SECRET}/x@db.example.com/baton`,
    ],
    [
      "with digits before an unescaped slash",
      `postgres://planner:123/${SECRET}@db.example.com/baton`,
    ],
    ["with an invalid escape in the password", `postgres://planner:${SECRET}%zz@db/baton`],
    ["with an invalid escape in the database", `postgres://planner:${SECRET}@db/bat%on`],
    ["with a space in the host", `postgresql://planner:${SECRET}@a b/baton`],
  ])("is refused %s", async ([, address]) => {
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
  ])("is refused with %s=%s", async ([name, value]) => {
    const address = new URL(`postgres://planner:${SECRET}@db.example.com/baton`);
    address.searchParams.set(name as string, value as string);
    const error = await refusedQuietly(address.href, "invalid_input", name as string);
    expect(error.message).toContain(name);
  });
});

describe.concurrent("an unreachable PostgreSQL server", () => {
  it("is reported as store_unavailable with host and port when nothing listens there", async () => {
    // Bound at 127.0.0.1, so that no other process listens on the port at 127.0.0.2.
    const taken = createServer();
    await new Promise<void>((resolve) => taken.listen(0, "127.0.0.1", resolve));
    using _ = { [Symbol.dispose]: () => void taken.close() };
    const { port } = taken.address() as { port: number };
    const address = `postgres://planner:${SECRET}@127.0.0.2:${port}/baton`;
    const error = await refusedQuietly(address, "store_unavailable", /^postgres 127\.0\.0\.2:\d+/);
    expect(error.message).toContain(String(port));
    expect(error.retryable).toBe(true);
  });

  it("is reported as store_unavailable when the host does not exist", async () => {
    const address = `postgres://planner:${SECRET}@no-such-host.invalid/baton`;
    await refusedQuietly(address, "store_unavailable", /no-such-host/);
  });

  it("is reported as store_unavailable when it is not a PostgreSQL server", async () => {
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
