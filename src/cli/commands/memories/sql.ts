import type { SqlResult } from "../../../memory/sql.ts";
import { command, JSON_OPTION, STORE_OPTIONS } from "../../command.ts";
import { OK } from "../../exit.ts";
import { omitUndefined } from "../../options/omit-undefined.ts";
import { openExisting } from "../../store.ts";
import { bold, dim, oneLine, plural, printJson, printLine, table } from "../../terminal.ts";

/** A cell of a table; the whole of it is in --json. */
const CELL = 60;

export const sql = command({
  name: "sql",
  summary: "one read-only query over the workspace's views; without one, which views there are",
  args: [
    {
      name: "query",
      help: "a select; ? or $1 stand for parameters. Alone, a view's name lists its columns",
      optional: true,
    },
  ],
  options: {
    param: {
      type: "texts",
      value: "<value>",
      help: 'for the next ?: JSON (a number, [0.1, …], {"text": "…"}), or else a text',
    },
    as: { type: "text", value: "<agent>", help: "whose private records are seen too" },
    traces: { type: "flag", help: "also the steps of sessions' traces" },
    limit: { type: "number", value: "<n>", help: "the most rows; more are an error" },
    timeout: { type: "duration", value: "<time>", help: "how long it may run, for instance 2s" },
    ...STORE_OPTIONS,
    ...JSON_OPTION,
  },

  async run({ args: [query], options }) {
    const { json = false, limit, timeout, traces, param = [], as } = options;
    const { isViewName } = await import("../../../store/sql/views.ts");
    if (query === undefined || isViewName(query)) {
      await printViews(query, json);
      return OK;
    }
    await using hub = await openExisting(options);
    const reader = as === undefined ? hub : await hub.agent(as);
    const answer = await reader.memories.sql(query, {
      params: param.map(parameterOf) as string[], // The library says what is wrong with one.
      ...omitUndefined({ limit, timeoutMs: timeout, traces }),
    });
    if (json) printJson(answer);
    else printAnswer(answer);
    return OK;
  },
});

function parameterOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

async function printViews(view: string | undefined, json: boolean): Promise<void> {
  const { VIEWS } = await import("../../../store/sql/views.ts");
  const shown = Object.entries(VIEWS).filter(([name]) => view === undefined || name === view);
  if (json) {
    printJson(Object.fromEntries(shown));
    return;
  }
  for (const [name, { meaning, columns }] of shown) {
    printLine(`${bold(name)}  ${dim(meaning)}`);
    const rows = Object.entries(columns);
    if (view === undefined) printLine(`  ${rows.map(([column]) => column).join(", ")}`);
    else
      for (const line of table(rows.map(([column, of]) => [`  ${column}`, of.type, of.meaning])))
        printLine(line);
  }
}

function printAnswer({ columns, rows }: SqlResult): void {
  const cells = rows.map((row) => columns.map((name) => shownAs(row[name] ?? null)));
  const [head = "", ...lines] = table([columns, ...cells]);
  if (columns.length > 0) printLine(bold(head));
  for (const line of lines) printLine(line);
  printLine(dim(`(${plural(rows.length, "row")})`));
}

function shownAs(value: SqlResult["rows"][number][string]): string {
  if (value instanceof Uint8Array) return `(${plural(value.byteLength, "byte")})`;
  const text = oneLine(value === null ? "" : `${value}`);
  return text.length <= CELL ? text : `${[...text].slice(0, CELL - 1).join("")}…`;
}
