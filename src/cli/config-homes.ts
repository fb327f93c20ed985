/** Where the user's settings of the harnesses are. */
import { homedir } from "node:os";
import type { ConfigHomes } from "../harness/setup/settings-paths.ts";

export function readConfigHomes(): ConfigHomes {
  const { CLAUDE_CONFIG_DIR: claude, CODEX_HOME: codex } = process.env;
  return { home: homedir(), claude, codex };
}
