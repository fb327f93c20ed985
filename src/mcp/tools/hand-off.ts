/** The tool `hand_off` sends a task to another agent; with a handle it hands on work the agent holds. */
import * as z from "zod";
import { RULE_NAMES } from "../../context/lint/rule.ts";
import type { Draft } from "../../envelope/schema.ts";
import type { Sent } from "../../hub/sent.ts";
import { DELIVERY_STATES } from "../../hub/serialized.ts";
import { fenceAddress } from "../../text/fence.ts";
import { fieldsOf } from "../argument-names.ts";
import { findingLines, secretLines } from "../text.ts";
import { APPEND_ONLY, type Connection, freeObject, Text, tool, workHandle } from "../tool.ts";
import { describeExtension, extensionOutcomeOf, findUnseenExtension } from "../unseen-extension.ts";
import { DRAFT_ARGUMENTS, textArgument } from "./draft-arguments.ts";

const input = z.strictObject({
  ...DRAFT_ARGUMENTS,
  handle: workHandle(
    "Work you hold: hands its task on and completes your part in one step.",
  ).optional(),
  summary: textArgument("With handle: what you have done.").optional(),
  outputs: freeObject(
    "With handle: the outputs your part was expected to return, by name.",
  ).optional(),
  seen: textArgument("With handle: the sender's extension you have read (env_…).").optional(),
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
  by: z.string().describe("The sender."),
  holder: z
    .string()
    .optional()
    .describe("The agent that works on it or completed it; absent while it waits."),
  at: z.number().describe("When completed; if open, when sent."),
  why: z.enum(["task", "work"]).describe("Same task, or same intent under another task."),
});

/** Sends a handoff. */
export const handOff = tool({
  name: "hand_off",
  title: "Hand off",
  description:
    "Hands a task to another agent with everything it needs: intent, current state, next steps, constraints, what not to redo. It is on disk when this returns. With a handle it hands on the work you hold. Get the outcome with wait.",
  input,
  output: z.strictObject({
    text: Text,
    status: z.enum(["sent", "extended"]).describe("extended: read the extension, then repeat."),
    handoff: z.string().optional().describe("The (first) handoff's id, for wait."),
    handoffs: z.array(z.string()).describe("One for each receiver."),
    task: z.string(),
    receivers: z.array(z.string()),
    envelope: z.string().describe("What was sent; if extended, the extension: pass it as seen."),
    stopped: z.boolean().describe("True: the line exceeds the hop limit; this is a dead letter."),
    findings: z.array(Finding).describe("Lint findings, with hints."),
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

/** Omits these two if false: in a draft they are true or absent. */
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
  const lines = [
    `Handed off as ${handoffs.join(", ")} to ${receivers.map(fenceAddress).join(", ")}. Call wait for the outcome, or continue with other work.`,
    ...secretLines(secrets),
    ...(sent.joined === "new" ? [] : [`It did not create new work: ${sent.joined}.`]),
    ...(cycle.length === 0 ? [] : ["The line has a cycle: the same payload was here before."]),
    ...(stopped
      ? ["The line exceeds the hop limit: this handoff is a dead letter and is not delivered."]
      : []),
    ...findingLines(findings.filter(({ rule }) => rule !== "secret" || secrets.length === 0)),
  ];
  return {
    text: lines.join("\n"),
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
