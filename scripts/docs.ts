/** `npm run docs`: writes what the pages take from the code. test/docs.test.ts says when to. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { renderErrorReference } from "./error-reference.ts";
import { withTables } from "./reference-tables.ts";
import { renderTeamPage } from "./team-page.ts";
import { ROOT } from "./tools.ts";

const README_SNIPPET =
  /(<!-- examples\/quick-start\.ts \(npm run docs\) -->\n)[\s\S]*?(<!-- end -->)/;

/** Every page that is written in whole or in part, as it should be. */
export const PAGES: Readonly<Record<string, () => string | Promise<string>>> = {
  "README.md": () => {
    const snippet = ["```ts", read("examples/quick-start.ts").trimEnd(), "```"].join("\n");
    return read("README.md").replace(
      README_SNIPPET,
      (_, open: string, close: string) => `${open}\n${snippet}\n\n${close}`,
    );
  },
  "docs/DELIVERY.md": () => withTables(read("docs/DELIVERY.md")),
  "docs/ERRORS.md": renderErrorReference,
  "docs/LINT.md": () => withTables(read("docs/LINT.md")),
  "docs/OPERATIONS.md": () => withTables(read("docs/OPERATIONS.md")),
  "docs/PROTOCOL.md": () => withTables(read("docs/PROTOCOL.md")),
  "docs/SQL.md": () => withTables(read("docs/SQL.md")),
  "docs/TEAM.md": renderTeamPage,
};

function read(path: string): string {
  return readFileSync(join(ROOT, path), "utf8");
}

if (import.meta.main) {
  for (const [path, render] of Object.entries(PAGES)) {
    writeFileSync(join(ROOT, path), await render());
  }
}
