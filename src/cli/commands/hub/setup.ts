/** The command `baton setup`: writes the MCP server and hooks into a client's settings, or removes them. */

import { join, resolve } from "node:path";
import { fileOf } from "../../../base/files/store-file.ts";
import { trimEndOf } from "../../../base/trim-end.ts";
import type { DiffLine, FileChange } from "../../../harness/setup/file-changes.ts";
import type { Launch } from "../../../harness/setup/launch.ts";
import type { Client, Scope } from "../../../harness/setup/plan.ts";
import { command, JSON_OPTION, type OptionValues, STORE_OPTIONS } from "../../command.ts";
import { readConfigHomes } from "../../config-homes.ts";
import { OK } from "../../exit.ts";
import { bad, bold, dim, good, printable, printJson, printLine } from "../../terminal.ts";
import { usageError } from "../../usage-error.ts";

const OPTIONS = {
  as: {
    type: "text",
    value: "<agent>",
    help: "agent that its sessions act as (default: the client's name)",
  },
  scope: {
    type: "text",
    value: "<scope>",
    help: "settings to change: of this project or of the user (default: project)",
    choices: ["project", "user"],
  },
  "dry-run": { type: "flag", help: "show what would change" },
  undo: { type: "flag", help: "remove what baton setup added" },
  ...STORE_OPTIONS,
  ...JSON_OPTION,
} as const;

export const setup = command({
  name: "setup",
  summary: "Connect Claude Code, Codex or any MCP client: MCP server and hooks",
  args: [{ name: "client", help: "client to connect", choices: ["claude-code", "codex", "mcp"] }],
  options: OPTIONS,

  async run({ args: [client = ""], options }) {
    const launch = launchOf(client, options);
    await checkName(launch);
    if (client === "mcp") return printConfiguration(launch, options);
    const { filesOf, planSetup, planUndo } = await import("../../../harness/setup/plan.ts");
    const { settingsPathsFor: placesFor } = await import(
      "../../../harness/setup/settings-paths.ts"
    );
    const { isChange, writeChanges } = await import("../../../harness/setup/file-changes.ts");
    const { scope = "project", undo = false, "dry-run": isDry = false, json } = options;
    const files = filesOf(
      client as Client,
      scope as Scope,
      placesFor(process.cwd(), readConfigHomes()),
    );
    // All changes are computed before the first write, so that an invalid file changes nothing.
    const planned = undo
      ? planUndo(client as Client, files)
      : planSetup(client as Client, files, launch);
    const changes = planned.filter(isChange);
    if (!isDry) {
      if (!undo && scope === "project") await register(launch, options);
      writeChanges(changes);
    }
    const diffs = await fileDiffsOf(changes);
    if (json) printJson({ client, scope, undo, dryRun: isDry, changes: diffs });
    else printChanges(diffs, isDry);
    if (!(json || undo || isDry)) printNextSteps(client, launch, scope);
    return OK;
  },
});

type Options = OptionValues<typeof OPTIONS>;

function launchOf(client: string, { as, store, workspace }: Options): Launch {
  const own = new URL(import.meta.url).pathname.endsWith(".ts") ? "../../main.ts" : "../../main.js";
  return {
    node: process.execPath,
    entry: join(import.meta.dirname, own),
    as: as ?? (client === "mcp" ? "agent" : client),
    choice: [
      ...(store === undefined ? [] : ["--store", addressFor(store)]),
      ...(workspace === undefined ? [] : ["--workspace", workspace]),
    ],
  };
}

/** Throws for an invalid name, which would make every hook fail silently. */
async function checkName({ as }: Launch): Promise<void> {
  const [{ AgentName }, { parseOrThrow: parseOr }] = await Promise.all([
    import("../../../envelope/schema.ts"),
    import("../../../envelope/violations.ts"),
  ]);
  parseOr(AgentName, as, { code: "invalid_input", what: "The agent", prefix: "--as" });
}

/** Returns the address for a settings file: absolute; throws if it contains a password. */
function addressFor(store: string): string {
  const file = fileOf(store);
  if (file !== undefined) return `sqlite:${resolve(file)}`;
  if (URL.canParse(store) && new URL(store).password !== "") {
    throw usageError(
      "--store",
      "--store contains a password, which must not be written to a settings file.",
      "Omit --store and set BATON_STORE in the environment of the client.",
    );
  }
  return store;
}

/** Creates the store and registers the agent, so that hooks can write. */
async function register({ as }: Launch, { store, workspace }: Options): Promise<void> {
  const [{ openStore }, { isBatonError }] = await Promise.all([
    import("../../store.ts"),
    import("../../../base/errors.ts"),
  ]);
  await using hub = await openStore({ store, workspace });
  try {
    await hub.agent(as);
  } catch (error) {
    if (!isBatonError(error) || error.code !== "unknown_agent") throw error;
    await hub.agent(as, { role: "agent" });
  }
}

interface FileDiff {
  readonly file: string;
  readonly what: "new" | "removed" | "changed";
  readonly lines: readonly DiffLine[];
}

/** Returns only the added and removed lines; the rest of a settings file may be private. */
async function fileDiffsOf(changes: readonly FileChange[]): Promise<FileDiff[]> {
  const { diffOf } = await import("../../../harness/setup/file-changes.ts");
  return changes.map((change) => {
    const { file, before, after } = change;
    const what = before === undefined ? "new" : after === undefined ? "removed" : "changed";
    return { file, what, lines: diffOf(change) };
  });
}

function printChanges(changes: readonly FileDiff[], isDry: boolean): void {
  if (changes.length === 0) printLine("No changes needed.");
  for (const { file, what, lines } of changes) {
    printLine(`${bold(file)}${dim(`  ${isDry ? "would be " : ""}${what}`)}`);
    for (const { kind, text } of isDry ? lines : []) {
      printLine(kind === "added" ? good(`+ ${printable(text)}`) : bad(`- ${printable(text)}`));
    }
  }
}

function printNextSteps(client: string, { as }: Launch, scope: string): void {
  printLine();
  if (client === "claude-code") {
    printLine(`Restart Claude Code here; /mcp and /hooks list Baton. It acts as ${bold(as)}.`);
  } else {
    printLine(`Restart Codex and trust the hooks with /hooks. It acts as ${bold(as)}.`);
    if (scope === "project") printLine("Codex reads project settings only in trusted projects.");
  }
  printLine(dim(`Send it work: baton handoff send --to ${as} …   Check the setup: baton doctor`));
}

async function printConfiguration(launch: Launch, { json, undo, store }: Options): Promise<number> {
  if (undo)
    throw usageError(
      "--undo",
      "--undo does not apply to baton setup mcp, which changes no files.",
      "Omit --undo.",
    );
  const { mcpArguments } = await import("../../../harness/setup/launch.ts");
  const stdio = { command: launch.node, args: mcpArguments(launch) };
  const { DEFAULT_HOST, DEFAULT_PORT } = await import("../../../http/listen.ts");
  const hub = store !== undefined && /^https?:/i.test(store) ? store : undefined;
  const address = trimEndOf(hub ?? `http://${DEFAULT_HOST}:${DEFAULT_PORT}`, "/");
  const http = {
    type: "http",
    url: `${address}/mcp/${encodeURIComponent(launch.as)}`,
    headers: { Authorization: "Bearer <token>" },
  };
  const [forStdio, forHttp] = [stdio, http].map((baton) => ({ mcpServers: { baton } }));
  if (json) {
    printJson({ stdio: forStdio, http: forHttp });
    return OK;
  }
  printLine("For a client that starts the server itself (most do); needs no token:");
  printJson(forStdio);
  printLine();
  printLine("For a client that connects to a running hub (baton start):");
  printJson(forHttp);
  printLine(`Replace <token> by a token: baton token add ${launch.as} --access agent`);
  return OK;
}
