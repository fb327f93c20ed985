/**
 * The tool `wait` waits for the outcome of a handoff, or for work or questions. Bounded: a client gives up a
 * call that takes too long, so this one returns earlier and can be repeated.
 */
import { setTimeout as sleep } from "node:timers/promises";
import * as z from "zod";
import type { OpenQuestion } from "../../delivery/settle/questions.ts";
import type { DeliveryDetails } from "../../delivery/watch/delivery-details.ts";
import type { DeliveryWithEnvelope } from "../../delivery/watch/inbox-listing.ts";
import { fenceAddress, quoteText } from "../../text/fence.ts";
import { deliveryStatusLines, inboxLine } from "../text.ts";
import { fitItems, tokenCounterFor } from "../token-budget.ts";
import { type Connection, handoffId, maxTokens, READ_ONLY, Text, taskName, tool } from "../tool.ts";
import { MAX_WAIT_SECONDS } from "./accept.ts";

/** How often the inbox and questions are polled. */
const POLL_MS = 500;
/** How many waiting handoffs are listed. */
const MAX_WAITING = 20;

const output = z.strictObject({
  text: Text,
  status: z
    .enum(["work", "question", "accepted", "asked", "ended", "nothing"])
    .describe(
      "work: something to accept. question: something to answer. For a handoff: accepted, asked (answer it), ended. nothing: timed out, wait again.",
    ),
  handoff: z.string().optional().describe("The one you waited for, or the first waiting."),
  state: z.string().optional().describe("Its state."),
  waiting: z.array(z.string()).describe("Ids of handoffs you can accept."),
  questions: z.array(z.string()).describe("Ids of your handoffs with an open question."),
});
type Answer = z.input<typeof output>;

/** Waits for an outcome, work or a question. */
export const wait = tool({
  name: "wait",
  title: "Wait",
  description:
    "Waits for the outcome of a handoff you sent, or (without handoff) for work to accept or a question to answer. Returns as soon as there is something, at the latest after `seconds`; then wait again, or do something else. Claims nothing.",
  input: z.strictObject({
    handoff: handoffId("The one to wait for.").optional(),
    until: z
      .enum(["accepted", "ended"])
      .default("ended")
      .describe("With handoff: until it is accepted, or until it has ended."),
    task: taskName("Without handoff: only work of this task.").optional(),
    seconds: z.int().min(0).max(MAX_WAIT_SECONDS).default(30).describe("Timeout."),
    max_tokens: maxTokens(4_000),
  }),
  output,
  annotations: READ_ONLY,

  async run({ handoff, until, task, seconds, max_tokens }, connection, signal) {
    const waitSignal = AbortSignal.any([signal, AbortSignal.timeout(seconds * 1_000)]);
    const meter = await tokenCounterFor(connection.agent);
    /** Returns as many of the texts as fit into max_tokens. */
    const fitTexts = (texts: readonly string[], more: string): string => {
      const items = texts.map((text, i) => ({ id: `${i}`, text }));
      return fitItems({ items, none: "", more }, meter, max_tokens).text;
    };
    return handoff === undefined
      ? waitForWork(connection, { task, waitSignal, fitTexts })
      : waitForOutcome(connection, {
          handoff,
          until,
          timeoutMs: seconds * 1_000,
          signal,
          fitTexts,
        });
  },
});

type FitTexts = (texts: readonly string[], more: string) => string;

interface OutcomeWait {
  readonly handoff: string;
  readonly until: "accepted" | "ended";
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  readonly fitTexts: FitTexts;
}

async function waitForOutcome(
  { hub }: Connection,
  { handoff, until, timeoutMs, signal, fitTexts }: OutcomeWait,
): Promise<Answer> {
  const isNews = (state: State): boolean => {
    const status = statusOf(state);
    return status === "asked" || status === "ended" || (status === "accepted" && status === until);
  };
  for await (const { state } of hub.deliveries.watch(handoff, { timeoutMs, signal })) {
    if (isNews(state)) break;
  }
  const shown = await hub.deliveries.get(handoff);
  const { state } = shown.delivery;
  const again = isNews(state) ? [] : ["No change yet: wait again, or continue with other work."];
  return {
    text: fitTexts(
      [...deliveryStatusLines(shown), ...again],
      `Read ${handoff} with a larger max_tokens.`,
    ),
    status: isNews(state) ? statusOf(state) : "nothing",
    handoff,
    state,
    waiting: [],
    questions: state === "waiting" ? [handoff] : [],
  };
}

type State = DeliveryDetails["delivery"]["state"];

function statusOf(state: State): "accepted" | "asked" | "ended" | "nothing" {
  switch (state) {
    case "ready":
    case "scheduled":
    case "claimed":
      return "nothing";
    case "accepted":
      return "accepted";
    case "waiting":
      return "asked";
    default:
      return "ended";
  }
}

/** Polls at least once, until there is work or a question, or the wait ends. */
async function waitForWork(
  { agent, hub }: Connection,
  {
    task,
    waitSignal,
    fitTexts,
  }: { task: string | undefined; waitSignal: AbortSignal; fitTexts: FitTexts },
): Promise<Answer> {
  const about = task === undefined ? {} : { task };
  for (;;) {
    await hub.deliveries.runDue();
    const [open, asked] = await Promise.all([
      agent.deliveries.waiting({ ...about, limit: MAX_WAITING }),
      agent.questions.list(),
    ]);
    const ready = open.items.filter(isReady);
    if (ready.length > 0 || asked.length > 0) return workOrQuestions(ready, asked, fitTexts);
    if (waitSignal.aborted) {
      const text = "Nothing is waiting for you yet: wait again, or continue with other work.";
      return { text, status: "nothing", waiting: [], questions: [] };
    }
    await untilNextPoll(waitSignal);
  }
}

const isReady = ({ delivery }: DeliveryWithEnvelope): boolean =>
  delivery.state === "ready" && delivery.inTurn;

async function untilNextPoll(waitSignal: AbortSignal): Promise<void> {
  try {
    await sleep(POLL_MS, undefined, { signal: waitSignal });
  } catch (error) {
    if (!waitSignal.aborted) throw error;
  }
}

function workOrQuestions(
  ready: readonly DeliveryWithEnvelope[],
  asked: readonly OpenQuestion[],
  fitTexts: FitTexts,
): Answer {
  const [first] = ready;
  const questions = asked.map(
    ({ delivery, question }) =>
      `- ${delivery.holder || fenceAddress(delivery.receiver)} asks about ${delivery.id}: ${quoteText(question)}`,
  );
  return {
    text: fitTexts(
      [
        ...(ready.length === 0 ? [] : ["To accept:", ...ready.map(inboxLine)]),
        ...(questions.length === 0 ? [] : ["To answer:", ...questions]),
      ],
      "Their ids are in waiting and questions: read or accept them.",
    ),
    status: first === undefined ? "question" : "work",
    ...(first === undefined ? {} : { handoff: first.delivery.id, state: first.delivery.state }),
    waiting: ready.map(({ delivery }) => delivery.id),
    questions: asked.map(({ delivery }) => delivery.id),
  };
}
