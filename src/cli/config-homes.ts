/** Finds the user's harness settings from CLAUDE_CONFIG_DIR, CODEX_HOME and the home folder. */
import { homedir } from "node:os";
import type { ConfigHomes } from "../harness/setup/settings-paths.ts";

/** Returns the settings folders; `claude` and `codex` are undefined when their variable is not set. */
export function readConfigHomes(): ConfigHomes {
  const { CLAUDE_CONFIG_DIR: claude, CODEX_HOME: codex } = process.env;
  return { home: homedir(), claude, codex };
}
