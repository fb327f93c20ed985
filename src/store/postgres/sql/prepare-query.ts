/**
 * From a query as it was written to the one that is sent: parsed by PostgreSQL's own parser, held
 * against the guard, and put behind the views it reads. What is sent has the caller's words in one
 * place only, in parentheses that the parser has seen whole.
 */

import { loadOptional } from "../../../base/optional-package.ts";
import { refuseParameterCount } from "../../sql/parameter-count.ts";
import { definitionOf, quoteName, VIEW_DEPENDENCIES } from "../../sql/view-definitions.ts";
import { columnsOf, VIEW_NAMES, type ViewName } from "../../sql/views.ts";
import type { QueryOutcome, RunQuery } from "../../sql-query.ts";
import { postgresDialect } from "./sql-dialect.ts";
import { inspectQuery, type QueryReads } from "./sql-guard.ts";

type Parser = typeof import("libpg-query");

/** Loaded with the first query: 1.7 MB of WebAssembly. */
let parser: Promise<Parser> | undefined;

async function loadParser(): Promise<Parser> {
  const loaded = await loadOptional("libpg-query", () => import("libpg-query"), {
    neededFor: "SQL on PostgreSQL",
  });
  await loaded.loadModule();
  return loaded;
}

/** The parser goes down a level with each: far less than what its stack holds. */
const MAX_TOKENS = 4_000;
const MAX_DEPTH = 64;

/** Token numbers of the lexer, which names only some. */
const OPERATOR = 265;

export type PrepareResult =
  | { readonly kind: "prepared"; readonly text: string }
  | Extract<QueryOutcome, { readonly kind: "refused" | "miscounted" | "failed" }>;

export async function prepareQuery(query: RunQuery, schema: string): Promise<PrepareResult> {
  parser ??= loadParser();
  const { parseSync, scanSync } = await parser;
  try {
    const numbered = numberPlaceholders(query.text, scanSync(query.text).tokens);
    if (typeof numbered !== "string") return numbered;
    const { stmts = [] } = parseSync(numbered);
    const [statement, ...more] = stmts;
    if (statement?.stmt === undefined) return refusedResult("it is empty", "Write one select.");
    if (more.length > 0)
      return refusedResult("it has more than one statement", "Ask one at a time.");
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

/** `?` counts on, `$2` says which. The lexer takes a `?` right after an operator for a part of it. */
function numberPlaceholders(text: string, tokens: readonly Token[]): string | PrepareResult {
  if (tokens.length > MAX_TOKENS || depthOf(tokens) > MAX_DEPTH) {
    return refusedResult("it is too long or too deep", "Ask for less at a time.");
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
  /** Where the function is called that is in the store's schema. */
  readonly at: readonly number[];
  readonly schema: string;
}

function qualifySimilarity(bytes: Buffer, { start, end, at, schema }: QuerySpan): string {
  const parts: Buffer[] = [];
  let done = start;
  for (const place of at.toSorted((a, b) => a - b)) {
    parts.push(bytes.subarray(done, place), Buffer.from(`${schema}.`));
    done = place;
  }
  return Buffer.concat([...parts, bytes.subarray(done, end)]).toString();
}

/** A view that is made from others comes after them. */
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
  // The offset is the fence: PostgreSQL moves no condition into a select that has one.
  const definitions = order
    .filter((view) => needed.has(view))
    .map((view) => {
      const columns = columnsOf(view).map(quoteName).join(", ");
      return `${view} (${columns}) as not materialized (${definitionOf(view, definer)} offset 0)`;
    });
  const before = definitions.length === 0 ? "" : `with ${definitions.join(",\n")}\n`;
  return `${before}select * from (\n${own}\n) as answer limit ${query.bounds.rows + 1}`;
}
