/**
 * `npm run build`: a fresh dist/ with the types of the exported entries, the sources in a few files
 * (bundle.ts), the JSON Schemas, the word vectors, and the example that `baton demo team` plays.
 */

import { copyFileSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { ROOT, runSteps, type Step, script, tool } from "./tools.ts";

const PLACE = join("search", "embedding");
export const WORD_VECTORS = ["words.bin", "PROVENANCE.md"] as const;

export const BUILD: Readonly<Record<string, Step>> = {
  clean: async () => {
    rmSync(join(ROOT, "dist"), { recursive: true, force: true });
    return 0;
  },
  types: tool("tsc", "-p", "tsconfig.build.json", "--emitDeclarationOnly"),
  "exported types": script("scripts/prune-types.ts"),
  bundle: script("scripts/bundle.ts"),
  schemas: script("scripts/write-schemas.ts"),
  // The vectors, and whose they are.
  "word vectors": async () => {
    mkdirSync(join(ROOT, "dist", PLACE), { recursive: true });
    for (const file of WORD_VECTORS) {
      copyFileSync(join(ROOT, "src", PLACE, file), join(ROOT, "dist", PLACE, file));
    }
    return 0;
  },
  // After the sources: it is compiled against the package as it was built.
  examples: tool("tsc", "-p", "tsconfig.examples.json"),
};

if (import.meta.main) process.exitCode = await runSteps(BUILD);
