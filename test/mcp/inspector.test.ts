/** The MCP inspector in strict mode, which checks that every client can read the tool schemas. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { TOOLS } from "../../src/mcp/tools/tools.ts";
import { freshAddress, tempFolder } from "../support/hub/support.ts";
import { ROOT, type Run } from "../support/run-script.ts";
import { AGENT, throughHub } from "./listen.ts";
import { MAIN } from "./support.ts";

const INSPECTOR = join(
  ROOT,
  "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js",
);

/** Runs the inspector. `options` go before the arguments of the server, which follow a `--`. */
async function inspect(options: readonly string[], server: readonly string[]): Promise<Run> {
  const fixed = ["--cli", "--format", "json", "--connect-timeout", "540000"];
  const words = [INSPECTOR, ...fixed, ...options, ...server];
  const home = tempFolder(); // The inspector writes a catalogue there.
  const child = spawn(process.execPath, words, {
    env: { PATH: process.env["PATH"], HOME: home },
    stdio: ["ignore", "pipe", "pipe"],
  });
  onTestFinished(() => {
    child.kill();
  });
  const said = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    child[name].setEncoding("utf8").on("data", (chunk: string) => {
      said[name] += chunk;
    });
  }
  const [code] = (await once(child, "close")) as [number | null];
  return { code, ...said };
}

type Server = () => Promise<{ options: readonly string[]; server: readonly string[] }>;

const SERVERS: Readonly<Record<string, Server>> = {
  stdio: async () => ({
    options: [],
    server: ["--", process.execPath, MAIN, "mcp", "--as", "ada", "--store", freshAddress()],
  }),
  HTTP: async () => {
    const { url, close } = await throughHub();
    onTestFinished(close);
    return {
      options: ["--header", `${AGENT}: ada`, "--transport", "http"],
      server: ["--", url.href],
    };
  },
};

const CASES = Object.entries(SERVERS).flatMap(([transport, serve]) =>
  ["legacy", "modern"].map((era) => ({ transport, era, serve })),
);

describe.each(CASES)("the inspector over $transport, $era era", ({ era, serve }) => {
  it("reports no problem with the tools, calls one, and shows a refusal [OPS-7]", async () => {
    const { options, server } = await serve();
    const how = [...options, "--protocol-era", era];
    const unknown = ["--tool-name", "accept", "--tool-arg", "handoff=dlv_nonsense"];
    const [listed, called, refused] = await Promise.all([
      inspect([...how, "--method", "tools/list", "--strict"], server),
      inspect([...how, "--method", "tools/call", "--tool-name", "catch_up"], server),
      inspect([...how, "--method", "tools/call", ...unknown], server),
    ]);
    expect(listed).toMatchObject({ code: 0 });
    expect(listed.stderr).not.toMatch(/[1-9]\d* (?:errors?|warnings?)|Warning: tool|Error: tool/);
    const { result } = JSON.parse(listed.stdout) as { result: { tools: { name: string }[] } };
    expect(result.tools.map(({ name }) => name)).toEqual(TOOLS.map(({ name }) => name));

    expect(called).toMatchObject({ code: 0 });
    expect(called.stdout).toContain('"agent":"ada"');

    expect(refused.stdout, refused.stderr).toContain("(invalid_input)");
    expect(refused.stdout).toContain("What to do: ");
  }, 600_000);
});
