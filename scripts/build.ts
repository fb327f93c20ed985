/** `npm run build`: a fresh dist/ with the compiled sources and the JSON Schemas. */

import { rmSync } from "node:fs";
import { join } from "node:path";
import { ROOT, runSteps, type Step, script, tool } from "./tools.ts";

export const BUILD: Readonly<Record<string, Step>> = {
  clean: async () => {
    rmSync(join(ROOT, "dist"), { recursive: true, force: true });
    return 0;
  },
  compile: tool("tsc", "-p", "tsconfig.build.json"),
  schemas: script("scripts/write-schemas.ts"),
};

if (import.meta.main) process.exitCode = await runSteps(BUILD);
