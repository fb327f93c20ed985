/**
 * Before a harness compacts its context, what the session was at is written down as a memory: whoever
 * wakes afterwards, here or in another session, finds it by catching up. From the transcript's end, or
 * from the trace where there is none.
 */

import { clip } from "../base/clip.ts";
import { isBatonError } from "../base/errors.ts";
import { maskSecrets } from "../envelope/mask-secrets.ts";
import type { Agent } from "../hub/agent.ts";
import type { Hub } from "../hub/hub.ts";
import type { Memory, MemoryInput } from "../memory/record.ts";
import { taskOf } from "./session-state.ts";
import { lastMessages, type Message } from "./transcript.ts";

/** Messages of each side, and how much of each: what a reader needs to go on, not the conversation. */
const MAX_MESSAGES = 3;
const MESSAGE_LENGTH = 1_500;
const MAX_STEPS = 10;
const STEP_LENGTH = 300;

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
      `Where session ${session} of ${harness} stood when its context was compacted (${trigger}).`,
      ...section("Asked last", ofRole(messages, "user")),
      ...section("Said last", ofRole(messages, "assistant")),
      ...section(
        "Done last",
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
      // Before it is shortened: half a secret is not known by its form.
      const { value } = maskSecrets(text.toWellFormed().replaceAll("\0", "\ufffd"));
      return clip(value, MESSAGE_LENGTH);
    });

const section = (title: string, texts: readonly string[]): string[] =>
  texts.length === 0 ? [] : ["", `${title}:`, ...texts.map((text) => `- ${text}`)];

/** Without what the hooks note for themselves. */
async function lastSteps(agent: Agent): Promise<readonly Memory[]> {
  try {
    const steps = (await agent.traces.list({ session: agent.instance, limit: MAX_STEPS })).items;
    return steps.filter(({ content }) => !/^(told|held)\b/.test(content));
  } catch (error) {
    if (isBatonError(error) && error.code === "unknown_session") return [];
    throw error;
  }
}
