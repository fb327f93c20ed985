/**
 * Clients on version 1 of the official SDK, which many harnesses still use. It validates
 * `structuredContent` against the tool's output schema even when the result is an error, so a
 * refused call must not have any.
 */
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { describe, expect, it, onTestFinished } from "vitest";
import { ERROR_KEY } from "../../src/mcp/tool-error.ts";
import { TOOLS } from "../../src/mcp/tools/tools.ts";
import { freshAddress } from "../support/hub/support.ts";
import { AGENT, throughHub } from "./listen.ts";
import { MAIN } from "./support.ts";

/** Connects and lists the tools; from then on the client validates results. */
async function connected(transport: Transport): Promise<Client> {
  const client = new Client({ name: "version-1", version: "1.0.0" });
  onTestFinished(() => client.close());
  await client.connect(transport);
  await client.listTools();
  return client;
}

const TRANSPORTS: Readonly<Record<string, () => Promise<Client>>> = {
  stdio: () =>
    connected(
      new StdioClientTransport({
        command: process.execPath,
        args: [MAIN, "mcp", "--as", "ada", "--store", freshAddress()],
        env: { PATH: process.env["PATH"] ?? "" },
        stderr: "inherit",
      }),
    ),
  HTTP: async () => {
    const { url, close } = await throughHub();
    onTestFinished(close);
    const requestInit = { headers: { [AGENT]: "ada" } };
    // The class declares a session id that may be undefined, which the interface does not allow.
    return connected(new StreamableHTTPClientTransport(url, { requestInit }) as Transport);
  },
};

interface Result {
  readonly isError?: boolean;
  readonly content: readonly { readonly type: string; readonly text: string }[];
  readonly structuredContent?: unknown;
  readonly _meta?: Readonly<Record<string, unknown>>;
}

async function call(client: Client, name: string, args: object): Promise<Result> {
  return (await client.callTool({ name, arguments: { ...args } })) as unknown as Result;
}

describe.each(Object.entries(TRANSPORTS))(
  "a client on version 1 of the SDK, over %s",
  { timeout: 240_000 },
  (_, connect) => {
    it("reads why each tool refused a call [OPS-7]", async () => {
      const client = await connect();
      for (const { name } of TOOLS) {
        const { isError, content, structuredContent, _meta } = await call(client, name, {
          as: "x",
        });
        const error = _meta?.[ERROR_KEY] as { readonly path: string; readonly hint: string };
        expect({ name, isError, structuredContent }).toEqual({ name, isError: true });
        expect(error).toMatchObject({ code: "invalid_input", retryable: false });
        const [{ text } = { text: "" }] = content;
        expect(text).toContain("(invalid_input)");
        expect(text).toContain(error.path);
        expect(text).toContain(`What to do: ${error.hint}`);
      }
    });

    it("reads why a handoff was refused, then sends one and reads the result [OPS-7]", async () => {
      const client = await connect();
      const unknown = await call(client, "hand_off", { to: "nil", intent: "Write it" });
      expect(unknown.content[0]?.text).toMatch(
        /"nil".*\(unknown_agent\)\n.*\nWhat to do: .*agents/s,
      );
      const sent = await call(client, "hand_off", { to: "ada", task: "page", intent: "Write it" });
      expect(sent).not.toHaveProperty("isError");
      expect(sent.structuredContent).toMatchObject({ status: "sent", receivers: ["ada"] });
    });
  },
);
