/** The official MCP client for tests, with real processes over stdio and real sockets over HTTP. */
import {
  Client,
  StreamableHTTPClientTransport,
  type Transport,
} from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { expect, onTestFinished } from "vitest";
import { ERROR_KEY } from "../../src/mcp/tool-error.ts";
import { BATON } from "../support/build/place.ts";
import { AGENT } from "./listen.ts";

/** Both eras of the protocol: with and without a handshake. */
export const ERAS = ["2025-11-25", "2026-07-28"] as const;
export type Era = (typeof ERAS)[number];

export const MAIN = BATON;

export function clientOf(era: Era): Client {
  const mode = era === "2025-11-25" ? "legacy" : { pin: era };
  return new Client({ name: "test", version: "1.0.0" }, { versionNegotiation: { mode } });
}

/**
 * Connects and lists the tools; from then on the client validates every result against its schema.
 */
export async function connected(client: Client, transport: Transport): Promise<Client> {
  await client.connect(transport);
  await client.listTools();
  return client;
}

/** Returns a module for `node --import` that sets the clock of the process back. */
export const clockBehind = (ms: number): string =>
  `data:text/javascript,${encodeURIComponent(`
    const { now } = Date;
    Date.now = () => now() - ${ms};`)}`;

/**
 * Connects to a new `baton mcp` process, which ends with the test. `node` has options of Node.js.
 */
export async function overStdio(
  address: string,
  agent: string,
  era: Era,
  node: readonly string[] = [],
): Promise<Client> {
  const client = clientOf(era);
  const args = [...node, MAIN, "mcp", "--as", agent, "--store", address];
  const transport = new StdioClientTransport({
    command: process.execPath,
    args,
    env: { PATH: process.env["PATH"] ?? "" },
    stderr: "inherit",
  });
  onTestFinished(() => client.close());
  return connected(client, transport);
}

export async function overHttp(url: URL, agent: string, era: Era): Promise<Client> {
  const client = clientOf(era);
  const transport = new StreamableHTTPClientTransport(url, {
    requestInit: { headers: { [AGENT]: agent } },
  });
  onTestFinished(() => client.close());
  return connected(client, transport);
}

export type Answer = Readonly<Record<string, unknown>> & { readonly text: string };

/** Calls a tool that must succeed; the client validates the result against the output schema. */
export async function call(client: Client, name: string, args: object = {}): Promise<Answer> {
  const result = await client.callTool({ name, arguments: { ...args } });
  const [content] = result.content;
  const contentText = content?.type === "text" ? content.text : "";
  expect(result.isError ?? false, contentText).toBe(false);
  const answer = result.structuredContent as Answer;
  expect(contentText).toBe(answer.text);
  return answer;
}

export interface Refusal {
  readonly code: string;
  readonly message: string;
  readonly path: string;
  readonly hint: string;
  readonly retryable: boolean;
  readonly text: string;
}

/** Calls a tool that must fail. Returns its error. */
export async function refused(client: Client, name: string, args: object): Promise<Refusal> {
  const result = await client.callTool({ name, arguments: { ...args } });
  expect(result.isError, JSON.stringify(result.structuredContent)).toBe(true);
  expect(result).not.toHaveProperty("structuredContent");
  const [content] = result.content;
  const text = content?.type === "text" ? content.text : "";
  return { ...(result._meta?.[ERROR_KEY] as Omit<Refusal, "text">), text };
}
