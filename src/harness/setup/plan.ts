/**
 * What setting Baton up for a harness changes, file by file: the MCP server, and the hooks. Worked out
 * from what the files say now, so that doing it twice changes nothing, and undoing takes out what is
 * ours and no more.
 */
import { join } from "node:path";
import { BatonError } from "../../base/errors.ts";
import { type FileChange, readTextFile, unusableFile } from "./file-changes.ts";
import { type WantedHook, withHooks, withoutHooks } from "./hooks-file.ts";
import { isObject, type Json, parseJson, removeAt, setAt, valueAt } from "./json-edit.ts";
import { hookCommand, isServer, type Launch, mcpArguments } from "./launch.ts";
import { withBlock, withoutBlock } from "./toml-block.ts";

export const CLIENTS = ["claude-code", "codex"] as const;
export type Client = (typeof CLIENTS)[number];

export const SCOPES = ["project", "user"] as const;
export type Scope = (typeof SCOPES)[number];

/** Where a harness looks for its settings. */
export interface SettingsPaths {
  /** The project's root. */
  readonly project: string;
  /** `~/.claude`, `~/.claude.json` and `~/.codex`, or where the user keeps them. */
  readonly claude: string;
  readonly claudeJson: string;
  readonly codex: string;
}

/** The events each harness is asked to tell of. */
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
  // PostToolUse tells of failed calls too. PreToolUse would only make every call wait twice.
  codex: ["SessionStart", "UserPromptSubmit", "PostToolUse", "PreCompact", "SubagentStop", "Stop"],
};
/** A harness gives up on a hook after so many seconds; ours give up on a busy store after two. */
const TIMEOUT_S = 10;

/** Claude Code does not wait for these: nothing is said to the model, and nothing is lost by lateness. */
const ASYNC_EVENTS = new Set(["PreToolUse", "PostToolUse", "PostToolUseFailure"]);

const SERVER = "baton";

export interface SetupFiles {
  /** With the MCP server. */
  readonly server: string;
  /** With the hooks. */
  readonly hooks: string;
}

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

/** Of one that is ours already only what may have moved: its owner may have added to it. */
function withServer(
  text: string | undefined,
  file: string,
  { command, args }: { readonly command: string; readonly args: readonly string[] },
): string {
  const root = parseJson(text, file);
  const servers = root["mcpServers"];
  if (servers !== undefined && !isObject(servers))
    throw unusableFile(file, '"mcpServers" is no object');
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
    hint: "Take it out, or leave it: it may do already. baton setup mcp prints what it should say.",
  });
}

function planChange(
  file: string,
  change: (text: string | undefined) => string | undefined,
): FileChange {
  const before = readTextFile(file);
  return { file, before, after: change(before) };
}
