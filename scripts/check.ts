/** `npm run check`: runs all static checks. */

import { runSteps, type Step, tool } from "./tools.ts";

export const CHECKS: Readonly<Record<string, Step>> = {
  "format, lint": tool("biome", "check", "--error-on-warnings", "."),
  types: tool("tsc", "--noEmit"),
};

if (import.meta.main) process.exitCode = await runSteps(CHECKS);
