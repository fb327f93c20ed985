import { command, JSON_OPTION, STORE_OPTIONS } from "../../command.ts";
import { OK } from "../../exit.ts";
import { openLocal } from "../../store.ts";
import { bold, dim, printLine } from "../../terminal.ts";
import { usageError } from "../../usage-error.ts";

export const start = command({
  name: "start",
  summary: "starts the hub: HTTP, MCP and the reference, on this machine unless told otherwise",
  args: [],
  options: {
    port: { type: "number", value: "<port>", help: "else 4747; 0 for any that is free" },
    host: {
      type: "text",
      value: "<address>",
      help: "else 127.0.0.1; callers of any other address need tokens",
    },
    "require-tokens": { type: "flag", help: "also of callers on this machine" },
    "allow-host": { type: "texts", value: "<name>", help: "a host name it answers to as well" },
    "allow-origin": {
      type: "texts",
      value: "<origin>",
      help: "a web page's origin that may call it",
    },
    "rate-limit": {
      type: "number",
      value: "<calls>",
      help: "calls a second of one caller; else 5000",
    },
    "body-limit": { type: "number", value: "<bytes>", help: "of one call; else 16 MiB" },
    log: { type: "flag", help: "a line on stderr for every call" },
    demo: { type: "flag", help: "planner, executor and critic hand a task along, live" },
    ...STORE_OPTIONS,
    ...JSON_OPTION,
  },

  async run({ options }) {
    const rate = requirePositive("--rate-limit", options["rate-limit"]);
    const bodyBytes = requirePositive("--body-limit", options["body-limit"]);
    const hub = await openLocal(options);
    const { listen } = await import("../../../http/listen.ts");
    const { logRequest: logAnswer, logBug } = await import("../../request-log.ts");
    const listening = await listen(hub, {
      ...(options.port === undefined ? {} : { port: options.port }),
      ...(options.host === undefined ? {} : { host: options.host }),
      requireTokens: options["require-tokens"] === true,
      hosts: options["allow-host"] ?? [],
      origins: options["allow-origin"] ?? [],
      ...(rate === undefined ? {} : { rate: { perSecond: rate, burst: 2 * rate } }),
      ...(bodyBytes === undefined ? {} : { bodyBytes }),
      ...(options.log ? { onAnswer: logAnswer } : {}),
      onBug: logBug,
    }).catch(async (error: unknown) => {
      await hub.close();
      throw error;
    });
    const asked = untilSignal(); // Before the address is printed: its reader may send a signal at once.
    const told = { ...listening, store: hub.store, workspace: hub.workspace };
    if (options.json) {
      const { address, port, isOpen, store, workspace } = told;
      printLine(JSON.stringify({ address, port, isOpen, store, workspace, pid: process.pid }));
    } else printWelcome(told);
    try {
      if (options.demo) {
        const { runDemo: tell } = await import("../../demo/relay-demo.ts");
        await Promise.race([tell(options), asked]);
      }
      await asked;
      if (!options.json) printLine(dim("Closing: what is under way is answered first."));
    } finally {
      await listening.close();
    }
    return OK;
  },
});

function requirePositive(option: string, value: number | undefined): number | undefined {
  if (value === undefined || value > 0) return value;
  const message = `${option} is ${value}, which lets nothing through.`;
  throw usageError(option, message, "Write a number above 0, or leave it out.");
}

interface ServerInfo {
  readonly address: string;
  readonly isOpen: boolean;
  readonly store: string;
  readonly workspace: string;
}

function printWelcome({ address, isOpen, store, workspace }: ServerInfo): void {
  const baton = process.env["npm_lifecycle_event"] === undefined ? "baton" : "npm run baton --";
  const bearer = isOpen ? `"baton-agent: claude"` : `"authorization: Bearer $BATON_TOKEN"`;
  const line = (label: string, text: string) => printLine(`  ${label.padEnd(12)} ${text}`);
  printLine(bold(`Baton is running at ${address}`) + dim("   Ctrl-C ends it."));
  line("data", `${store}, workspace "${workspace}"`);
  line("open to", isOpen ? "programs on this machine, without a token" : "whoever has a token");
  if (!isOpen) line("", `${baton} token add <agent> --access agent   makes one`);
  printLine();
  line("Claude Code", `claude mcp add --transport http baton ${address}/mcp --header ${bearer}`);
  line("", `${baton} setup claude-code   with hooks: what is open is there when a session starts`);
  line("Codex", `${baton} setup codex`);
  line(
    "any other",
    isOpen ? `MCP at ${address}/mcp/<agent>` : `MCP at ${address}/mcp, with a token`,
  );
  line("a program", `openHub("${address}"${isOpen ? "" : ", { token }"})`);
  printLine();
  line("see it work", `${baton} demo   in another terminal, or start with --demo`);
  line("reference", `${address}/reference`);
}

/** Until somebody asks it to stop; asked twice, it ends at once. */
function untilSignal(): Promise<void> {
  return new Promise((done) => {
    const stop = () => {
      for (const signal of SIGNALS) process.once(signal, () => process.exit(130));
      done();
    };
    for (const signal of SIGNALS) process.once(signal, stop);
  });
}

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
