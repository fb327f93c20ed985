/**
 * Plans the file changes of `baton setup` and `--undo`: the MCP server and the hooks of a harness. Plans are
 * computed from the current files, so that a second setup changes nothing and an undo removes only what
 * Baton added.
 */
import { join } from "node:path";
import { BatonError } from "../../base/errors.ts";
import { type FileChange, readTextFile, unusableFile } from "./file-changes.ts";
import { type WantedHook, withHooks, withoutHooks } from "./hooks-file.ts";
import { isObject, type Json, parseJson, removeAt, setAt, valueAt } from "./json-edit.ts";
import { hookCommand, isServer, type Launch, mcpArguments } from "./launch.ts";
import { withBlock, withoutBlock } from "./toml-block.ts";

/** Harnesses that `baton setup` can configure. */
export const CLIENTS = ["claude-code", "codex"] as const;
export type Client = (typeof CLIENTS)[number];

/** Whose settings are changed: the project's or the user's. */
export const SCOPES = ["project", "user"] as const;
export type Scope = (typeof SCOPES)[number];

/** Folders and files of the harnesses' settings. */
export interface SettingsPaths {
  /** Root folder of the project. */
  readonly project: string;
  /** `~/.claude`, `~/.claude.json` and `~/.codex`, or the locations that the user configured. */
  readonly claude: string;
  readonly claudeJson: string;
  readonly codex: string;
}

/** The events for which hooks are installed, by harness. */
export const HOOK_EVENTS: Readonly<Record<Client, readonly string[]>> = {
  "claude-code": [
    "SessionStart",
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "PreCompact",
    "SubagentStop",
    "Stop",
  ],
  // PostToolUse also reports failed calls. PreToolUse would only delay every call a second time.
  codex: ["SessionStart", "UserPromptSubmit", "PostToolUse", "PreCompact", "SubagentStop", "Stop"],
};
/** Timeout of a hook in the harness, in seconds; Baton's hooks stop waiting for a busy store after 2 s. */
const TIMEOUT_S = 10;

/** Claude Code runs these in the background: they return no text, and a delay loses nothing. */
const ASYNC_EVENTS = new Set(["PreToolUse", "PostToolUse", "PostToolUseFailure"]);

const SERVER = "baton";

/** The settings files of a harness. */
export interface SetupFiles {
  /** File with the MCP server. */
  readonly server: string;
  /** File with the hooks. */
  readonly hooks: string;
}

/** Returns the settings files of a harness and scope. */
export function filesOf(client: Client, scope: Scope, places: SettingsPaths): SetupFiles {
  const { project, claude, claudeJson, codex } = places;
  if (client === "codex") {
    const folder = scope === "project" ? join(project, ".codex") : codex;
    return { server: join(folder, "config.toml"), hooks: join(folder, "hooks.json") };
  }
  return scope === "project"
    ? { server: join(project, ".mcp.json"), hooks: join(project, ".claude", "settings.json") }
    : { server: claudeJson, hooks: join(claude, "settings.json") };
}

/** Returns the changes that set Baton up; throws if the server name is used by another server. */
export function planSetup(client: Client, files: SetupFiles, launch: Launch): FileChange[] {
  const wanted = HOOK_EVENTS[client].map((event) => wantedHook(client, event, launch));
  const { node: command } = launch;
  const args = mcpArguments(launch);
  return [
    planChange(files.server, (text) =>
      client === "codex"
        ? withBlock(text, files.server, ["mcp_servers", SERVER], { command, args })
        : withServer(text, files.server, { command, args }),
    ),
    planChange(files.hooks, (text) => withHooks(text, files.hooks, client, wanted)),
  ];
}

/** Returns the changes that remove Baton's server and hooks. */
export function planUndo(client: Client, files: SetupFiles): FileChange[] {
  return [
    planChange(files.server, (text) =>
      client === "codex" ? withoutBlock(text, files.server) : withoutServer(text, files.server),
    ),
    planChange(files.hooks, (text) => withoutHooks(text, files.hooks, client)),
  ];
}

function wantedHook(client: Client, event: string, launch: Launch): WantedHook {
  const inBackground = client === "claude-code" && ASYNC_EVENTS.has(event);
  return {
    event,
    handler: {
      type: "command",
      command: hookCommand(launch, client, event),
      timeout: TIMEOUT_S,
      ...(inBackground ? { async: true } : {}),
    },
  };
}

const PATH = ["mcpServers", SERVER];

/** Adds the server; for an existing one of Baton, sets only command and arguments and keeps the rest. */
function withServer(
  text: string | undefined,
  file: string,
  { command, args }: { readonly command: string; readonly args: readonly string[] },
): string {
  const root = parseJson(text, file);
  const servers = root["mcpServers"];
  if (servers !== undefined && !isObject(servers))
    throw unusableFile(file, '"mcpServers" is not an object');
  const there = valueAt(root, PATH);
  if (there === undefined) return setAt(text, PATH, { type: "stdio", command, args });
  if (!isOurs(there)) throw serverNameTaken(file);
  return setAt(setAt(text, [...PATH, "command"], command), [...PATH, "args"], args);
}

function withoutServer(text: string | undefined, file: string): string | undefined {
  const there = valueAt(parseJson(text, file), PATH);
  return text !== undefined && isOurs(there) ? removeAt(text, PATH) : text;
}

const isOurs = (server: Json | undefined): boolean =>
  isObject(server) && isServer([server["command"], server["args"]].flat());

function serverNameTaken(file: string): BatonError {
  return new BatonError("already_exists", {
    message: `${file} has an MCP server "${SERVER}" that this command did not write. Nothing was changed.`,
    path: file,
    hint: "Keep that entry if it already starts Baton, or remove it; baton setup mcp prints the expected entry.",
  });
}

function planChange(
  file: string,
  change: (text: string | undefined) => string | undefined,
): FileChange {
  const before = readTextFile(file);
  return { file, before, after: change(before) };
}
