/**
 * The role that queries run as: it owns nothing and is granted nothing but the temporary views of the query,
 * within the transaction. One role serves all stores of a server. The first query creates it if the hub's
 * user may create roles; otherwise an administrator does. Without it queries run as the hub's user.
 */
import pg from "pg";
import { parsePostgresAddress } from "../address.ts";
import { clientConfig } from "../connection.ts";
import { sqlState, storeFailure } from "../failures.ts";

export const SQL_ROLE = "baton_sql";

/** Whether queries can run as the role; if not, what is missing and the SQL that fixes it. */
export type SqlRoleState =
  | { readonly kind: "ready" }
  /** The next query creates it. */
  | { readonly kind: "creatable" }
  | { readonly kind: "missing"; readonly problem: string; readonly fix: string };

const ROLE_EXISTS = new Set(["42710", "23505"]);

/** Returns the state of the role, after an attempt to create it where it is missing. */
export async function ensureSqlRole(client: pg.ClientBase, schema: string): Promise<SqlRoleState> {
  const state = await inspectSqlRole(client, schema);
  if (state.kind !== "creatable") return state;
  try {
    await client.query(`create role ${SQL_ROLE} nologin`);
  } catch (error) {
    if (!ROLE_EXISTS.has(sqlState(error))) throw error; // Another hub was faster.
  }
  const created = await inspectSqlRole(client, schema);
  if (created.kind === "ready") return created;
  await client.query(`grant ${SQL_ROLE} to current_user`).catch(() => {}); // Reported by the next line.
  return inspectSqlRole(client, schema);
}

/** Connects to a store and returns the state of the role; for `baton doctor`. */
export async function readSqlRole(address: string): Promise<SqlRoleState> {
  const parsed = parsePostgresAddress(address);
  const client = new pg.Client(clientConfig(parsed));
  client.on("error", () => {}); // The pending query reports it as well.
  try {
    await client.connect();
    return await inspectSqlRole(client, parsed.schema);
  } catch (error) {
    throw storeFailure(error, parsed.name);
  } finally {
    await client.end().catch(() => {});
  }
}

interface RoleRow {
  readonly exists: boolean;
  readonly strong: boolean;
  readonly reads: boolean;
  readonly creates: boolean;
  readonly user: string;
}

/** Returns the state of the role, and changes nothing. Must not be called within a transaction. */
export async function inspectSqlRole(client: pg.ClientBase, schema: string): Promise<SqlRoleState> {
  const { rows } = await client.query<RoleRow>(
    `select r.oid is not null as exists,
       coalesce(r.rolsuper or r.rolbypassrls or r.rolcreaterole or r.rolcreatedb or r.rolreplication
         or r.rolcanlogin or exists (select from pg_auth_members where member = r.oid), false) as strong,
       r.oid is not null and exists (select from pg_class c
         where c.relnamespace = to_regnamespace($2) and c.relkind in ('r', 'v', 'p')
           and has_table_privilege(r.oid, c.oid, 'select')) as reads,
       u.rolsuper or u.rolcreaterole as creates, quote_ident(u.rolname) as user
     from pg_roles u left join pg_roles r on r.rolname = $1 where u.rolname = current_user`,
    [SQL_ROLE, schema],
  );
  const { exists, strong, reads, creates, user } = rows[0] as RoleRow;
  if (!exists) {
    const grant = `create role ${SQL_ROLE} nologin; grant ${SQL_ROLE} to ${user}`;
    return creates ? { kind: "creatable" } : missing("does not exist", grant);
  }
  if (strong) {
    return missing(
      "can log in, has attributes or is a member of other roles",
      `alter role ${SQL_ROLE} nologin nosuperuser nobypassrls nocreaterole nocreatedb noreplication, and revoke its memberships`,
    );
  }
  if (reads) {
    const fix = `revoke select on all tables in schema ${schema} from public, ${SQL_ROLE}`;
    return missing(`can read tables of the schema ${schema}`, fix);
  }
  if (await canSetRole(client)) return { kind: "ready" };
  return missing(`is not granted to ${user}`, `grant ${SQL_ROLE} to ${user}`);
}

const missing = (what: string, fix: string): SqlRoleState => ({
  kind: "missing",
  problem: `the role ${SQL_ROLE} ${what}`,
  fix,
});

async function canSetRole(client: pg.ClientBase): Promise<boolean> {
  try {
    await client.query(`begin; set local role ${SQL_ROLE}`);
    return true;
  } catch {
    return false;
  } finally {
    await client.query("rollback");
  }
}
