/**
 * Prepares a caller's query for PostgreSQL: parses it with PostgreSQL's own parser, checks it with the guard,
 * and returns the text to send with the views it reads. The parser has checked that the text is one complete
 * statement; where it is sent it stands in parentheses.
 */

import { loadOptional } from "../../../base/optional-package.ts";
import { refuseParameterCount } from "../../sql/parameter-count.ts";
import { VIEW_DEPENDENCIES } from "../../sql/view-definitions.ts";
import { VIEW_NAMES, type ViewName } from "../../sql/views.ts";
import type { QueryOutcome, RunQuery } from "../../sql-query.ts";
import { inspectQuery, type QueryReads } from "./sql-guard.ts";

type Parser = typeof import("libpg-query");

/** Loaded with the first query: the parser is 1.7 MB of WebAssembly. */
let parser: Promise<Parser> | undefined;

async function loadParser(): Promise<Parser> {
  const loaded = await loadOptional("libpg-query", () => import("libpg-query"), {
    neededFor: "SQL on PostgreSQL",
  });
  await loaded.loadModule();
  return loaded;
}

/** Limits of a query. The parser recurses into each level; these stay far below its stack size. */
const MAX_TOKENS = 4_000;
const MAX_DEPTH = 64;

/** Token number of operators in the lexer, which names only some token types. */
const OPERATOR = 265;

/** A query that passed the guard: the text to run, and what PostgreSQL needs to know before. */
export interface PreparedQuery {
  readonly kind: "prepared";
  /** The caller's query, with numbered parameters. */
  readonly text: string;
  /** The same with `(null)` for each parameter: PostgreSQL resolves both alike. */
  readonly resolvable: string;
  /** The views that it reads, and those that they depend on, each after its dependencies. */
  readonly views: readonly ViewName[];
  readonly usesSimilarity: boolean;
}

/** The query to run, or why it is refused. */
export type PrepareResult =
  | PreparedQuery
  | Extract<QueryOutcome, { readonly kind: "refused" | "miscounted" | "failed" }>;

/** Checks a parsed statement; tests replace it to reach what is behind the guard. */
export type Inspect = typeof inspectQuery;

/** Checks a query and returns what to run. Never throws for an invalid query. */
export async function prepareQuery(
  query: Pick<RunQuery, "text" | "params">,
  inspect: Inspect = inspectQuery,
): Promise<PrepareResult> {
  parser ??= loadParser();
  const { parseSync, scanSync } = await parser;
  try {
    const numbered = numberPlaceholders(query.text, scanSync(query.text).tokens);
    if (typeof numbered !== "string") return numbered;
    const { stmts = [] } = parseSync(numbered);
    const [statement, ...more] = stmts;
    if (statement?.stmt === undefined) return refusedResult("it is empty", "Write one SELECT.");
    if (more.length > 0)
      return refusedResult("it has more than one statement", "Run one statement at a time.");
    const reading = inspect(statement.stmt);
    if ("reason" in reading) return { kind: "refused", ...reading };
    const miscounted = refuseParameterCount(reading.params, query.params.length);
    if (miscounted !== undefined) return miscounted;
    const start = statement.stmt_location ?? 0;
    const length = statement.stmt_len ?? 0;
    const bytes = Buffer.from(numbered);
    const end = length === 0 ? bytes.length : start + length;
    const own = qualifySimilarity(bytes, { start, end, at: reading.similarities });
    return {
      kind: "prepared",
      text: own,
      resolvable: withoutParameters(own, scanSync(own).tokens),
      views: viewsFor(reading),
      usesSimilarity: reading.similarities.length > 0,
    };
  } catch (error) {
    return { kind: "failed", message: (error as Error).message };
  }
}

const refusedResult = (reason: string, hint: string): PrepareResult => ({
  kind: "refused",
  reason,
  hint,
});

type Token = Readonly<{ start: number; end: number; text: string; tokenType: number }>;

/** Replaces each `?` by the next number. The lexer reads a `?` right after an operator as part of it. */
function numberPlaceholders(text: string, tokens: readonly Token[]): string | PrepareResult {
  if (tokens.length > MAX_TOKENS || depthOf(tokens) > MAX_DEPTH) {
    return refusedResult("it is too long or nested too deeply", "Split it into smaller queries.");
  }
  const bytes = Buffer.from(text);
  const parts: Buffer[] = [];
  let largest = 0;
  let done = 0;
  for (const token of tokens) {
    if (/^\$\d+$/.test(token.text)) largest = Math.max(largest, Number(token.text.slice(1)));
    if (token.tokenType !== OPERATOR || !token.text.endsWith("?")) continue;
    largest += 1;
    parts.push(bytes.subarray(done, token.end - 1), Buffer.from(` $${largest} `));
    done = token.end;
  }
  return Buffer.concat([...parts, bytes.subarray(done)]).toString();
}

function depthOf(tokens: readonly Token[]): number {
  let depth = 0;
  let deepest = 0;
  for (const { text } of tokens) {
    if (text === "(" || text === "[") deepest = Math.max(deepest, ++depth);
    if (text === ")" || text === "]") depth -= 1;
  }
  return deepest;
}

interface QuerySpan {
  readonly start: number;
  readonly end: number;
  /** Byte positions of the calls of `cosine_similarity`, which is a temporary function. */
  readonly at: readonly number[];
}

/** Returns the query's text with the schema's name before each call of `cosine_similarity`. */
function qualifySimilarity(bytes: Buffer, { start, end, at }: QuerySpan): string {
  const parts: Buffer[] = [];
  let done = start;
  for (const place of at.toSorted((a, b) => a - b)) {
    parts.push(bytes.subarray(done, place), Buffer.from("pg_temp."));
    done = place;
  }
  return Buffer.concat([...parts, bytes.subarray(done, end)]).toString();
}

/** Replaces each parameter by NULL, which has no type of its own either. */
function withoutParameters(text: string, tokens: readonly Token[]): string {
  const bytes = Buffer.from(text);
  const parts: Buffer[] = [];
  let done = 0;
  for (const token of tokens) {
    if (!/^\$\d+$/.test(token.text)) continue;
    parts.push(bytes.subarray(done, token.start), Buffer.from("(null)"));
    done = token.end;
  }
  return Buffer.concat([...parts, bytes.subarray(done)]).toString();
}

/** Returns the views that a query needs; a view comes after those it depends on. */
function viewsFor({ views }: QueryReads): readonly ViewName[] {
  const needed = new Set([...views].flatMap((view) => [view, ...(VIEW_DEPENDENCIES[view] ?? [])]));
  return VIEW_NAMES.filter((view) => needed.has(view)).toSorted(
    (a, b) => Number(a in VIEW_DEPENDENCIES) - Number(b in VIEW_DEPENDENCIES),
  );
}
