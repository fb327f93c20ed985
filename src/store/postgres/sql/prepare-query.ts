/**
 * Turns a caller's query into the statement that is sent to PostgreSQL: parses it with PostgreSQL's own
 * parser, checks it with the guard and prefixes the definitions of the views it reads. The caller's text
 * occurs in one place only, in parentheses: the parser has checked that it is one complete statement.
 */

import { loadOptional } from "../../../base/optional-package.ts";
import { refuseParameterCount } from "../../sql/parameter-count.ts";
import { definitionOf, quoteName, VIEW_DEPENDENCIES } from "../../sql/view-definitions.ts";
import { columnsOf, VIEW_NAMES, type ViewName } from "../../sql/views.ts";
import type { QueryOutcome, RunQuery } from "../../sql-query.ts";
import { postgresDialect } from "./sql-dialect.ts";
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

/** The statement to send, or why the query is refused. */
export type PrepareResult =
  | { readonly kind: "prepared"; readonly text: string }
  | Extract<QueryOutcome, { readonly kind: "refused" | "miscounted" | "failed" }>;

/** Checks a query and returns the statement to send. Never throws for an invalid query. */
export async function prepareQuery(query: RunQuery, schema: string): Promise<PrepareResult> {
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
    const reading = inspectQuery(statement.stmt);
    if ("reason" in reading) return { kind: "refused", ...reading };
    const miscounted = refuseParameterCount(reading.params, query.params.length);
    if (miscounted !== undefined) return miscounted;
    const start = statement.stmt_location ?? 0;
    const length = statement.stmt_len ?? 0;
    const bytes = Buffer.from(numbered);
    const end = length === 0 ? bytes.length : start + length;
    const own = qualifySimilarity(bytes, { start, end, at: reading.similarities, schema });
    return { kind: "prepared", text: wrapInViews(own, reading, { query, schema }) };
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
  /** Byte positions of the calls of `cosine_similarity`, which is in the store's schema. */
  readonly at: readonly number[];
  readonly schema: string;
}

/** Returns the query's text with the schema's name before each call of `cosine_similarity`. */
function qualifySimilarity(bytes: Buffer, { start, end, at, schema }: QuerySpan): string {
  const parts: Buffer[] = [];
  let done = start;
  for (const place of at.toSorted((a, b) => a - b)) {
    parts.push(bytes.subarray(done, place), Buffer.from(`${schema}.`));
    done = place;
  }
  return Buffer.concat([...parts, bytes.subarray(done, end)]).toString();
}

/** Puts the definitions of the needed views before the query; a view comes after those it depends on. */
function wrapInViews(
  own: string,
  { views }: QueryReads,
  { query, schema }: { readonly query: RunQuery; readonly schema: string },
): string {
  const needed = new Set<ViewName>(
    [...views].flatMap((view) => [view, ...(VIEW_DEPENDENCIES[view] ?? [])]),
  );
  const dialect = postgresDialect(schema, query.workspace);
  const { sight, vectors } = query;
  const definer = { dialect, sight, vectors, view: quoteName };
  const order = VIEW_NAMES.toSorted(
    (a, b) => Number(a in VIEW_DEPENDENCIES) - Number(b in VIEW_DEPENDENCIES),
  );
  // The offset is an optimization fence: PostgreSQL does not push conditions into a select that has one.
  const definitions = order
    .filter((view) => needed.has(view))
    .map((view) => {
      const columns = columnsOf(view).map(quoteName).join(", ");
      return `${view} (${columns}) as not materialized (${definitionOf(view, definer)} offset 0)`;
    });
  const before = definitions.length === 0 ? "" : `with ${definitions.join(",\n")}\n`;
  return `${before}select * from (\n${own}\n) as answer limit ${query.bounds.rows + 1}`;
}
