/** Two MCP clients on one hub, for the tool tests. */
import type { Client } from "@modelcontextprotocol/client";
import { onTestFinished } from "vitest";
import type { Hub } from "../../src/index.ts";
import { throughHub } from "./listen.ts";
import { type Era, overHttp } from "./support.ts";

export async function team(
  era: Era = "2026-07-28",
): Promise<{ hub: Hub; ada: Client; ben: Client }> {
  const { hub, url, close } = await throughHub();
  onTestFinished(close);
  const ada = await overHttp(url, "ada", era);
  return { hub, ada, ben: await overHttp(url, "ben", era) };
}
