/**
 * A next schema version that exists only in tests: it adds a column and a table, and fills both.
 */
import { POSTGRES_STEPS } from "../../src/store/postgres/migrations.ts";
import type { SchemaStep } from "../../src/store/schema-steps.ts";
import { SQLITE_STEPS } from "../../src/store/sqlite/migrations.ts";

/** Valid in both SQL dialects. */
const NEXT = {
  name: "labels",
  sql: `
    alter table deliveries add column label text not null default '';
    update deliveries set label = task where state = 3;
    create table labels (workspace bigint not null, name text not null, primary key (workspace, name));
    insert into labels select distinct workspace, label from deliveries where label <> '';
  `,
};

/** Fails after it has changed something. */
const FAILING = { ...NEXT, sql: `${NEXT.sql}; insert into no_such_table values (1);` };

const followedBy = (
  steps: readonly SchemaStep[],
  step: Omit<SchemaStep, "version">,
): readonly SchemaStep[] => [...steps, { ...step, version: steps.length + 1 }];

export const NEXT_SQLITE = followedBy(SQLITE_STEPS, NEXT);
export const NEXT_POSTGRES = followedBy(POSTGRES_STEPS, NEXT);
export const FAILING_SQLITE = followedBy(SQLITE_STEPS, FAILING);
export const FAILING_POSTGRES = followedBy(POSTGRES_STEPS, FAILING);
