/** Reads the database's rows for verification (store/verify), page by page, from one snapshot. */

import { FORMAT_LIMITS } from "../../../base/limits.ts";
import {
  attemptOf,
  edgeOf,
  entryOf,
  envelopeOf,
  memoryOf,
  rawAgentOf,
  rawDeliveryOf,
} from "../../codecs.ts";
import type { VerifySource } from "../../verify/audit.ts";
import type { ChainHead } from "../../verify-report.ts";
import type { Row } from "../connection.ts";
import type { StatementRunner } from "../lines.ts";

const PAGE = 1_000;
/** More than a record can have, so that surplus edges are found. */
const MAX_EDGES = 2 * (FORMAT_LIMITS.relations + FORMAT_LIMITS.references);

/** Returns the recorded end of a chain. */
export function chainHeadOf(row: Row): ChainHead {
  const [branch, seq, storedAt, link] = row as [string, number, number, string];
  return { branch, seq, storedAt, link };
}

/** Returns the rows of a workspace. Runs in the caller's transaction. */
export async function verifySource(
  { sql, read }: StatementRunner,
  workspace: string,
): Promise<VerifySource> {
  const [totals] = await read(sql.totals, [workspace]);
  const [memories, relations, envelopes, deliveries] = totals as [number, number, number, number];
  const one = async <T>(rows: Promise<Row[]>, codec: (row: Row) => T): Promise<T | undefined> => {
    const [row] = await rows;
    return row && codec(row);
  };
  return {
    workspace,
    totals: { memories, relations, envelopes, deliveries },
    async *agents() {
      yield* (await read(sql.agents, [workspace])).map(rawAgentOf);
    },
    async *names() {
      for (const row of await read(sql.agentNames, [workspace])) {
        const [name, agent] = row as [string, string];
        yield { name, agent };
      }
    },
    async *heads() {
      yield* (await read(sql.chains, [workspace])).map(chainHeadOf);
    },
    memories: (branch) =>
      paged(0, async (after) => {
        const rows = await read(sql.memoriesOfChain, [workspace, branch, after, PAGE]);
        return rows.map(memoryOf).map((row) => [row.seq, row] as const);
      }),
    memory: (id) => one(read(sql.memories, [workspace, [id]]), memoryOf),
    relations: async (source) =>
      (await read(sql.edgesOut, [workspace, source, null, null, MAX_EDGES])).map(edgeOf),
    envelopes: () =>
      paged("", async (after) => {
        const rows = await read(sql.envelopesAfter, [workspace, after, PAGE]);
        return rows.map(envelopeOf).map((row) => [row.id, row] as const);
      }),
    envelope: (id) => one(read(sql.envelope, [workspace, id]), envelopeOf),
    deliveries: () =>
      paged("", async (after) => {
        const rows = await read(sql.deliveriesAfter, [workspace, after, PAGE]);
        return rows.map(rawDeliveryOf).map((row) => [row.id, row] as const);
      }),
    delivery: (id) => one(read(sql.deliveryRow, [workspace, id]), rawDeliveryOf),
    attempts: async (delivery) => (await read(sql.attempts, [workspace, delivery])).map(attemptOf),
    entries: () =>
      paged(["", ""], async (after) => {
        const rows = await read(sql.entriesAfter, [workspace, ...after, PAGE]);
        return rows.map(entryOf).map((row) => [[row.kind, row.name], row] as const);
      }),
  };
}

/** Yields row by row; reads the next page after the last row of the current one. */
async function* paged<Cursor, RowType>(
  first: Cursor,
  page: (after: Cursor) => Promise<(readonly [Cursor, RowType])[]>,
): AsyncGenerator<RowType> {
  for (let after = first; ; ) {
    const rows = await page(after);
    for (const [cursor, row] of rows) {
      yield row;
      after = cursor;
    }
    if (rows.length < PAGE) return;
  }
}
