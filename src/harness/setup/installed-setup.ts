/** What is set up for a harness now: what `baton doctor` looks at. Changes nothing. */
import { isAbsolute } from "node:path";
import { readTextFile } from "./file-changes.ts";
import { hookCommandsIn } from "./hooks-file.ts";
import { isObject, type Json, parseJson, valueAt } from "./json-edit.ts";
import { programAndEntryOf } from "./launch.ts";
import type { Client, SetupFiles } from "./plan.ts";
import { isTable, readToml, tomlAt } from "./toml-block.ts";

export interface InstalledSetup {
  /** The command and arguments of the MCP server; undefined where there is none. */
  readonly server: readonly string[] | undefined;
  /** The command line of each of our hooks. */
  readonly hooks: ReadonlyMap<string, string>;
}

export function readInstalledSetup(client: Client, files: SetupFiles): InstalledSetup {
  const text = readTextFile(files.server);
  return {
    server: client === "codex" ? codexServer(text, files.server) : claudeServer(text, files.server),
    hooks: hookCommandsIn(readTextFile(files.hooks), files.hooks, client),
  };
}

/** Programs and entries that must be there for any of it to start; not those that are looked up by name. */
export function programFilesOf({ server, hooks }: InstalledSetup): readonly string[] {
  const started = [
    ...(server ?? []).slice(0, 2),
    ...[...hooks.values()].flatMap(programAndEntryOf),
  ];
  return [...new Set(started)].filter((file) => isAbsolute(file));
}

/** The agent it was set up for. */
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
