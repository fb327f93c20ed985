import { join, resolve } from "node:path";
import { fileOf } from "../../../base/store-file.ts";
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
    help: "the agent its sessions act as; else the client's name",
  },
  scope: {
    type: "text",
    value: "<scope>",
    help: "this project, or everything the user does; else project",
    choices: ["project", "user"],
  },
  "dry-run": { type: "flag", help: "only shows what would change" },
  undo: { type: "flag", help: "takes out what was added, and nothing else" },
  ...STORE_OPTIONS,
  ...JSON_OPTION,
} as const;

export const setup = command({
  name: "setup",
  summary: "connects Claude Code, Codex or any MCP client: server and hooks",
  args: [{ name: "client", help: "what to connect", choices: ["claude-code", "codex", "mcp"] }],
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
    // All of them are worked out before the first is written: a broken file changes nothing.
    const planned = undo
      ? planUndo(client as Client, files)
      : planSetup(client as Client, files, launch);
    const changes = planned.filter(isChange);
    if (!isDry) {
      if (!undo && scope === "project") await register(launch, options);
      writeChanges(changes);
    }
    const told = await fileDiffsOf(changes);
    if (json) printJson({ client, scope, undo, dryRun: isDry, changes: told });
    else printChanges(told, isDry);
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

/** A name that is none would make every hook fail, and quietly. */
async function checkName({ as }: Launch): Promise<void> {
  const [{ AgentName }, { parseOrThrow: parseOr }] = await Promise.all([
    import("../../../envelope/schema.ts"),
    import("../../../envelope/violations.ts"),
  ]);
  parseOr(AgentName, as, { code: "invalid_input", what: "The agent", prefix: "--as" });
}

/** As it can stand in a file: absolute, and without a password. */
function addressFor(store: string): string {
  const file = fileOf(store);
  if (file !== undefined) return `sqlite:${resolve(file)}`;
  if (URL.canParse(store) && new URL(store).password !== "") {
    throw usageError(
      "--store",
      "The address has a password, which would stand in a settings file.",
      "Leave --store out, and set BATON_STORE where the client is started.",
    );
  }
  return store;
}

/** So that hooks have somewhere to write: the store is made, and the agent known. */
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

/** What comes and goes; what else stands in the files is nobody's business. */
async function fileDiffsOf(changes: readonly FileChange[]): Promise<FileDiff[]> {
  const { diffOf } = await import("../../../harness/setup/file-changes.ts");
  return changes.map((change) => {
    const { file, before, after } = change;
    const what = before === undefined ? "new" : after === undefined ? "removed" : "changed";
    return { file, what, lines: diffOf(change) };
  });
}

function printChanges(changes: readonly FileDiff[], isDry: boolean): void {
  if (changes.length === 0) printLine("Nothing to change.");
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
    printLine(`Start Claude Code again here; /mcp and /hooks show Baton. It acts as ${bold(as)}.`);
  } else {
    printLine(`Start Codex again, and let it trust the hooks: /hooks. It acts as ${bold(as)}.`);
    if (scope === "project")
      printLine("Codex reads a project's settings only where the project is trusted.");
  }
  printLine(dim(`Give it work: baton handoff send --to ${as} …   Look after it: baton doctor`));
}

async function printConfiguration(launch: Launch, { json, undo, store }: Options): Promise<number> {
  if (undo) throw usageError("--undo", "baton setup mcp writes nothing.", "Leave --undo out.");
  const { mcpArguments } = await import("../../../harness/setup/launch.ts");
  const stdio = { command: launch.node, args: mcpArguments(launch) };
  const { DEFAULT_HOST, DEFAULT_PORT } = await import("../../../http/listen.ts");
  const hub = store !== undefined && /^https?:/i.test(store) ? store : undefined;
  const address = (hub ?? `http://${DEFAULT_HOST}:${DEFAULT_PORT}`).replace(/\/+$/, "");
  const http = { type: "http", url: `${address}/mcp/${encodeURIComponent(launch.as)}` };
  const [forStdio, forHttp] = [stdio, http].map((baton) => ({ mcpServers: { baton } }));
  if (json) {
    printJson({ stdio: forStdio, http: forHttp });
    return OK;
  }
  printLine("A client that starts its servers itself (most do):");
  printJson(forStdio);
  printLine();
  printLine("A client that connects to a running hub (baton start):");
  printJson(forHttp);
  printLine(
    'Where the hub asks for a token: "headers": { "Authorization": "Bearer <token>" } besides.',
  );
  return OK;
}
