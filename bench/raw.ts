/**
 * The upper bound: `node:sqlite` inserts plain rows of the same size with the same durability (WAL,
 * synced before the acknowledgement; default: 64 rows per commit). No chain, no index, no events.
 */
import { DatabaseSync } from "node:sqlite";
import { type Folder, perSecond } from "./kit.ts";

interface Shape {
  readonly bytes: number;
  readonly rows: number;
  readonly rowsPerCommit?: number;
}

export function rawInserts(folder: Folder, shape: Shape): number {
  const { rowsPerCommit = 64 } = shape;
  const db = new DatabaseSync(folder.file("raw.db"));
  db.exec("pragma journal_mode = wal; pragma synchronous = full; pragma wal_autocheckpoint = 4000");
  db.exec("create table rows (key integer primary key, body text not null)");
  const insert = db.prepare("insert into rows (body) values (?)");
  const begin = db.prepare("begin immediate");
  const commit = db.prepare("commit");
  const body = "x".repeat(shape.bytes);
  const rate = perSecond(shape.rows, () => {
    for (let done = 0; done < shape.rows; done += rowsPerCommit) {
      begin.run();
      for (let i = 0; i < rowsPerCommit; i++) insert.run(body);
      commit.run();
    }
  });
  db.close();
  return rate;
}
