/** Verifies a whole file: SQLite's check of pages and indexes, then every workspace in it. */
import type { DatabaseSync } from "node:sqlite";
import type { CopiedWorkspace } from "../archive.ts";
import { verifyWorkspace } from "../verify/workspace.ts";
import type { Problem, VerifyProgress } from "../verify-report.ts";
import { verifySource } from "./archive/verify-source.ts";
import type { Inspection } from "./search/housekeeper-protocol.ts";
import type { Statements } from "./statements.ts";

/** Returns the problems found, and the totals of each workspace. */
export async function inspect(
  db: DatabaseSync,
  sql: Statements,
  onProgress: (progress: VerifyProgress) => void,
): Promise<Inspection> {
  const problems: Problem[] = db
    .prepare("pragma integrity_check(20)")
    .all()
    .map((row) => String(row["integrity_check"]))
    .filter((said) => said !== "ok")
    .map((message) => ({ record: "file", field: "pages", message }));
  const workspaces: CopiedWorkspace[] = [];
  // The rows cannot be trusted if the pages are damaged.
  if (problems.length > 0) return { workspaces, problems };
  const names = db.prepare("select name from workspaces order by name").all();
  for (const { name } of names as { name: string }[]) {
    const { problems: found, ...read } = await verifyWorkspace(verifySource(sql, name), onProgress);
    problems.push(...found);
    workspaces.push({ workspace: name, ...read });
  }
  return { workspaces, problems };
}
