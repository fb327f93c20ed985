// Writes docs/GUARANTEES.md. With --check it writes nothing and exits 1 when the page is out of date.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { renderGuarantees } from "../test/requirements/render.ts";
import { scanProofs } from "../test/requirements/scan.ts";
import { families } from "../test/requirements.ts";

const root = join(import.meta.dirname, "..");
const page = join(root, "docs", "GUARANTEES.md");
const fresh = renderGuarantees(families, scanProofs(root).tests);
const current = existsSync(page) ? readFileSync(page, "utf8") : undefined;

if (process.argv.includes("--check")) {
  if (current !== fresh) {
    console.error("docs/GUARANTEES.md is out of date: run node scripts/guarantees.ts");
    process.exitCode = 1;
  }
} else if (current !== fresh) {
  mkdirSync(dirname(page), { recursive: true });
  writeFileSync(page, fresh);
}
