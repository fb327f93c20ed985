/** Vectors of records, by model: what has none yet, and what was made. */
import { quantised } from "../../meaning/quantise.ts";
import { memoryOf } from "../codecs.ts";
import {
  type FindUnembedded,
  type ModelState,
  meaningfulText,
  type PutVectors,
  type Unembedded,
  type UnembeddedSlice,
} from "../search.ts";
import { count, single } from "./scalar.ts";
import type { Statements } from "./statements.ts";
import type { Transaction } from "./transaction.ts";

export function findUnembedded(
  sql: Statements,
  workspace: number,
  { model, limit }: FindUnembedded,
): UnembeddedSlice {
  const [, done = 0] = (sql.model.get(workspace, model) ?? []) as unknown as number[];
  const records: Unembedded[] = [];
  const rows = sql.memoriesAfter.all(done, limit);
  for (const raw of rows) {
    const row = memoryOf(raw);
    const here = (raw as unknown as unknown[]).at(-1) === workspace;
    const text = here ? meaningfulText(row) : undefined;
    if (text !== undefined) records.push({ pos: row.pos, text });
  }
  const last = rows.at(-1);
  const upTo = last === undefined ? done : memoryOf(last).pos;
  return { records, upTo, more: rows.length === limit, done, total: count(sql.lastPosition.get()) };
}

export function putVectors(tx: Transaction, operation: PutVectors): void {
  const { sql } = tx;
  const workspace = tx.workspace(operation.workspace);
  const { model, dimensions, upTo } = operation;
  const key = count(sql.putModel.get(workspace, model, dimensions, upTo));
  for (const { pos, vector, signature } of operation.vectors) {
    // A record that was pruned or redacted meanwhile has no meaning any more.
    const row = sql.memoryAt.get(pos);
    if (row === undefined || meaningfulText(memoryOf(row)) === undefined) continue;
    sql.putVector.run(key, pos, quantised(vector));
    sql.putSignature.run(key, pos, Buffer.from(signature.buffer.slice(0)));
  }
}

export function listModels(sql: Statements, workspace: number): ModelState[] {
  const total = count(sql.lastPosition.get());
  return sql.models.all(workspace).map((row) => {
    const [model, dimensions, done, vectors] = row as unknown as [string, number, number, number];
    return { model, dimensions, vectors, done, total };
  });
}

export function dropModel(tx: Transaction, workspace: string, model: string): void {
  const key = single<number>(tx.sql.model.get(tx.workspace(workspace), model));
  if (key === undefined) return;
  tx.sql.dropVectors.run(key);
  tx.sql.dropSignatures.run(key);
  tx.sql.dropModel.run(key);
}
