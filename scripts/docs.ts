/** `npm run docs`: writes generated documentation. test/docs.test.ts fails if it is out of date. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { renderApiReport } from "./api-report.ts";
import { renderErrorReference } from "./error-reference.ts";
import { writeOperationExamples } from "./operation-examples.ts";
import { writeOperationTable } from "./operation-table.ts";
import { withTables } from "./reference-tables.ts";
import { renderTeamPage } from "./team-page.ts";
import { ROOT } from "./tools.ts";

/** The marks around a verbatim copy of an example. */
const SNIPPET = /(<!-- (examples\/[\w-]+\.ts) \(npm run docs\) -->\n)[\s\S]*?(<!-- end -->)/g;

/** Renders the current content of every page that is generated in whole or in part. */
export const PAGES: Readonly<Record<string, () => string | Promise<string>>> = {
  "README.md": () => withExamples(read("README.md")),
  "docs/api-report.md": renderApiReport,
  "docs/DELIVERY.md": () => withTables(read("docs/DELIVERY.md")),
  "docs/ERRORS.md": renderErrorReference,
  "docs/LINT.md": () => withTables(read("docs/LINT.md")),
  "docs/MCP.md": () => withTables(read("docs/MCP.md")),
  "docs/OPERATIONS.md": () => withTables(read("docs/OPERATIONS.md")),
  "docs/PROTOCOL.md": () => withTables(read("docs/PROTOCOL.md")),
  "docs/RECEIVING.md": () => withExamples(read("docs/RECEIVING.md")),
  "docs/SQL.md": () => withTables(read("docs/SQL.md")),
  "docs/TEAM.md": renderTeamPage,
  "docs/TESTING.md": () => withExamples(read("docs/TESTING.md")),
};

function withExamples(page: string): string {
  return page.replace(SNIPPET, (_, open: string, example: string, close: string) => {
    const snippet = ["```ts", read(example).trimEnd(), "```"].join("\n");
    return `${open}\n${snippet}\n\n${close}`;
  });
}

function read(path: string): string {
  return readFileSync(join(ROOT, path), "utf8");
}

if (import.meta.main) {
  writeOperationTable();
  await writeOperationExamples();
  for (const [path, render] of Object.entries(PAGES)) {
    writeFileSync(join(ROOT, path), await render());
  }
}
