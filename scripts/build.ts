/**
 * `npm run build`: builds dist/ from scratch: the types of the exported entries, the bundled
 * sources (bundle.ts), the JSON Schemas, the data files, and the example that `baton demo team`
 * runs.
 */

import { copyFileSync, mkdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { ROOT, runSteps, type Step, script, tool } from "./tools.ts";

/** Files that are read at run time, by path in src/ and dist/ and the provenance of the vectors. */
export const DATA_FILES = [
  "operations/examples.json",
  "search/embedding/words.bin",
  "search/embedding/PROVENANCE.md",
] as const;

export const BUILD: Readonly<Record<string, Step>> = {
  clean: async () => {
    rmSync(join(ROOT, "dist"), { recursive: true, force: true });
    return 0;
  },
  types: tool("tsc", "-p", "tsconfig.build.json", "--emitDeclarationOnly"),
  "exported types": script("scripts/prune-types.ts"),
  bundle: script("scripts/bundle.ts"),
  schemas: script("scripts/write-schemas.ts"),
  data: async () => {
    copyData(join(ROOT, "dist"));
    return 0;
  },
  // Last, because it is compiled against the built package.
  examples: tool("tsc", "-p", "tsconfig.examples.json"),
};

/** Copies the data files into the folder of a bundle. */
export function copyData(dist: string): void {
  for (const file of DATA_FILES) {
    mkdirSync(dirname(join(dist, file)), { recursive: true });
    copyFileSync(join(ROOT, "src", file), join(dist, file));
  }
}

if (import.meta.main) process.exitCode = await runSteps(BUILD);
