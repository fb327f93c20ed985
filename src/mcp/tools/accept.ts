/**
 * The tool `accept` accepts a handoff and returns what its receiver needs to start. The handle is always in
 * the result, even if the view cannot be shown: without it no agent could settle the work.
 */
import * as z from "zod";
import { type BatonError, isBatonError } from "../../base/errors.ts";
import { notAcceptable } from "../../delivery/receive/not-acceptable.ts";
import type { EarlierAttempt } from "../../history/earlier-attempts.ts";
import type { Agent } from "../../hub/agent.ts";
import type { Work } from "../../hub/work.ts";
import type { LedgerProgress } from "../../ledger/ledger.ts";
import { quoteText } from "../../text/fence.ts";
import { conflictLines, warningLines } from "../text.ts";
import { tokenCounterFor } from "../token-budget.ts";
import {
  APPEND_ONLY,
  type Connection,
  detail,
  handoffId,
  maxTokens,
  Text,
  taskName,
  tool,
} from "../tool.ts";
import { toolErrorOf } from "../tool-error.ts";

/** Most clients time a call out after a minute. */
export const MAX_WAIT_SECONDS = 50;

const input = z.strictObject({
  handoff: handoffId("This one (default: the first for you or your role).").optional(),
  task: taskName("Only a handoff of this task.").optional(),
  wait_seconds: z
    .int()
    .min(0)
    .max(MAX_WAIT_SECONDS)
    .default(0)
    .describe("How long to wait if nothing is ready."),
  receipt: z
    .strictObject({
      goal: z.string().min(1).describe("The goal, in your own words."),
      first_step: z.string().min(1).describe("What you will do first."),
      constraints: z.array(z.string()).default([]).describe("The id of every must constraint."),
    })
    .optional()
    .describe("Your restatement of the task, if the handoff requires one."),
  detail: detail("detailed"),
  max_tokens: maxTokens(4_000),
});

const OptionalText = z.string().optional();

const Attempt = z.strictObject({
  attempt: z.int(),
  by: OptionalText,
  outcome: z.string(),
  message: OptionalText,
  tried: OptionalText,
  hints: z.array(z.string()),
  notes: z.array(z.string()),
  question: OptionalText,
  answer: OptionalText,
  decision: OptionalText,
});

const Progress = z.strictObject({
  id: z.string(),
  kind: z.enum(["blocked", "doNotRedo", "done"]),
  text: z.string(),
  by: z.string(),
});

function attemptOf({
  attempt,
  by,
  outcome,
  message,
  attempted,
  hints,
  notes,
  question,
  answer,
  decision,
}: EarlierAttempt): z.output<typeof Attempt> {
  return {
    attempt,
    by,
    outcome,
    message,
    tried: attempted,
    hints: [...hints],
    notes: notes.map(({ text }) => text),
    question,
    answer: answer?.text,
    decision: decision && `${decision.decision} (${decision.by}): ${decision.reason}`,
  };
}

const progressOf = ({ id, kind, text, on, by }: LedgerProgress): z.output<typeof Progress> => ({
  id,
  kind,
  text: on === undefined ? text : `${text}, on ${on}`,
  by,
});

/** Accepts the next handoff, or one by id. */
export const accept = tool({
  name: "accept",
  title: "Accept a handoff",
  description:
    "Accepts the first handoff waiting for you (or one by id) and returns its handle and what you need to start. You hold the work until you settle it with update or hand it on with hand_off; pass them the handle. No other agent gets it meanwhile.",
  input,
  output: z.strictObject({
    text: Text,
    status: z.enum(["accepted", "nothing"]),
    handle: z.string().optional().describe("Pass it to update, read and hand_off."),
    handoff: z.string().optional(),
    task: z.string().optional(),
    from: z.string().optional(),
    attempt: z.int().optional().describe("More than 1: an earlier attempt did not finish."),
    attempts: z
      .array(Attempt)
      .optional()
      .describe("Earlier attempts: why each ended, what was tried, questions with answers."),
    progress: z
      .array(Progress)
      .optional()
      .describe("What earlier handoffs reported as done, not to be redone, or blocked."),
    lease_until: z
      .number()
      .optional()
      .describe("End of your lease unless you call again, in ms since 1970."),
    omitted: z.int().optional().describe("Number of records omitted from the text."),
    omitted_ids: z
      .array(z.string())
      .optional()
      .describe("Ids of the first of those: read them with read and this handle."),
  }),
  annotations: APPEND_ONLY,

  async run(args, connection, signal) {
    const { agent, hub, held } = connection;
    await hub.deliveries.runDue(); // First, so that a delivery past its deadline is not accepted.
    const work = await agent.accept(choiceOf(args, signal));
    if (work === undefined) {
      if (args.handoff !== undefined) throw await notAcceptableError(connection, args.handoff);
      return { text: nothingWaitingText(agent), status: "nothing" as const };
    }
    const answer = await acceptedText(connection, work, args);
    if (signal.aborted) {
      await work.release(); // The client has cancelled the call and would never get the handle.
      return { text: "", status: "nothing" as const };
    }
    held.keep(work);
    const { handle, id, envelope } = work;
    const { task, attempt, leaseUntil } = work.delivery;
    return {
      text: answer.text,
      status: "accepted" as const,
      handle,
      handoff: id,
      task,
      from: envelope.from.agent,
      attempt,
      ...(work.attempts.length === 0 ? {} : { attempts: work.attempts.map(attemptOf) }),
      ...(work.progress.length === 0 ? {} : { progress: work.progress.map(progressOf) }),
      lease_until: leaseUntil,
      omitted: answer.omitted.length,
      ...(answer.omitted.length === 0
        ? {}
        : { omitted_ids: answer.omitted.slice(0, MAX_OMITTED_IDS) }),
    };
  },
});

/** More ids than a model reads at once. */
const MAX_OMITTED_IDS = 50;

type Args = z.output<typeof input>;

function choiceOf({ handoff, task, receipt, wait_seconds }: Args, signal: AbortSignal) {
  const signals = [signal, AbortSignal.timeout(wait_seconds * 1_000)];
  return {
    ...(handoff === undefined ? {} : { delivery: handoff }),
    ...(task === undefined ? {} : { task }),
    ...(receipt === undefined ? {} : { receipt: receiptOf(receipt) }),
    ...(wait_seconds === 0 ? {} : { wait: true, signal: AbortSignal.any(signals) }),
  };
}

const receiptOf = ({ goal, first_step, constraints }: NonNullable<Args["receipt"]>) => ({
  goal,
  firstStep: first_step,
  constraints,
});

async function notAcceptableError(
  { agent, hub }: Connection,
  handoff: string,
): Promise<BatonError> {
  const { delivery } = await hub.deliveries.get(handoff);
  return notAcceptable({ agent: agent.id, role: agent.info.role }, delivery);
}

const nothingWaitingText = ({ id, info }: Agent): string =>
  info.status === "paused"
    ? `${id} is paused and gets no work.`
    : `No handoff is ready for ${id}. Call wait, or accept with wait_seconds.`;

/** Returns the text of the result: handle, lease, warnings and conflicts, then the view or the primer. */
async function acceptedText(
  connection: Connection,
  work: Work,
  { detail: much, max_tokens }: Args,
): Promise<Body> {
  const { handle, envelope } = work;
  const { task, attempt, leaseUntil } = work.delivery;
  const head = [
    `Accepted: ${quoteText(task)} from ${envelope.from.agent}. Its handle is ${handle}; continue with update.`,
    `Lease until ${new Date(leaseUntil).toISOString()}; every call renews it.`,
    ...(attempt > 1
      ? [`This is attempt ${attempt}: an earlier holder may have done part of it.`]
      : []),
    ...warningLines(await work.warnings()),
    ...conflictLines(work.reservations.conflicts),
  ];
  const { count } = await tokenCounterFor(connection.agent);
  const tokensLeft = Math.max(1, max_tokens - count(`${head.join("\n")}\n`));
  const body =
    much === "concise"
      ? await conciseBody(connection, work)
      : await detailedBody(connection, work, tokensLeft);
  return { text: [...head, body.text].join("\n"), omitted: body.omitted };
}

type Body = { readonly text: string; readonly omitted: readonly string[] };

/** The primer and the team's must constraints, which a view contains but a primer does not. */
async function conciseBody({ agent }: Connection, work: Work): Promise<Body> {
  const { items } = await agent.context.text({
    sections: ["constraints"],
    tokens: Number.MAX_SAFE_INTEGER,
  });
  const musts = items.flatMap((item) =>
    item.section === "constraints" && item.level === "must"
      ? [`- ${item.key}: ${quoteText(item.rule)}`]
      : [],
  );
  const team = musts.length === 0 ? [] : ["## Rules for the whole team", ...musts];
  return { text: [work.primer, ...team].join("\n"), omitted: [] };
}

/** Falls back to the primer and the reason if the view fails, because the work is already accepted. */
async function detailedBody(connection: Connection, work: Work, tokens: number): Promise<Body> {
  try {
    const { text, omitted } = await work.view({ tokens });
    return { text, omitted: omitted.map(({ id }) => id) };
  } catch (error) {
    if (!isBatonError(error)) throw error;
    const brief = await conciseBody(connection, work);
    const { message, hint } = toolErrorOf(error);
    const why = `Primer only: ${message} ${hint} Read the full handoff by its id with read.`;
    return { ...brief, text: `${brief.text}\n${why}` };
  }
}
