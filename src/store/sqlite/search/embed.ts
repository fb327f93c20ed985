/** Stores the vectors of records by model, and finds records without one. */
import { quantise } from "../../../search/embedding/quantise.ts";
import { memoryOf } from "../../codecs.ts";
import {
  embeddableRecordOf,
  type FindUnembedded,
  type ModelState,
  type PutVectors,
  type UnembeddedSlice,
  unembeddedRecordOf,
} from "../../search.ts";
import { modelSum, vectorSum } from "../row-sums.ts";
import { numberOf, scalarOf } from "../scalar.ts";
import type { Statements } from "../statements.ts";
import type { Transaction } from "../transaction.ts";
import { indexableRowOf } from "./index-file.ts";

/** Returns the next records to embed, oldest first. `limit` counts records of every workspace. */
export function findUnembedded(
  sql: Statements,
  workspace: number,
  { model, limit }: FindUnembedded,
): UnembeddedSlice {
  const known = (sql.model.get(workspace, model) ?? []) as unknown as number[];
  const [, done = 0] = known;
  const rows = sql.memoriesAfter.all(done, limit).map(indexableRowOf);
  const own = rows.filter((row) => row.workspace === workspace);
  return {
    records: own.flatMap((row) => unembeddedRecordOf(row) ?? []),
    upTo: rows.at(-1)?.pos ?? done,
    more: rows.length === limit,
    done,
    total: numberOf(sql.lastPosition.get()),
  };
}

/** Stores vectors and the progress of their model. */
export function putVectors(tx: Transaction, operation: PutVectors): void {
  const { sql } = tx;
  const workspace = tx.workspace(operation.workspace);
  const { model, dimensions, upTo } = operation;
  const [, done = 0] = (sql.model.get(workspace, model) ?? []) as unknown as number[];
  const pos = Math.max(done, upTo);
  const sum = modelSum(workspace, { name: model, dimensions, pos });
  const key = numberOf(sql.putModel.get(workspace, model, dimensions, pos, sum));
  for (const { pos, vector, signature } of operation.vectors) {
    // Skip records that were pruned or redacted meanwhile.
    const row = sql.memoryAt.get(pos);
    const envelope = scalarOf<string>(sql.envelopeTextAt.get(pos));
    if (row === undefined || !embeddableRecordOf({ ...memoryOf(row), envelope })) continue;
    const meaning = quantise(vector);
    const bits = Buffer.from(signature.buffer.slice(0));
    sql.putVector.run(key, pos, meaning, vectorSum(key, pos, meaning));
    sql.putSignature.run(key, pos, bits, vectorSum(key, pos, bits));
  }
}

/** Returns the models with vectors in a workspace, by name. */
export function listModels(sql: Statements, workspace: number): ModelState[] {
  const total = numberOf(sql.lastPosition.get());
  return sql.models.all(workspace).map((row) => {
    const [model, dimensions, done, vectors] = row as unknown as [string, number, number, number];
    return { model, dimensions, vectors, done, total };
  });
}

/** Deletes a model with its vectors; does nothing if it is unknown. */
export function dropModel(tx: Transaction, workspace: string, model: string): void {
  const key = scalarOf<number>(tx.sql.model.get(tx.workspace(workspace), model));
  if (key === undefined) return;
  tx.sql.dropVectors.run(key);
  tx.sql.dropSignatures.run(key);
  tx.sql.dropModel.run(key);
}
