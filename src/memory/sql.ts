/**
 * Runs a read-only SQL query over the views of a workspace, in the dialect of its engine. This file validates
 * the query, applies limits and converts texts to vectors; the store ensures that only the views are read,
 * and only what the reader may see.
 */
import * as z from "zod";
import { assertNever, BatonError } from "../base/errors.ts";
import { checkLimit, FORMAT_LIMITS, type LimitName } from "../base/limits.ts";
import { parseOrThrow } from "../envelope/violations.ts";
import type { QueryBounds, QueryOutcome, RunQuery, SqlValue } from "../store/sql-query.ts";
import type { Workspace } from "../workspace/workspace.ts";
import { visibilityOf } from "./visibility.ts";

/** Returns the vector of a text, for comparison with stored vectors. */
export type Embed = (text: string) => Promise<Float32Array>;

const Bytes = z.instanceof(Uint8Array);
const Vector = z.union([z.instanceof(Float32Array), z.array(z.number()).min(1)]);
/** A text to compare by meaning; bound as its vector. */
const TextParam = z.strictObject({ text: z.string().min(1).max(FORMAT_LIMITS.contentLength) });
const Param = z.union([z.string(), z.number(), z.boolean(), z.null(), Bytes, Vector, TextParam], {
  error: "must be a string, number, boolean, null, bytes, a vector or { text }",
});

/** Options of runSql(). */
export const SqlSchema = z.strictObject({
  /** Converts `{ text }` parameters to vectors, to compare with vectors that authors attached. */
  embed: z.custom<Embed>((value) => typeof value === "function", "must be a function").optional(),
  /** The most rows; a result with more is an error. Default and maximum: the limit `sqlRows`. */
  limit: z.int().positive().optional(),
  /** The values of the placeholders, in order. */
  params: z.array(Param).default([]),
  /** Default and maximum: the limit `sqlMs`. */
  timeoutMs: z.int().positive().optional(),
  /** Whether to include the steps of traces. Default: false. */
  traces: z.boolean().default(false),
});

export type SqlOptions = z.input<typeof SqlSchema>;

/** The rows of a query. */
export interface SqlResult {
  /** In the order of the query; repeated names are numbered: `id`, `id_2`. */
  readonly columns: readonly string[];
  readonly rows: readonly Readonly<Record<string, SqlValue>>[];
}

const QueryText = z
  .string()
  .min(1)
  .max(FORMAT_LIMITS.textLength)
  .refine((text) => !text.includes("\0"), { error: "must not contain a null character" });

/**
 * Runs a query. Throws `sql_refused`, `sql_failed`, `sql_timeout`, `limit_exceeded`, or `invalid_input` for
 * invalid options or a wrong number of parameters.
 */
export async function runSql(
  workspace: Workspace,
  query: string,
  options: SqlOptions,
): Promise<SqlResult> {
  const text = parseOrThrow(QueryText, query, {
    code: "invalid_input",
    what: "The query",
    prefix: "query",
  });
  const { params, embed, limit, timeoutMs, traces } = parseOrThrow(SqlSchema, options, {
    code: "invalid_input",
    what: "The options",
  });
  const { limits, store, name } = workspace;
  const { sqlRows, sqlBytes, sqlMs } = limits;
  if (limit !== undefined) checkLimit(limits, "sqlRows", { actual: limit, path: "limit" });
  if (timeoutMs !== undefined) {
    checkLimit(limits, "sqlMs", { actual: timeoutMs, path: "timeoutMs" });
  }
  const bounds = { rows: limit ?? sqlRows, bytes: sqlBytes, ms: timeoutMs ?? sqlMs };
  const bound = await Promise.all(
    params.map((param, i) => bindParam(workspace, param, { path: `params[${i}]`, embed })),
  );
  const { lines, reader, quarantined } = await visibilityOf(workspace);
  const outcome = await store.query({
    workspace: name,
    text,
    params: bound.map(({ value }) => value),
    sight: { lines, reader, traces, quarantined },
    vectors: await vectorsFor(workspace, bound),
    bounds,
  });
  return answerOf(outcome, bounds);
}

type Parameter = z.output<typeof Param>;

interface BoundParam {
  readonly value: SqlValue;
  /** The model of the vector; absent for other values. */
  readonly model?: string;
}

async function bindParam(
  workspace: Workspace,
  param: Parameter,
  { path, embed }: { readonly path: string; readonly embed: Embed | undefined },
): Promise<BoundParam> {
  if (param === null || typeof param !== "object") return { value: param };
  if (param instanceof Uint8Array) return { value: param };
  if (param instanceof Float32Array || Array.isArray(param)) return { value: vectorText(param) };
  if (embed !== undefined) return { value: vectorText(await embed(param.text)) };
  const { meant, state } = await workspace.meaning.ask(workspace, param.text, true);
  if (meant !== undefined) return { value: vectorText(meant.vector), model: meant.model };
  throw new BatonError("invalid_input", {
    message: `${path} is a text to compare by meaning, but no vector could be computed: ${state}.`,
    path,
    hint: "Pass the vector itself or an embed function, or open the hub with an embedder.",
  });
}

const vectorText = (vector: Iterable<number>): string => JSON.stringify([...vector]);

/**
 * Chooses the vectors to compare with: for a text those of the model that embedded it, for a vector the
 * attached ones and those of the most used model.
 */
async function vectorsFor(
  { store, name }: Workspace,
  bound: readonly BoundParam[],
): Promise<RunQuery["vectors"]> {
  const asked = bound.find(({ model }) => model !== undefined)?.model;
  if (asked !== undefined) return { attached: false, model: asked };
  const models = await store.listModels(name);
  const most = models.toSorted((a, b) => b.vectors - a.vectors)[0];
  return { attached: true, model: most?.model ?? "" };
}

function answerOf(outcome: QueryOutcome, bounds: QueryBounds): SqlResult {
  switch (outcome.kind) {
    case "answered": {
      const columns = distinct(outcome.columns);
      return {
        columns,
        rows: outcome.rows.map((row) =>
          Object.fromEntries(columns.map((name, i) => [name, row[i] ?? null])),
        ),
      };
    }
    case "refused":
      throw new BatonError("sql_refused", {
        message: `The query was refused: ${outcome.reason}.`,
        path: "query",
        hint: outcome.hint,
      });
    case "miscounted":
      throw new BatonError("invalid_input", {
        message: `The query was refused: ${outcome.reason}.`,
        path: "params",
        hint: outcome.hint,
      });
    case "failed":
      throw new BatonError("sql_failed", {
        message: `The database reported: ${outcome.message}.`,
        path: "query",
        hint: "Fix the query; docs/SQL.md lists views, columns and functions.",
      });
    case "timeout":
      throw new BatonError("sql_timeout", {
        message: `The query was cancelled after ${bounds.ms} ms.`,
        path: "query",
        hint: "Narrow the query, or pass a larger timeoutMs (at most the limit sqlMs).",
        details: { ms: bounds.ms },
      });
    case "too_large":
      throw tooLarge(outcome.bound, bounds);
    default:
      return assertNever(outcome);
  }
}

function tooLarge(bound: "rows" | "bytes" | "memory", bounds: QueryBounds): BatonError {
  const limit = (name: LimitName, max: number, what: string): BatonError =>
    new BatonError("limit_exceeded", {
      message: `The result has more than ${max} ${what}.`,
      path: "query",
      hint: `Narrow the query, for example with LIMIT, or open the hub with limits: { ${name}: … }.`,
      details: { limit: name, max },
    });
  switch (bound) {
    case "rows":
      return limit("sqlRows", bounds.rows, "rows");
    case "bytes":
      return limit("sqlBytes", bounds.bytes, "bytes");
    case "memory":
      return new BatonError("limit_exceeded", {
        message: "The query exceeds the memory limit for queries.",
        path: "query",
        hint: "Narrow the query: sort fewer rows, build shorter texts.",
        details: { limit: "memory" },
      });
  }
}

/** Numbers repeated column names, so that no column is lost. */
function distinct(names: readonly string[]): string[] {
  const taken = new Set<string>();
  return names.map((name) => {
    let free = name;
    for (let n = 2; taken.has(free); n++) free = `${name}_${n}`;
    taken.add(free);
    return free;
  });
}
