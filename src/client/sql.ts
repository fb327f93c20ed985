/** SQL over HTTP: bytes travel as base64, and texts become vectors here where an embedder is given. */
import type { Embed, SqlAnswer, SqlOptions } from "../memory/sql.ts";
import { bytesRead, bytesWritten } from "../operations/wire/bytes.ts";
import { requireFields } from "./connection/call-options.ts";
import type { Wire } from "./connection/wire.ts";

export async function runSql(wire: Wire, query: string, options: SqlOptions): Promise<SqlAnswer> {
  requireFields(options);
  const { embed, params, ...rest } = options;
  // What is no list is left as it is, for the hub to refuse.
  const said = Array.isArray(params)
    ? await Promise.all(params.map((param) => written(param, embed)))
    : params;
  const answer = await wire.call<SqlAnswer>("memories.sql", { ...rest, query, params: said });
  const rows = answer.rows.map((row) =>
    Object.fromEntries(Object.entries(row).map(([name, cell]) => [name, bytesRead(cell)])),
  );
  return { columns: answer.columns, rows } as SqlAnswer;
}

async function written(param: unknown, embed: Embed | undefined): Promise<unknown> {
  if (param instanceof Float32Array) return [...param];
  if (embed === undefined || !isMeant(param)) return bytesWritten(param);
  return [...(await embed(param.text))];
}

const isMeant = (param: unknown): param is { readonly text: string } =>
  typeof Object(param).text === "string";
