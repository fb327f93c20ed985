/** Runs SQL over HTTP: bytes are sent as base64, and texts are embedded here if `embed` is given. */
import type { Embed, SqlOptions, SqlResult } from "../memory/sql.ts";
import { decodeBytes, encodeBytes } from "../operations/wire/bytes.ts";
import { requireFields } from "./connection/call-options.ts";
import type { Wire } from "./connection/wire.ts";

/** Runs a query and returns its rows. */
export async function runSql(wire: Wire, query: string, options: SqlOptions): Promise<SqlResult> {
  requireFields(options);
  const { embed, params, ...rest } = options;
  // A value that is not a list is sent as it is; the hub refuses it.
  const values = Array.isArray(params)
    ? await Promise.all(params.map((param) => encodeParameter(param, embed)))
    : params;
  const answer = await wire.call<SqlResult>("memories.sql", { ...rest, query, params: values });
  const rows = answer.rows.map((row) =>
    Object.fromEntries(Object.entries(row).map(([name, cell]) => [name, decodeBytes(cell)])),
  );
  return { columns: answer.columns, rows } as SqlResult;
}

async function encodeParameter(param: unknown, embed: Embed | undefined): Promise<unknown> {
  if (param instanceof Float32Array) return [...param];
  if (embed === undefined || !isTextToEmbed(param)) return encodeBytes(param);
  return [...(await embed(param.text))];
}

const isTextToEmbed = (param: unknown): param is { readonly text: string } =>
  typeof Object(param).text === "string";
