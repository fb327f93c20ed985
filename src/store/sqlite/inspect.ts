/** Verifies one workspace of a file, or all of them, after checking the file itself. */
import type { DatabaseSync } from "node:sqlite";
import type { CopiedWorkspace } from "../archive.ts";
import { verifyWorkspace } from "../verify/workspace.ts";
import type { ChainPoint, Problem, VerifyProgress, VerifyReport } from "../verify-report.ts";
import { verifySource } from "./archive/verify-source.ts";
import { checkFile } from "./check-file.ts";
import { isDamage } from "./failures.ts";
import { numberOf } from "./scalar.ts";
import type { Inspection } from "./search/housekeeper-protocol.ts";
import type { Statements } from "./statements.ts";

/** An open file, and who follows the verification. */
export interface VerifiedFile {
  readonly db: DatabaseSync;
  readonly sql: Statements;
  readonly onProgress: (progress: VerifyProgress) => void;
}

const NOTHING_READ = { memories: 0, relations: 0, envelopes: 0, deliveries: 0, agents: 0 } as const;

/** Verifies the file and one workspace in it. Unreadable pages are problems in the report, not errors. */
export async function verifyFile(
  { db, sql, onProgress }: VerifiedFile,
  workspace: string,
  expected: readonly ChainPoint[],
): Promise<VerifyReport> {
  const problems: Problem[] = [];
  try {
    problems.push(...checkFile(db, numberOf(sql.workspaceKey.get(workspace))));
    const source = verifySource(sql, workspace);
    const report = await verifyWorkspace(source, onProgress, expected);
    return { ...report, problems: [...problems, ...report.problems] };
  } catch (error) {
    if (!isDamage(error)) throw error;
    problems.push({
      record: "file",
      field: "pages",
      message: `${error.message}; not all was read`,
    });
    return { ...NOTHING_READ, problems };
  }
}

/** Verifies the file and every workspace in it. Returns the problems and the totals of each workspace. */
export async function inspect({ db, sql, onProgress }: VerifiedFile): Promise<Inspection> {
  const problems = checkFile(db);
  const workspaces: CopiedWorkspace[] = [];
  // The rows cannot be read reliably if the pages are damaged.
  if (problems.some(({ field }) => field === "pages")) return { workspaces, problems };
  const names = db.prepare("select name from workspaces order by name").all();
  for (const { name } of names as { name: string }[]) {
    const { problems: found, ...read } = await verifyWorkspace(verifySource(sql, name), onProgress);
    problems.push(...found);
    workspaces.push({ workspace: name, ...read });
  }
  return { workspaces, problems };
}
