/** Chooses the reader of memories: the agent of --as, which sees its private memories, or the hub. */
import type { Agent } from "../hub/agent.ts";
import type { Hub } from "../hub/hub.ts";
import type { OptionSpecs } from "./command.ts";
import { usageError } from "./usage-error.ts";

/** Options of every command that reads memories. */
export const READER_OPTIONS = {
  as: { type: "text", value: "<name>", help: "agent to read as; includes its private memories" },
  branch: { type: "text", value: "<name>", help: "branch to read on; requires --as" },
  "as-of": {
    type: "text",
    value: "<moment>",
    help: "read as of a time (2026-03-01T12:00:00Z) or of the acceptance of a dlv_… or env_…",
  },
} as const satisfies OptionSpecs;

/** Returns the agent of --as on the branch of --branch, or the hub; throws for --branch without --as. */
export async function readerOf(
  hub: Hub,
  as: string | undefined,
  branch: string | undefined,
): Promise<Hub | Agent> {
  if (as === undefined && branch !== undefined) {
    throw usageError(
      "--branch",
      "--branch requires --as.",
      "Add the agent to read as: --as <name>.",
    );
  }
  if (as === undefined) return hub;
  const agent = await hub.agent(as);
  return branch === undefined ? agent : agent.branches.use(branch);
}

/** Parses the value of --as-of: a delivery id, an envelope id or a time. */
export function momentOf(text: string | undefined) {
  if (text === undefined) return undefined;
  if (text.startsWith("dlv_")) return { delivery: text };
  return text.startsWith("env_") ? { envelope: text } : text;
}
