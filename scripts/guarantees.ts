/** `npm run guarantees`: writes docs/GUARANTEES.md; --json prints all requirements and tests. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { proofMap, renderGuarantees } from "../test/requirements/render.ts";
import { scanProofs } from "../test/requirements/scan.ts";
import { families } from "../test/requirements.ts";

const root = join(import.meta.dirname, "..");
const { tests } = scanProofs(root);

if (process.argv.includes("--json")) {
  console.log(JSON.stringify(proofMap(families, tests), null, 2));
} else {
  writeFileSync(join(root, "docs", "GUARANTEES.md"), renderGuarantees(families, tests));
}
