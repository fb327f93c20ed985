/** Where the user's settings of the harnesses are. */
import { homedir } from "node:os";
import type { Homes } from "../harness/setup/places.ts";

export function homes(): Homes {
  const { CLAUDE_CONFIG_DIR: claude, CODEX_HOME: codex } = process.env;
  return { home: homedir(), claude, codex };
}
