/** `hand_off`: gives a task to another agent; with a handle it hands on what this agent holds. */
import * as z from "zod";
import { RULE_NAMES } from "../../context/lint/rule.ts";
import { DELIVERY_STATES } from "../../delivery/forms.ts";
import type { Sent } from "../../delivery/sent.ts";
import { ACTIONS, CONSTRAINT_LEVELS, type Draft, PRIORITIES } from "../../envelope/schema.ts";
import { addedTo, unseenOf } from "../additions.ts";
import { findingLines, secretLines } from "../text.ts";
import { ADDS, type Connection, freeObject, Text, taskName, tool, workHandle } from "../tool.ts";

const line = (what: string) => z.string().min(1).describe(what);
const lines = (what: string) => z.array(z.string().min(1)).optional().describe(what);

const input = z.strictObject({
  to: line(
    'An agent\'s name, "role:<role>" or "channel:<channel>". Without it, routes decide.',
  ).optional(),
  task: taskName("The task's name. A new one is made when there is none.").optional(),
  intent: line(
    "What the user originally wanted, verbatim. Needed unless you hand on work.",
  ).optional(),
  state: line("Where the task stands now.").optional(),
  done: lines("What is done."),
  next: lines("What the receiver is to do, first step first."),
  do_not_redo: lines("What must not be done again: already tried, already decided."),
  constraints: z
    .array(
      z.strictObject({
        rule: line("What to keep to."),
        level: z.enum(CONSTRAINT_LEVELS).default("must"),
      }),
    )
    .optional()
    .describe("Rules the receiver, and everybody after it, keeps to."),
  decisions: z
    .array(z.strictObject({ question: line("What is open."), options: lines("The choices.") }))
    .optional()
    .describe("Questions that are still open."),
  refs: lines("Memories the receiver needs, by their ids: mem_…"),
  artifacts: z
    .array(
      z.strictObject({
        kind: line("file, pr, url, output, …"),
        path: line("Path, URL or number."),
        note: line("What it is.").optional(),
      }),
    )
    .optional()
    .describe("Files and other things outside of the handoff."),
  expects: z
    .array(
      z.strictObject({
        name: line("What it is called in the result."),
        type: line("text, code, json, file, approval, …"),
        criteria: lines("How the receiver knows that it is good."),
      }),
    )
    .optional()
    .describe("What the receiver is to hand in."),
  payload: z
    .strictObject({
      type: line("What kind of data it is."),
      data: freeObject("The data, as an object."),
    })
    .optional()
    .describe("Data for the receiver, typed."),
  action: line(`What you did, in one word: ${ACTIONS.join(", ")}.`).optional(),
  priority: z.enum(PRIORITIES).optional().describe("Which handoffs come first."),
  touches: lines("Files and resources the work will touch, as globs."),
  receipt: z
    .boolean()
    .optional()
    .describe("True: whoever accepts must say back goal, first step and every must."),
  key: line("The same key again is the same handoff: safe to repeat after a timeout.").optional(),
  handle: workHandle(
    "Of work you hold: hands its task on, and completes your part, in one step.",
  ).optional(),
  summary: line("When handing on: what you have done.").optional(),
  outputs: freeObject("When handing on: what your part was to hand in, by name.").optional(),
  seen: line("When handing on: the sender's addition you have looked at (env_…).").optional(),
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
  holder: z.string().describe("Who works on it or completed it; empty while it waits."),
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
  annotations: ADDS,

  async run({ handle, seen, summary, outputs, ...given }, connection) {
    const { agent, held } = connection;
    const draft = draftOf(given);
    if (handle === undefined) return sentAs(await agent.handoff(draft as Draft));
    const work = await held.at(agent, handle, seen);
    const unseen = await unseenOf(connection, work.id, seen);
    if (unseen !== undefined) return extended(connection, unseen);
    const result = {
      ...(summary === undefined ? {} : { summary }),
      ...(outputs === undefined ? {} : { outputs }),
    };
    const isSaid = Object.keys(result).length > 0;
    const sent = await work.handoff(draft, isSaid ? { completes: result } : {});
    if (sent.kind === "extended") {
      return extended(connection, { handoff: work.id, envelope: sent.envelope.id });
    }
    held.drop(handle);
    return sentAs(sent);
  },
});

type Given = Omit<z.output<typeof input>, "handle" | "seen" | "summary" | "outputs">;

/** Without the fields that were not said: the library takes no `undefined` for one. */
function draftOf({ do_not_redo: doNotRedo, receipt, ...given }: Given): Partial<Draft> {
  const said = { ...given, doNotRedo, ...(receipt === true ? { receipt: true as const } : {}) };
  const entries = Object.entries(said).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries);
}

function sentAs(sent: Sent<object>) {
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

async function extended(
  connection: Connection,
  unseen: { readonly handoff: string; readonly envelope: string },
) {
  const { text, task } = await addedTo(connection, unseen);
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
