/** `hand_off`: gives a task to another agent; with a handle it hands on the work that this agent holds. */
import * as z from "zod";
import { RULE_NAMES } from "../../context/lint/rule.ts";
import type { Draft } from "../../envelope/schema.ts";
import type { Sent } from "../../hub/sent.ts";
import { DELIVERY_STATES } from "../../hub/serialized.ts";
import { fieldsOf } from "../argument-names.ts";
import { findingLines, secretLines } from "../text.ts";
import { APPEND_ONLY, type Connection, freeObject, Text, tool, workHandle } from "../tool.ts";
import { describeExtension, extensionOutcomeOf, findUnseenExtension } from "../unseen-extension.ts";
import { DRAFT_ARGUMENTS, textArgument } from "./draft-arguments.ts";

const input = z.strictObject({
  ...DRAFT_ARGUMENTS,
  handle: workHandle(
    "Of work you hold: hands its task on, and completes your part, in one step.",
  ).optional(),
  summary: textArgument("When handing on: what you have done.").optional(),
  outputs: freeObject("When handing on: what your part was to hand in, by name.").optional(),
  seen: textArgument(
    "When handing on: the sender's addition you have looked at (env_…).",
  ).optional(),
});

const Finding = z.strictObject({
  rule: z.enum(RULE_NAMES),
  level: z.enum(["warn", "error"]),
  path: z.string(),
  message: z.string(),
  hint: z.string(),
});

const Repeat = z.strictObject({
  delivery: z.string(),
  envelope: z.string(),
  task: z.string(),
  state: z.enum(DELIVERY_STATES),
  by: z.string().describe("Who sent it."),
  holder: z
    .string()
    .optional()
    .describe("The agent that works on it or completed it; absent while it waits."),
  at: z.number().describe("When it was completed, or else sent."),
  why: z.enum(["task", "work"]).describe("The same task, or the same intent under another task."),
});

export const handOff = tool({
  name: "hand_off",
  title: "Hand off",
  description:
    "Gives a task to another agent, with all it needs: what is wanted, where it stands, what comes next, what must hold, what not to redo. Stored for good when this returns. With a handle it hands on the work you hold. Learn what comes of it with wait.",
  input,
  output: z.strictObject({
    text: Text,
    status: z.enum(["sent", "extended"]).describe("extended: look at the addition, then repeat."),
    handoff: z.string().optional().describe("The handoff's id, for wait. Of several, the first."),
    handoffs: z.array(z.string()).describe("One for each receiver."),
    task: z.string(),
    receivers: z.array(z.string()),
    envelope: z.string().describe("What was sent; when extended, the addition: pass it as seen."),
    stopped: z.boolean().describe("True: the line is too long, and has stopped in dead letters."),
    findings: z
      .array(Finding)
      .describe("What could be better about it, and what to write instead."),
    repeats: z.array(Repeat).describe("Open or completed handoffs that it repeats, newest first."),
  }),
  annotations: APPEND_ONLY,

  async run({ handle, seen, summary, outputs, ...given }, connection) {
    const { agent, held } = connection;
    const draft = draftOf(given);
    if (handle === undefined) return sentResult(await agent.handoff(draft as Draft));
    const work = await held.at(agent, handle, seen);
    const unseen = await findUnseenExtension(connection, work.id, seen);
    if (unseen !== undefined) return extendedResult(connection, unseen);
    const result = {
      ...(summary === undefined ? {} : { summary }),
      ...(outputs === undefined ? {} : { outputs }),
    };
    const isSaid = Object.keys(result).length > 0;
    const sent = await work
      .handoff(draft, isSaid ? { completes: result } : {})
      .catch(extensionOutcomeOf);
    if (sent.kind === "extended") return extendedResult(connection, sent.unseen);
    held.drop(handle);
    return sentResult(sent);
  },
});

type DraftArguments = Omit<z.output<typeof input>, "handle" | "seen" | "summary" | "outputs">;

/** False means left out: in a draft these two are true or absent. */
function draftOf({ receipt, merge_on_complete, ...given }: DraftArguments): Partial<Draft> {
  return fieldsOf({
    ...given,
    receipt: receipt || undefined,
    merge_on_complete: merge_on_complete || undefined,
  });
}

function sentResult(sent: Sent<object>) {
  const { task, receivers, envelope, stopped, cycle, secrets, findings } = sent;
  const handoffs = sent.each.map(({ id }) => id);
  const [handoff] = handoffs;
  const told = [
    `Handed off as ${handoffs.join(", ")} to ${receivers.join(", ")}. Wait for the answer with wait, or go on.`,
    ...secretLines(secrets),
    ...(sent.joined === "new" ? [] : [`It is not new: ${sent.joined}.`]),
    ...(cycle.length === 0 ? [] : ["It goes in a circle: the same payload came here before."]),
    ...(stopped
      ? ["The line is longer than it may be, and has stopped: nobody will get this."]
      : []),
    ...findingLines(findings.filter(({ rule }) => rule !== "secret" || secrets.length === 0)),
  ];
  return {
    text: told.join("\n"),
    status: "sent" as const,
    ...(handoff === undefined ? {} : { handoff }),
    handoffs,
    task,
    receivers: [...receivers],
    envelope: envelope.id,
    stopped,
    findings: [...findings],
    repeats: [...sent.repeats],
  };
}

async function extendedResult(
  connection: Connection,
  unseen: { readonly handoff: string; readonly envelope: string },
) {
  const { text, task } = await describeExtension(connection, unseen);
  return {
    text,
    status: "extended" as const,
    handoffs: [],
    task,
    receivers: [],
    envelope: unseen.envelope,
    stopped: false,
    findings: [],
    repeats: [],
  };
}
