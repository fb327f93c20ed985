/** Reads the current setup of a harness, for `baton doctor`. Changes nothing. */
import { isAbsolute } from "node:path";
import { readTextFile } from "./file-changes.ts";
import { hookCommandsIn } from "./hooks-file.ts";
import { isObject, type Json, parseJson, valueAt } from "./json-edit.ts";
import { programAndEntryOf } from "./launch.ts";
import type { Client, SetupFiles } from "./plan.ts";
import { isTable, readToml, tomlAt } from "./toml-block.ts";

/** Baton's entries in the settings of a harness. */
export interface InstalledSetup {
  /** The command and arguments of the MCP server; undefined if it is not set up. */
  readonly server: readonly string[] | undefined;
  /** The command lines of Baton's hooks, by event. */
  readonly hooks: ReadonlyMap<string, string>;
}

/** Reads the settings files; throws `file_unusable` if one cannot be parsed. */
export function readInstalledSetup(client: Client, files: SetupFiles): InstalledSetup {
  const text = readTextFile(files.server);
  return {
    server: client === "codex" ? codexServer(text, files.server) : claudeServer(text, files.server),
    hooks: hookCommandsIn(readTextFile(files.hooks), files.hooks, client),
  };
}

/** Returns the files that must exist for the setup to start; without programs found by the PATH. */
export function programFilesOf({ server, hooks }: InstalledSetup): readonly string[] {
  const started = [
    ...(server ?? []).slice(0, 2),
    ...[...hooks.values()].flatMap(programAndEntryOf),
  ];
  return [...new Set(started)].filter((file) => isAbsolute(file));
}

/** Returns the agent that the setup acts as; undefined if it has no --as. */
export function agentOf({ server, hooks }: InstalledSetup): string | undefined {
  const words = server ?? [...hooks.values()][0]?.split(" ") ?? [];
  const at = words.indexOf("--as");
  return at < 0 ? undefined : words[at + 1];
}

function claudeServer(text: string | undefined, file: string): readonly string[] | undefined {
  const server = valueAt(parseJson(text, file), ["mcpServers", "baton"]);
  if (!isObject(server)) return undefined;
  const { command, args } = server;
  const words = [command, ...(Array.isArray(args) ? (args as readonly Json[]) : [])];
  return words.filter((word) => typeof word === "string");
}

function codexServer(text: string | undefined, file: string): readonly string[] | undefined {
  const server = tomlAt(readToml(text, file), ["mcp_servers", "baton"]);
  if (!isTable(server)) return undefined;
  const { command, args } = server;
  const words = [command, ...(Array.isArray(args) ? args : [])];
  return words.filter((word) => typeof word === "string");
}
