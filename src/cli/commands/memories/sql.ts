/** The command `baton sql`: runs a read-only query and lists the views it can use. */
import type { SqlResult } from "../../../memory/sql.ts";
import { command, JSON_OPTION, STORE_OPTIONS } from "../../command.ts";
import { OK } from "../../exit.ts";
import { omitUndefined } from "../../options/omit-undefined.ts";
import { openExisting } from "../../store.ts";
import { bold, dim, oneLine, plural, printJson, printLine, table } from "../../terminal.ts";

/** Maximum characters of a table cell; --json prints full values. */
const CELL = 60;

export const sql = command({
  name: "sql",
  summary: "Run a read-only SQL query on the workspace's views, or list the views",
  args: [
    {
      name: "query",
      help: "select statement with ? or $1 as parameters, or the name of a view to list its columns",
      optional: true,
    },
  ],
  options: {
    param: {
      type: "texts",
      value: "<value>",
      help: 'value of the next parameter, as JSON (a number, [0.1, …], {"text": "…"}) or text',
    },
    as: { type: "text", value: "<agent>", help: "agent to read as; includes its private records" },
    traces: { type: "flag", help: "include steps of traces" },
    limit: { type: "number", value: "<n>", help: "maximum number of rows; more are an error" },
    timeout: { type: "duration", value: "<time>", help: "maximum running time, such as 2s" },
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
      params: param.map(parameterOf) as string[], // The library validates them.
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
