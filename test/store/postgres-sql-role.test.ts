/**
 * The role that SQL queries run as, for hubs whose user may create roles, for those whose user may not, and
 * what `baton doctor` says about it.
 */
import { randomUUID } from "node:crypto";
import pg from "pg";
import { describe, expect, it } from "vitest";
import { openHub } from "../../src/index.ts";
import { parsePostgresAddress } from "../../src/store/postgres/address.ts";
import { SqlReader } from "../../src/store/postgres/sql/sql-reader.ts";
import { readSqlRole, SQL_ROLE } from "../../src/store/postgres/sql/sql-role.ts";
import { bareProject } from "../harness/harness.ts";
import { postgresUrl } from "../support/postgres/schema.ts";
import { startPostgres } from "../support/postgres/server.ts";
import { noGuard, PATIENT_MS, runOf } from "../support/sql/run-query.ts";

interface LesserUser extends AsyncDisposable {
  readonly address: string;
  readonly user: string;
  /** As the administrator. */
  administer(text: string): Promise<unknown>;
}

/** A store of a user that has no rights but to create its schema, and one memory in the workspace `here`. */
async function lesserUser(url: string, attributes = ""): Promise<LesserUser> {
  const user = `u_${randomUUID().replaceAll("-", "")}`;
  const admin = new pg.Client(url);
  await admin.connect();
  const administer = (text: string): Promise<unknown> => admin.query(text);
  await administer(`create role ${user} login password 'secret' ${attributes}`);
  await administer(`grant create on database postgres to ${user}`);
  const address = new URL(url);
  [address.username, address.password] = [user, "secret"];
  address.searchParams.set("schema", user);
  await using hub = await openHub(address.href, { workspace: "here" });
  await (await hub.agent("ada", {})).remember({ content: "shared" });
  return {
    address: address.href,
    user,
    administer,
    async [Symbol.asyncDispose]() {
      await administer(`drop schema if exists ${user} cascade; drop owned by ${user}`);
      await administer(`drop role ${user}`);
      await admin.end();
    },
  };
}

/** Which user a query runs as, with nothing that would refuse to answer that. */
async function userOfQueries(address: string): Promise<unknown> {
  const options = { inspect: noGuard, checksResolved: false };
  const reader = new SqlReader(parsePostgresAddress(address), PATIENT_MS, options);
  try {
    const outcome = await reader.query(runOf("select current_user, content from memories"));
    return outcome.kind === "answered" ? outcome.rows : outcome;
  } finally {
    await reader.close();
  }
}

async function doctorOf(address: string): Promise<unknown> {
  const { stdout } = await bareProject().baton("doctor", "--json", "--store", address);
  const { findings } = JSON.parse(stdout) as { findings: { check: string }[] };
  return findings.find(({ check }) => check === "sql");
}

describe("the role of SQL queries", () => {
  it("is used once it is granted, and missed by doctor until then [MEM-14]", async () => {
    await using lesser = await lesserUser(postgresUrl());
    const { address, user, administer } = lesser;
    await administer(`create role ${SQL_ROLE} nologin`).catch(() => {}); // Of another test.
    const fix = `grant ${SQL_ROLE} to ${user}`;
    expect(await readSqlRole(address)).toMatchObject({ kind: "missing", fix });
    expect(await userOfQueries(address)).toEqual([[user, "shared"]]);
    expect(await doctorOf(address)).toMatchObject({
      status: "warn",
      found: `queries run with the rights of the hub's user, because the role baton_sql is not granted to ${user}`,
      fix: expect.stringContaining(fix),
    });
    await administer(fix);
    expect(await userOfQueries(address)).toEqual([[SQL_ROLE, "shared"]]);
    expect(await doctorOf(address)).toMatchObject({ status: "ok" });
  });

  it("is not used while it can read the tables [MEM-14]", async () => {
    await using lesser = await lesserUser(postgresUrl(), "superuser");
    const { address, user, administer } = lesser;
    expect(await userOfQueries(address)).toEqual([[SQL_ROLE, "shared"]]);
    await administer(`grant select on ${user}.entries to public`);
    const state = await readSqlRole(address);
    expect(state).toMatchObject({
      kind: "missing",
      problem: `the role baton_sql can read tables of the schema ${user}`,
    });
    expect(await userOfQueries(address)).toEqual([[user, "shared"]]);
    await administer(state.kind === "missing" ? state.fix : "");
    expect(await readSqlRole(address)).toEqual({ kind: "ready" });
  });

  it("is created by the first query of a user that may create roles [MEM-14]", async () => {
    await using stack = new AsyncDisposableStack();
    const server = await startPostgres(["fsync=off"]);
    stack.defer(() => server.stop());
    const plain = stack.use(await lesserUser(server.url));
    expect(await readSqlRole(plain.address)).toMatchObject({
      kind: "missing",
      problem: "the role baton_sql does not exist",
      fix: `create role baton_sql nologin; grant baton_sql to ${plain.user}`,
    });
    expect(await userOfQueries(plain.address)).toEqual([[plain.user, "shared"]]);
    const creator = stack.use(await lesserUser(server.url, "createrole"));
    expect(await readSqlRole(creator.address)).toEqual({ kind: "creatable" });
    expect(await userOfQueries(creator.address)).toEqual([[SQL_ROLE, "shared"]]);
    expect(await readSqlRole(creator.address)).toEqual({ kind: "ready" });
    await creator.administer("revoke temporary on database postgres from public");
    await expect(userOfQueries(creator.address)).rejects.toMatchObject({
      code: "store_denied",
      hint: expect.stringContaining("grant temporary on database"),
    });
    await creator.administer(`drop role ${SQL_ROLE}`);
  });
});
