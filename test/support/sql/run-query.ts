/** Queries for the SQL reader of PostgreSQL, without a hub and, where a test wants it, without its guard. */
import type { Inspect } from "../../../src/store/postgres/sql/prepare-query.ts";
import type { RunQuery } from "../../../src/store/sql-query.ts";
import { ANONYMOUS_READER } from "../../../src/store/visibility.ts";

/** Time for a query on a busy machine. */
export const PATIENT_MS = 60_000;

/** A query of the workspace `here`. */
export const runOf = (
  text: string,
  params: RunQuery["params"] = [],
  ms = PATIENT_MS,
): RunQuery => ({
  workspace: "here",
  text,
  params,
  sight: { lines: [], reader: ANONYMOUS_READER, traces: false, quarantined: [] },
  vectors: { attached: true, model: "" },
  bounds: { rows: 1_000, bytes: 1_000_000, ms },
});

/** Reads everything and refuses nothing: what is behind the guard is on its own. */
export const noGuard: Inspect = (statement) => {
  const params = new Set<number>();
  const similarities: number[] = [];
  const walk = (node: unknown): void => {
    if (node === null || typeof node !== "object") return;
    const { ParamRef, FuncCall } = node as Record<string, Record<string, unknown>>;
    if (ParamRef !== undefined) params.add(Number(ParamRef["number"] ?? 0));
    if (JSON.stringify(FuncCall?.["funcname"] ?? "").includes('"cosine_similarity"')) {
      similarities.push(Number(FuncCall?.["location"] ?? 0));
    }
    Object.values(node).forEach(walk);
  };
  walk(statement);
  return { views: new Set(["memories"]), params, similarities };
};
