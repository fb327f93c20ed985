import { join, resolve } from "node:path";
import { fileOf } from "../../../base/store-file.ts";
import type { DiffLine, FileChange } from "../../../harness/setup/changes.ts";
import type { Launch } from "../../../harness/setup/launch.ts";
import type { Client, Scope } from "../../../harness/setup/plan.ts";
import { command, JSON_OPTION, type OptionValues, STORE_OPTIONS } from "../../command.ts";
import { OK } from "../../exit.ts";
import { homes } from "../../homes.ts";
import { mistake } from "../../mistake.ts";
import { bad, bold, dim, good, printable, say, sayJson } from "../../terminal.ts";

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
    if (client === "mcp") return sayConfiguration(launch, options);
    const { filesOf, planSetup, planUndo } = await import("../../../harness/setup/plan.ts");
    const { placesFor } = await import("../../../harness/setup/places.ts");
    const { isChange, writeChanges } = await import("../../../harness/setup/changes.ts");
    const { scope = "project", undo = false, "dry-run": isDry = false, json } = options;
    const files = filesOf(client as Client, scope as Scope, placesFor(process.cwd(), homes()));
    // All of them are worked out before the first is written: a broken file changes nothing.
    const planned = undo
      ? planUndo(client as Client, files)
      : planSetup(client as Client, files, launch);
    const changes = planned.filter(isChange);
    if (!isDry) {
      if (!undo && scope === "project") await register(launch, options);
      writeChanges(changes);
    }
    const told = await toldOf(changes);
    if (json) sayJson({ client, scope, undo, dryRun: isDry, changes: told });
    else sayChanges(told, isDry);
    if (!(json || undo || isDry)) sayNext(client, launch, scope);
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
  const [{ AgentName }, { parseOr }] = await Promise.all([
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
    throw mistake(
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

interface Told {
  readonly file: string;
  readonly what: "new" | "removed" | "changed";
  readonly lines: readonly DiffLine[];
}

/** What comes and goes; what else stands in the files is nobody's business. */
async function toldOf(changes: readonly FileChange[]): Promise<Told[]> {
  const { diffOf } = await import("../../../harness/setup/changes.ts");
  return changes.map((change) => {
    const { file, before, after } = change;
    const what = before === undefined ? "new" : after === undefined ? "removed" : "changed";
    return { file, what, lines: diffOf(change) };
  });
}

function sayChanges(changes: readonly Told[], isDry: boolean): void {
  if (changes.length === 0) say("Nothing to change.");
  for (const { file, what, lines } of changes) {
    say(`${bold(file)}${dim(`  ${isDry ? "would be " : ""}${what}`)}`);
    for (const { kind, text } of isDry ? lines : []) {
      say(kind === "added" ? good(`+ ${printable(text)}`) : bad(`- ${printable(text)}`));
    }
  }
}

function sayNext(client: string, { as }: Launch, scope: string): void {
  say();
  if (client === "claude-code") {
    say(`Start Claude Code again here; /mcp and /hooks show Baton. It acts as ${bold(as)}.`);
  } else {
    say(`Start Codex again, and let it trust the hooks: /hooks. It acts as ${bold(as)}.`);
    if (scope === "project")
      say("Codex reads a project's settings only where the project is trusted.");
  }
  say(dim(`Give it work: baton handoff send --to ${as} …   Look after it: baton doctor`));
}

async function sayConfiguration(launch: Launch, { json, undo, store }: Options): Promise<number> {
  if (undo) throw mistake("--undo", "baton setup mcp writes nothing.", "Leave --undo out.");
  const { mcpArguments } = await import("../../../harness/setup/launch.ts");
  const stdio = { command: launch.node, args: mcpArguments(launch) };
  const { DEFAULT_HOST, DEFAULT_PORT } = await import("../../../http/listen.ts");
  const hub = store !== undefined && /^https?:/i.test(store) ? store : undefined;
  const address = (hub ?? `http://${DEFAULT_HOST}:${DEFAULT_PORT}`).replace(/\/+$/, "");
  const http = { type: "http", url: `${address}/mcp/${encodeURIComponent(launch.as)}` };
  const [forStdio, forHttp] = [stdio, http].map((baton) => ({ mcpServers: { baton } }));
  if (json) {
    sayJson({ stdio: forStdio, http: forHttp });
    return OK;
  }
  say("A client that starts its servers itself (most do):");
  sayJson(forStdio);
  say();
  say("A client that connects to a running hub (baton start):");
  sayJson(forHttp);
  say('Where the hub asks for a token: "headers": { "Authorization": "Bearer <token>" } besides.');
  return OK;
}
