/** Finds the settings of the harnesses, for the project that contains a folder and for the user. */
import { existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import type { SettingsPaths } from "./plan.ts";

/** The home folder and configured settings folders. */
export interface ConfigHomes {
  readonly home: string;
  /** Values of CLAUDE_CONFIG_DIR and CODEX_HOME; undefined if not set. */
  readonly claude: string | undefined;
  readonly codex: string | undefined;
}

/** Returns the settings paths for a folder. */
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

/** Returns the root of the Git worktree, or the folder itself outside of one. */
function projectRoot(folder: string): string {
  for (let at = folder; ; at = dirname(at)) {
    if (existsSync(join(at, ".git"))) return at;
    if (dirname(at) === at) return folder;
  }
}
