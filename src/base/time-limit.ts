/**
 * Runs synchronous code with a time limit. Schemas come from callers and run in a hub that serves many
 * workspaces: a pattern that backtracks, or references that multiply, must not stop all of them.
 */
import { createContext, Script } from "node:vm";

const sandbox: { run: () => void } = { run: () => {} };
let script: Script | undefined;

/**
 * Returns what `run` returns, or undefined when it takes longer; what it throws is thrown. Costs about 0.1 ms:
 * each call has a watchdog thread.
 */
export function runWithTimeLimit<T extends object>(limitMs: number, run: () => T): T | undefined {
  let result: T | undefined;
  sandbox.run = () => {
    result = run();
  };
  script ??= createScript();
  try {
    script.runInContext(sandbox, { timeout: limitMs });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ERR_SCRIPT_EXECUTION_TIMEOUT") throw error;
    return undefined;
  } finally {
    sandbox.run = () => {}; // What it holds can be freed.
  }
  return result;
}

/** Made with the first call: most processes make none. */
function createScript(): Script {
  createContext(sandbox);
  return new Script("run()");
}
