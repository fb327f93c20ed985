/**
 * `update`: everything that is said about work one holds, from a note to its end. One tool with an
 * action, because a model that holds work has one question: what do I say about it now?
 */
import * as z from "zod";
import { assertNever, BatonError, isBatonError } from "../../base/errors.ts";
import type { Result } from "../../delivery/send/result.ts";
import type { Failure } from "../../delivery/settle/settle.ts";
import { FAILURE_CLASSES } from "../../envelope/schema.ts";
import type { SettleResult, Work } from "../../hub/work.ts";
import { quoteText } from "../../text/fence.ts";
import { conflictLines, secretLines } from "../text.ts";
import { APPEND_ONLY, type Connection, freeObject, Text, tool, workHandle } from "../tool.ts";
import {
  describeExtension,
  extensionOutcomeOf,
  findUnseenExtension,
  type UnseenExtension,
} from "../unseen-extension.ts";

const ACTIONS = [
  "note",
  "renew",
  "reserve",
  "complete",
  "fail",
  "decline",
  "release",
  "clarify",
] as const;
type Action = (typeof ACTIONS)[number];

/** What `text` is for each action that needs one. */
const TEXT_MEANINGS: Partial<Record<Action, string>> = {
  note: "what you did, found out or decided",
  fail: "what went wrong",
  decline: "why you do not take it",
  clarify: "the question",
};

/** Fields that only some actions take. */
const ACTIONS_BY_FIELD: Readonly<Record<string, readonly Action[]>> = {
  type: ["note"],
  outputs: ["complete"],
  criteria: ["complete"],
  outcome: ["complete"],
  confidence: ["complete", "note"],
  class: ["fail"],
  attempted: ["fail"],
  hints: ["fail"],
  globs: ["reserve"],
  mode: ["reserve"],
};

const input = z.strictObject({
  handle: workHandle("The work."),
  action: z
    .enum(ACTIONS)
    .describe(
      "note: write down a step or finding. renew: ask for more time. reserve: say which files you work on, learn who else does. complete: done, with the result. fail: it went wrong. decline: not for you, for good. release: give it back for another try. clarify: ask the sender; it comes back with the answer. To hand it on, use hand_off with the handle.",
    ),
  text: z
    .string()
    .min(1)
    .optional()
    .describe(
      "note: what you did or found. complete: the summary. fail: what went wrong. decline: why. clarify: the question.",
    ),
  type: z.string().min(1).optional().describe("note: step (as a rule), finding, decision, …"),
  outputs: freeObject("complete: what the handoff expects, by name.").optional(),
  criteria: z
    .record(z.string(), z.array(z.string()))
    .optional()
    .describe("complete: the criteria that are met, word for word, by the output's name."),
  outcome: z.string().min(1).optional().describe("complete: how it ended, in one word."),
  confidence: z.number().min(0).max(1).optional().describe("complete, note: from 0 to 1."),
  class: z
    .enum(FAILURE_CLASSES)
    .optional()
    .describe("fail: whether another try may mend it (retryable, as a rule)."),
  attempted: z.string().min(1).optional().describe("fail: what you tried."),
  hints: z.array(z.string().min(1)).optional().describe("fail: what might mend it."),
  globs: z
    .array(z.string().min(1))
    .optional()
    .describe("reserve: files or resources; else what the handoff says it touches."),
  mode: z.enum(["exclusive", "shared"]).optional().describe("reserve: shared minds no sharers."),
  seen: z
    .string()
    .min(1)
    .optional()
    .describe("The sender's addition you have looked at (env_…), when you were told of one."),
});

const output = z.strictObject({
  text: Text,
  status: z
    .enum(["noted", "held", "settled", "extended", "kept"])
    .describe(
      "held: still yours. settled: over for you. extended: look at the addition, then repeat. kept: the note was stored, but the work is not yours any more.",
    ),
  handoff: z.string(),
  state: z.string().optional().describe("Where the handoff stands."),
  memory: z.string().optional().describe("The record that was written."),
  envelope: z.string().optional().describe("When extended: pass it as seen."),
  lease_until: z.number().optional(),
});

type Args = z.output<typeof input>;
type Answer = z.input<typeof output>;

export const update = tool({
  name: "update",
  title: "Update your work",
  description:
    "Says something about work you hold: note progress as you go (it keeps the work yours and helps whoever comes after you), and settle it at the end: complete, fail, decline, release or clarify. Settled once; then the handle is spent.",
  input,
  output,
  annotations: APPEND_ONLY,

  async run(args, connection) {
    refuseMisplaced(args);
    try {
      return await runAction(args, connection);
    } catch (error) {
      if (isBatonError(error) && (error.code === "lease_lost" || error.code === "cancelled")) {
        connection.held.drop(args.handle);
      }
      throw error;
    }
  },
});

/** A field of another action is a slip, and a text that is missing is asked for by name. */
function refuseMisplaced({ action, text, ...given }: Args): void {
  const says = TEXT_MEANINGS[action];
  if (says !== undefined && text === undefined) {
    throw invalidArgument("text", `${action} needs text: ${says}.`, "Say it in text.");
  }
  for (const [field, actions] of Object.entries(ACTIONS_BY_FIELD)) {
    if (given[field as keyof typeof given] === undefined || actions.includes(action)) continue;
    const message = `${field} is not for ${action}, but for ${actions.join(" and ")}.`;
    throw invalidArgument(field, message, "Leave it out, or choose the action you mean.");
  }
}

const invalidArgument = (path: string, message: string, hint: string): BatonError =>
  new BatonError("invalid_input", { path, message, hint });

async function runAction(args: Args, connection: Connection): Promise<Answer> {
  const { handle, action, seen } = args;
  const { agent, held } = connection;
  if (action === "note") return addNote(args, connection);
  const work = await held.at(agent, handle, seen);
  if (action === "renew" || action === "reserve") return renewOrReserve(args, connection, work);
  // Whoever gives it back need not have seen what the next will get.
  const unseen =
    action === "release" ? undefined : await findUnseenExtension(connection, work.id, seen);
  if (unseen !== undefined) return extendedAnswer(connection, unseen);
  const outcome = await settleWork(args, work).catch(extensionOutcomeOf);
  if (outcome.kind === "extended") return extendedAnswer(connection, outcome.unseen);
  held.drop(handle);
  const { id, state, settledBy } = outcome.delivery;
  const merge = outcome.merge === undefined ? [] : [`Its branch: ${outcome.merge.kind}.`];
  return {
    text: [`Done: ${action}. ${id} is ${state}.`, ...secretLines(outcome.secrets), ...merge].join(
      "\n",
    ),
    status: "settled",
    handoff: id,
    state,
    ...(settledBy === undefined ? {} : { memory: settledBy }),
  };
}

async function settleWork(args: Args, work: Work): Promise<SettleResult> {
  const { action, text = "" } = args;
  switch (action) {
    case "complete":
      return work.complete(resultOf(args));
    case "fail":
      return work.fail(failureOf(args));
    case "decline":
      return work.decline(text);
    case "clarify":
      return work.clarify(text);
    case "release":
      return { kind: "settled", delivery: await work.release() };
    case "note":
    case "renew":
    case "reserve":
      throw new Error(`${action} settles nothing`);
    default:
      return assertNever(action);
  }
}

/** Without what was not said. */
const omitUndefined = <Fields extends object>(fields: Fields): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Fields;

const resultOf = ({ text, outputs, criteria, outcome, confidence }: Args): Result =>
  omitUndefined({ summary: text, outputs, criteria, outcome, confidence });

const failureOf = ({ text = "", class: kind, attempted, hints }: Args): Failure =>
  omitUndefined({ message: text, class: kind, attempted, hints });

async function addNote(args: Args, connection: Connection): Promise<Answer> {
  const { handle, text: content = "", type, confidence } = args;
  const noted = await connection.agent.deliveries.note(
    handle,
    omitUndefined({ content, type, confidence }),
  );
  const { id } = noted.memory;
  const handoff = handle.replace(/#.*$/, "");
  if (noted.kind === "kept") {
    const told = `The note is kept as ${id}, but the work is not yours (any more): stop working on it.`;
    return { text: told, status: "kept", handoff, memory: id };
  }
  const added = await extensionNotice(connection, handoff, args.seen);
  const text = [`Noted as ${id}.`, ...added.told].join("\n");
  return { text, status: "noted", handoff, memory: id, ...added.envelope };
}

async function renewOrReserve(args: Args, connection: Connection, work: Work): Promise<Answer> {
  const told =
    args.action === "reserve"
      ? await reserveFiles(args, work)
      : await work.renew().then(() => ["Renewed."]);
  const added = await extensionNotice(connection, work.id, args.seen);
  return {
    text: [...told, ...added.told].join("\n"),
    status: "held",
    handoff: work.id,
    ...added.envelope,
    lease_until: work.delivery.leaseUntil,
  };
}

/** Of work that is still held: the earlier it is known that the sender added something, the better. */
async function extensionNotice(connection: Connection, handoff: string, seen: string | undefined) {
  const unseen = await findUnseenExtension(connection, handoff, seen);
  if (unseen === undefined) return { told: [], envelope: {} };
  const { envelope } = unseen;
  const told = `The sender has added to the handoff: read ${handoff}, then pass seen: "${envelope}".`;
  return { told: [told], envelope: { envelope } };
}

async function reserveFiles({ globs, mode }: Args, work: Work): Promise<string[]> {
  const { reserved, conflicts } = await work.reservations.set(globs, omitUndefined({ mode }));
  const all = reserved.globs.join(", ");
  return [
    `Reserved: ${quoteText(all)}.`,
    ...(conflicts.length === 0 ? ["Nobody else works there."] : conflictLines(conflicts)),
  ];
}

async function extendedAnswer(connection: Connection, unseen: UnseenExtension): Promise<Answer> {
  const { text } = await describeExtension(connection, unseen);
  return { text, status: "extended", ...unseen };
}
