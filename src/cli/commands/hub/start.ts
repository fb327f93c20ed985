/** The command `baton start`: runs the hub until a signal arrives. */
import type { HeadLog } from "../../../archive/head-log.ts";
import type { LocalEntry } from "../../../http/listen.ts";
import type { LocalHub } from "../../../hub/hub.ts";
import { command, JSON_OPTION, STORE_OPTIONS } from "../../command.ts";
import { OK } from "../../exit.ts";
import { readPrivateKey } from "../../options/key-file.ts";
import { untilSignal } from "../../signals.ts";
import { openLocal } from "../../store.ts";
import { bold, dim, printLine } from "../../terminal.ts";
import { usageError } from "../../usage-error.ts";

export const start = command({
  name: "start",
  summary:
    "Start a hub that serves HTTP, MCP and the API reference (default: this user on this machine)",
  args: [],
  options: {
    port: { type: "number", value: "<port>", help: "port (default: 4747); 0: any free port" },
    host: {
      type: "text",
      value: "<address>",
      help: "address to listen on (default: 127.0.0.1); any other requires issued tokens",
    },
    "require-tokens": {
      type: "flag",
      help: "require issued tokens from programs of this user on this machine too",
    },
    "allow-host": { type: "texts", value: "<name>", help: "additional host name to accept" },
    "allow-origin": {
      type: "texts",
      value: "<origin>",
      help: "origin of a web page that may call the hub",
    },
    files: {
      type: "texts",
      value: "<workspace>=<folder>",
      help: "folder whose files callers may compare artifacts with (default: none)",
    },
    "rate-limit": {
      type: "number",
      value: "<calls>",
      help: "calls per second and caller (default: 5000)",
    },
    "body-limit": {
      type: "number",
      value: "<bytes>",
      help: "maximum size of a request body (default: 16 MiB)",
    },
    heads: {
      type: "text",
      value: "<file>",
      help: "append heads to this file, on a schedule and when the hub stops (see baton head)",
    },
    "heads-every": { type: "duration", value: "<time>", help: "interval of --heads (default: 1h)" },
    "head-key": {
      type: "text",
      value: "<keyfile>",
      help: "sign heads with this Ed25519 key (PEM)",
    },
    log: { type: "flag", help: "log every call to stderr" },
    demo: { type: "flag", help: "run the demo on this hub" },
    ...STORE_OPTIONS,
    ...JSON_OPTION,
  },

  async run({ options }) {
    const rate = requirePositive("--rate-limit", options["rate-limit"]);
    const bodyBytes = requirePositive("--body-limit", options["body-limit"]);
    const headKey = await readPrivateKey("--head-key", options["head-key"]);
    if (options["heads-every"] !== undefined && options.heads === undefined)
      throw usageError("--heads-every", "--heads-every requires --heads.", "Add --heads <file>.");
    const hub = await openLocal(options, headKey === undefined ? {} : { headKey });
    const heads = await startHeads(hub, options, headKey).catch(async (error: unknown) => {
      await hub.close();
      throw error;
    });
    const { listen } = await import("../../../http/listen.ts");
    const { logRequest: logAnswer, logBug } = await import("../../request-log.ts");
    const listening = await listen(hub, {
      ...(options.port === undefined ? {} : { port: options.port }),
      ...(options.host === undefined ? {} : { host: options.host }),
      requireTokens: options["require-tokens"] === true,
      hosts: options["allow-host"] ?? [],
      origins: options["allow-origin"] ?? [],
      files: foldersOf(options.files ?? [], hub.workspace),
      ...(rate === undefined ? {} : { rate: { perSecond: rate, burst: 2 * rate } }),
      ...(bodyBytes === undefined ? {} : { bodyBytes }),
      ...(options.log ? { onAnswer: logAnswer } : {}),
      onBug: logBug,
    }).catch(async (error: unknown) => {
      await hub.close();
      throw error;
    });
    const asked = untilSignal(); // Registered before the address is printed, because its reader may send a signal at once.
    const started = { ...listening, store: hub.store, workspace: hub.workspace };
    if (options.json) {
      const { address, port, local, store, workspace } = started;
      printLine(JSON.stringify({ address, port, ...local, store, workspace, pid: process.pid }));
    } else printWelcome(started);
    try {
      if (options.demo) {
        const { runDemo: runRelay } = await import("../../demo/relay-demo.ts");
        await Promise.race([runRelay(options), asked]);
      }
      await asked;
      if (!options.json) printLine(dim("Stopping: finishing open requests."));
    } finally {
      await heads?.close().catch(reportMissedHead);
      await listening.close();
    }
    return OK;
  },
});

/** Starts the file of heads, with a first line that shows at once whether it can be written. */
async function startHeads(
  hub: LocalHub,
  options: { readonly heads?: string | undefined; readonly "heads-every"?: number | undefined },
  key: string | undefined,
): Promise<HeadLog | undefined> {
  const { heads: file, "heads-every": everyMs = DEFAULT_HEADS_EVERY_MS } = options;
  if (file === undefined) return undefined;
  const { HeadLog } = await import("../../../archive/head-log.ts");
  const read = () => hub.archive.head();
  const log = new HeadLog(read, { file, key, everyMs, onError: reportMissedHead });
  await log.write();
  return log;
}

const DEFAULT_HEADS_EVERY_MS = 3_600_000;

function reportMissedHead(error: unknown): void {
  process.stderr.write(`A head was not written: ${(error as Error).message}\n`);
}

/** Returns the folders by workspace; one without a workspace is that of the hub. */
function foldersOf(given: readonly string[], workspace: string): Record<string, string> {
  return Object.fromEntries(
    given.map((text) => {
      const [, named = workspace, folder = text] = /^([^=/\\]+)=(.+)$/s.exec(text) ?? [];
      return [named, folder];
    }),
  );
}

function requirePositive(option: string, value: number | undefined): number | undefined {
  if (value === undefined || value > 0) return value;
  const message = `Invalid ${option} ${value}: expected a number above 0.`;
  throw usageError(option, message, "Pass a number above 0, or omit the option.");
}

interface ServerInfo {
  readonly address: string;
  readonly local: LocalEntry | undefined;
  readonly store: string;
  readonly workspace: string;
}

function printWelcome({ address, local, store, workspace }: ServerInfo): void {
  const baton = process.env["npm_lifecycle_event"] === undefined ? "baton" : "npm run baton --";
  const line = (label: string, text: string) => printLine(`  ${label.padEnd(12)} ${text}`);
  printLine(bold(`Baton is running at ${address}`) + dim("   Press Ctrl-C to stop."));
  line("data", `${store}, workspace "${workspace}"`);
  if (local === undefined) line("access", "callers with a token");
  else {
    line("browser", `${local.login}   works once; ${baton} login prints another`);
    line("access", `programs of this user; the token is in ${local.tokenFile}`);
  }
  line("", `${baton} token add <agent> --access agent   creates a token for other callers`);
  printLine();
  line("Claude Code", `${baton} setup claude-code`);
  line("Codex", `${baton} setup codex`);
  line("MCP clients", `${baton} setup mcp, or ${address}/mcp with a token`);
  line("SDK", `openHub("${address}"${local === undefined ? ", { token }" : ""})`);
  if (local?.socket !== undefined) {
    line("curl", `curl --unix-socket ${local.socket} http://localhost/v1/agents`);
  }
  printLine();
  line("demo", `${baton} demo   in another terminal, or start with --demo`);
  line("reference", `${address}/reference`);
}
