/**
 * Builds the memory that is stored before a harness compacts its context: the last messages of the
 * transcript and the last steps of the trace. A later catch-up, in this or another session, includes it.
 */

import { clip } from "../base/clip.ts";
import { isBatonError } from "../base/errors.ts";
import { maskSecrets } from "../envelope/mask-secrets.ts";
import type { Agent } from "../hub/agent.ts";
import type { Hub } from "../hub/hub.ts";
import type { Memory, MemoryInput } from "../memory/record.ts";
import { isStateStep, taskOf } from "./session-state.ts";
import { lastMessages, type Message } from "./transcript.ts";

/** Messages per role and their maximum length: enough to continue the work, not the whole conversation. */
const MAX_MESSAGES = 3;
const MESSAGE_LENGTH = 1_500;
const MAX_STEPS = 10;
const STEP_LENGTH = 300;

/** Returns the memory of type `checkpoint`; uses the trace alone if the transcript cannot be read. */
export async function checkpoint(
  { hub, agent }: { readonly hub: Hub; readonly agent: Agent },
  harness: string,
  { transcript, trigger }: { readonly transcript: string | undefined; readonly trigger: string },
): Promise<MemoryInput> {
  const [steps, task] = await Promise.all([lastSteps(agent), taskOf(hub, agent)]);
  const messages = lastMessages(transcript);
  const session = agent.instance;
  return {
    type: "checkpoint",
    content: [
      `State of session ${session} of ${harness} when its context was compacted (${trigger}).`,
      ...section("Last user messages", ofRole(messages, "user")),
      ...section("Last assistant messages", ofRole(messages, "assistant")),
      ...section(
        "Last steps",
        steps.map(({ content }) => clip(content, STEP_LENGTH)),
      ),
    ].join("\n"),
    session,
    tags: ["compaction", harness],
    ...(task === undefined ? {} : { task }),
  };
}

const ofRole = (messages: readonly Message[], wanted: Message["role"]): string[] =>
  messages
    .filter(({ role }) => role === wanted)
    .slice(-MAX_MESSAGES)
    .map(({ text }) => {
      // Masked before it is truncated, because a partial secret is not detected.
      const { value } = maskSecrets(text.toWellFormed().replaceAll("\0", "\ufffd"));
      return clip(value, MESSAGE_LENGTH);
    });

const section = (title: string, texts: readonly string[]): string[] =>
  texts.length === 0 ? [] : ["", `${title}:`, ...texts.map((text) => `- ${text}`)];

/** Returns the last steps, without those that the hooks record for their own state. */
async function lastSteps(agent: Agent): Promise<readonly Memory[]> {
  try {
    const steps = (await agent.traces.list({ session: agent.instance, limit: MAX_STEPS })).items;
    return steps.filter((step) => !isStateStep(step));
  } catch (error) {
    if (isBatonError(error) && error.code === "unknown_session") return [];
    throw error;
  }
}
