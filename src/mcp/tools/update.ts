/**
 * The tool `update` covers all that an agent reports about work it holds, from a note to its settlement. One
 * tool with an action, because a model that holds work has one question: what do I report about it now?
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

/** The meaning of `text` for each action that requires it. */
const TEXT_MEANINGS: Partial<Record<Action, string>> = {
  note: "what you did, learned or decided",
  fail: "what went wrong",
  decline: "why you decline",
  clarify: "the question",
};

/** The actions that accept a field; all others refuse it. */
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
      "note: record a step or finding. renew: extend the lease. reserve: name the files you work on, get conflicts. complete: done, with the result. fail: this attempt failed. decline: refuse it permanently. release: return it for another attempt. clarify: ask the sender; it is offered again with the answer. To hand it on, use hand_off with the handle.",
    ),
  text: z
    .string()
    .min(1)
    .optional()
    .describe(
      "note: what you did or found. complete: the summary. fail: what went wrong. decline: why. clarify: the question.",
    ),
  type: z.string().min(1).optional().describe("note: step (default), finding, decision, …"),
  outputs: freeObject("complete: the expected outputs, by name.").optional(),
  criteria: z
    .record(z.string(), z.array(z.string()))
    .optional()
    .describe("complete: the criteria that are met, verbatim, by output name."),
  outcome: z.string().min(1).optional().describe("complete: the outcome, in one word."),
  confidence: z.number().min(0).max(1).optional().describe("complete, note: from 0 to 1."),
  class: z
    .enum(FAILURE_CLASSES)
    .optional()
    .describe("fail: whether a retry may succeed (default: retryable)."),
  attempted: z.string().min(1).optional().describe("fail: what you attempted."),
  hints: z.array(z.string().min(1)).optional().describe("fail: what might fix it."),
  globs: z
    .array(z.string().min(1))
    .optional()
    .describe("reserve: files or resources (default: what the handoff touches)."),
  mode: z.enum(["exclusive", "shared"]).optional().describe("reserve: shared allows others."),
  seen: z
    .string()
    .min(1)
    .optional()
    .describe("The sender's extension you have read (env_…), if one was reported."),
});

const output = z.strictObject({
  text: Text,
  status: z
    .enum(["noted", "held", "settled", "extended", "kept"])
    .describe(
      "held: you still hold it. settled: your part is over. extended: read the extension, then repeat. kept: the note was stored, but you no longer hold the work.",
    ),
  handoff: z.string(),
  state: z.string().optional().describe("State of the handoff."),
  memory: z.string().optional().describe("The stored memory."),
  envelope: z.string().optional().describe("If extended: pass it as seen."),
  lease_until: z.number().optional(),
});

type Args = z.output<typeof input>;
type Answer = z.input<typeof output>;

/** Notes progress, renews, reserves or settles work. */
export const update = tool({
  name: "update",
  title: "Update your work",
  description:
    "Updates work you hold: note progress as you go (it renews your lease and helps the next agent), and settle it at the end: complete, fail, decline, release or clarify. After that the handle is invalid.",
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

/** Throws if `text` is missing, or if a field belongs to another action: that is likely a mistake. */
function refuseMisplaced({ action, text, ...given }: Args): void {
  const says = TEXT_MEANINGS[action];
  if (says !== undefined && text === undefined) {
    throw invalidArgument("text", `${action} requires text: ${says}.`, "Pass text.");
  }
  for (const [field, actions] of Object.entries(ACTIONS_BY_FIELD)) {
    if (given[field as keyof typeof given] === undefined || actions.includes(action)) continue;
    const message = `${field} is not allowed with ${action}, only with ${actions.join(" and ")}.`;
    throw invalidArgument(field, message, `Omit ${field}, or use another action.`);
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
  // A release needs no check: the next holder gets the extension.
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

/** Removes undefined fields. */
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
  const handoff = handle.replace(/#.*/s, "");
  if (noted.kind === "kept") {
    const notice = `The note is stored as ${id}, but you do not hold this work: stop working on it.`;
    return { text: notice, status: "kept", handoff, memory: id };
  }
  const added = await extensionNotice(connection, handoff, args.seen);
  const text = [`Noted as ${id}.`, ...added.lines].join("\n");
  return { text, status: "noted", handoff, memory: id, ...added.envelope };
}

async function renewOrReserve(args: Args, connection: Connection, work: Work): Promise<Answer> {
  const lines =
    args.action === "reserve"
      ? await reserveFiles(args, work)
      : await work.renew().then(() => ["Renewed."]);
  const added = await extensionNotice(connection, work.id, args.seen);
  return {
    text: [...lines, ...added.lines].join("\n"),
    status: "held",
    handoff: work.id,
    ...added.envelope,
    lease_until: work.delivery.leaseUntil,
  };
}

/** Reports an extension while the work is still held, so that the holder learns of it early. */
async function extensionNotice(connection: Connection, handoff: string, seen: string | undefined) {
  const unseen = await findUnseenExtension(connection, handoff, seen);
  if (unseen === undefined) return { lines: [], envelope: {} };
  const { envelope } = unseen;
  const notice = `The sender has extended the handoff: read ${handoff}, then pass seen: "${envelope}".`;
  return { lines: [notice], envelope: { envelope } };
}

async function reserveFiles({ globs, mode }: Args, work: Work): Promise<string[]> {
  const { reserved, conflicts } = await work.reservations.set(globs, omitUndefined({ mode }));
  const all = reserved.globs.join(", ");
  return [
    `Reserved: ${quoteText(all)}.`,
    ...(conflicts.length === 0 ? ["No conflicts."] : conflictLines(conflicts)),
  ];
}

async function extendedAnswer(connection: Connection, unseen: UnseenExtension): Promise<Answer> {
  const { text } = await describeExtension(connection, unseen);
  return { text, status: "extended", ...unseen };
}
