/** Where the harnesses keep their settings, for the project a folder belongs to and for its user. */
import { existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import type { SettingsPaths } from "./plan.ts";

export interface ConfigHomes {
  readonly home: string;
  /** What CLAUDE_CONFIG_DIR and CODEX_HOME say, where they do. */
  readonly claude: string | undefined;
  readonly codex: string | undefined;
}

export function settingsPathsFor(
  folder: string,
  { home, claude, codex }: ConfigHomes,
): SettingsPaths {
  return {
    project: projectRoot(resolve(folder)),
    claude: claude || join(home, ".claude"),
    claudeJson: join(claude || home, ".claude.json"),
    codex: codex || join(home, ".codex"),
  };
}

/** The top of the worktree, or the folder itself. */
function projectRoot(folder: string): string {
  for (let at = folder; ; at = dirname(at)) {
    if (existsSync(join(at, ".git"))) return at;
    if (dirname(at) === at) return folder;
  }
}
