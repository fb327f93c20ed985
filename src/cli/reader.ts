/** Who looks, and from which branch: an agent sees what is private to it, the hub what everybody sees. */
import type { Agent } from "../hub/agent.ts";
import type { Hub } from "../hub/hub.ts";
import type { OptionSpecs } from "./command.ts";
import { usageError } from "./usage-error.ts";

/** Options of every command that looks at memories. */
export const READER_OPTIONS = {
  as: { type: "text", value: "<name>", help: "as this agent: also sees what is private to it" },
  branch: { type: "text", value: "<name>", help: "as seen on this branch" },
  "as-of": {
    type: "text",
    value: "<moment>",
    help: "what was known then: a time (2026-03-01T12:00:00Z), or a dlv_… or env_… that was accepted",
  },
} as const satisfies OptionSpecs;

export async function readerOf(
  hub: Hub,
  as: string | undefined,
  branch: string | undefined,
): Promise<Hub | Agent> {
  if (as === undefined && branch !== undefined) {
    throw usageError("--branch", "--branch takes --as.", "Say who looks there: --as <name>.");
  }
  if (as === undefined) return hub;
  const agent = await hub.agent(as);
  return branch === undefined ? agent : agent.branches.use(branch);
}

/** A moment as it is written on the command line. */
export function momentOf(text: string | undefined) {
  if (text === undefined) return undefined;
  if (text.startsWith("dlv_")) return { delivery: text };
  return text.startsWith("env_") ? { envelope: text } : text;
}
