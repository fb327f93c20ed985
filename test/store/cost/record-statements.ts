/**
 * Reports the statements that SQLite executes in this thread on the files of a folder, by wrapping
 * the methods of all prepared statements. Runs in the main thread and in the searcher's
 * (searcher-child.ts).
 */
import { DatabaseSync, StatementSync } from "node:sqlite";

/** One execution of a statement. */
export interface Execution {
  readonly sql: string;
  /** The second parameter if it is a text: the kind, for statements about entries. */
  readonly kind: string | undefined;
  readonly rowsWritten: number;
  readonly rowsReturned: number;
}

/**
 * Starts reporting. Returns a function that stops it. Other files do not count: earlier test files
 * of this process may have left a hub open.
 */
export function recordStatements(
  folder: string,
  report: (execution: Execution) => void,
): () => void {
  const { prepare } = DatabaseSync.prototype;
  const { run, get, all, iterate } = StatementSync.prototype;
  const counted = new WeakSet<StatementSync>();
  const executed = (
    statement: StatementSync,
    [, second]: readonly unknown[],
    { rowsWritten = 0, rowsReturned = 0 },
  ): void => {
    if (!counted.has(statement)) return;
    const kind = typeof second === "string" ? second : undefined;
    report({ sql: statement.sourceSQL, kind, rowsWritten, rowsReturned });
  };
  DatabaseSync.prototype.prepare = function (this: DatabaseSync, ...given) {
    const statement = Reflect.apply(prepare, this, given);
    if (this.location()?.startsWith(folder)) counted.add(statement);
    return statement;
  };
  Object.assign(StatementSync.prototype, {
    run(this: StatementSync, ...values: unknown[]): unknown {
      const result = Reflect.apply(run, this, values);
      executed(this, values, { rowsWritten: isWrite(this) ? Number(result.changes) : 0 });
      return result;
    },
    get(this: StatementSync, ...values: unknown[]): unknown {
      const row = Reflect.apply(get, this, values);
      executed(this, values, { rowsReturned: row === undefined ? 0 : 1 });
      return row;
    },
    all(this: StatementSync, ...values: unknown[]): unknown {
      const rows = Reflect.apply(all, this, values);
      executed(this, values, { rowsReturned: rows.length });
      return rows;
    },
    *iterate(this: StatementSync, ...values: unknown[]): Generator<unknown> {
      let rowsReturned = 0;
      try {
        for (const row of Reflect.apply(iterate, this, values)) {
          rowsReturned++;
          yield row;
        }
      } finally {
        executed(this, values, { rowsReturned });
      }
    },
  });
  return () => {
    DatabaseSync.prototype.prepare = prepare;
    Object.assign(StatementSync.prototype, { run, get, all, iterate });
  };
}

/** Other statements return the changes of the write before them. */
const isWrite = ({ sourceSQL }: StatementSync): boolean =>
  /^\s*(?:insert|update|delete)\b/.test(sourceSQL);
