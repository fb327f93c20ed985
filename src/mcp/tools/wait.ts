/**
 * `wait`: for what comes of a handoff, or for something to do. Bounded: a call that is not answered in
 * time is given up by its client, so it answers before, and can be made again.
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

/** How often it is looked for something to do. */
const POLL_MS = 500;
/** Of what waits, so many are told. */
const MAX_WAITING = 20;

const output = z.strictObject({
  text: Text,
  status: z
    .enum(["work", "question", "accepted", "asked", "ended", "nothing"])
    .describe(
      "work: something to accept. question: something to answer. Of a handoff: accepted, asked (answer it), ended. nothing: time is up, wait again.",
    ),
  handoff: z.string().optional().describe("The one you waited for, or the first that waits."),
  state: z.string().optional().describe("Where it stands."),
  waiting: z.array(z.string()).describe("Handoffs you can accept, by their ids."),
  questions: z.array(z.string()).describe("Handoffs of yours that wait for your answer."),
});
type Answer = z.input<typeof output>;

export const wait = tool({
  name: "wait",
  title: "Wait",
  description:
    "Waits for what comes of a handoff you sent, or (without one) for something to accept or to answer. Returns as soon as there is something, at the latest after `seconds`; then wait again, or do something else. Takes nothing out of the inbox.",
  input: z.strictObject({
    handoff: handoffId("The one whose outcome you wait for.").optional(),
    until: z
      .enum(["accepted", "ended"])
      .default("ended")
      .describe("Of a handoff: until somebody has it, or until it is over."),
    task: taskName("Without a handoff: only work of this task.").optional(),
    seconds: z.int().min(0).max(MAX_WAIT_SECONDS).default(30).describe("How long at most."),
    max_tokens: maxTokens(4_000),
  }),
  output,
  annotations: READ_ONLY,

  async run({ handoff, until, task, seconds, max_tokens }, connection, signal) {
    const patience = AbortSignal.any([signal, AbortSignal.timeout(seconds * 1_000)]);
    const meter = await tokenCounterFor(connection.agent);
    /** As many of the texts as there is room for. */
    const inRoom = (texts: readonly string[], more: string): string => {
      const items = texts.map((text, i) => ({ id: `${i}`, text }));
      return fitItems({ items, none: "", more }, meter, max_tokens).text;
    };
    return handoff === undefined
      ? waitForWork(connection, { task, patience, inRoom })
      : waitForOutcome(connection, { handoff, until, timeoutMs: seconds * 1_000, signal, inRoom });
  },
});

type FitTexts = (texts: readonly string[], more: string) => string;

interface OutcomeWait {
  readonly handoff: string;
  readonly until: "accepted" | "ended";
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  readonly inRoom: FitTexts;
}

async function waitForOutcome(
  { hub }: Connection,
  { handoff, until, timeoutMs, signal, inRoom }: OutcomeWait,
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
  const again = isNews(state) ? [] : ["Nothing new: wait again, or go on."];
  return {
    text: inRoom(
      [...deliveryStatusLines(shown), ...again],
      `Read ${handoff} with more max_tokens.`,
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

/** Looks until there is something, or patience ends: at least once. */
async function waitForWork(
  { agent, hub }: Connection,
  { task, patience, inRoom }: { task: string | undefined; patience: AbortSignal; inRoom: FitTexts },
): Promise<Answer> {
  const about = task === undefined ? {} : { task };
  for (;;) {
    await hub.deliveries.runDue();
    const [open, asked] = await Promise.all([
      agent.deliveries.waiting({ ...about, limit: MAX_WAITING }),
      agent.questions.list(),
    ]);
    const ready = open.items.filter(isReady);
    if (ready.length > 0 || asked.length > 0) return workOrQuestions(ready, asked, inRoom);
    if (patience.aborted) {
      const text = "Nothing waits for you yet: wait again, or go on.";
      return { text, status: "nothing", waiting: [], questions: [] };
    }
    await untilNextPoll(patience);
  }
}

const isReady = ({ delivery }: DeliveryWithEnvelope): boolean =>
  delivery.state === "ready" && delivery.inTurn;

async function untilNextPoll(patience: AbortSignal): Promise<void> {
  try {
    await sleep(POLL_MS, undefined, { signal: patience });
  } catch (error) {
    if (!patience.aborted) throw error;
  }
}

function workOrQuestions(
  ready: readonly DeliveryWithEnvelope[],
  asked: readonly OpenQuestion[],
  inRoom: FitTexts,
): Answer {
  const [first] = ready;
  const questions = asked.map(
    ({ delivery, question }) =>
      `- ${delivery.holder || fenceAddress(delivery.receiver)} asks about ${delivery.id}: ${quoteText(question)}`,
  );
  return {
    text: inRoom(
      [
        ...(ready.length === 0 ? [] : ["To accept:", ...ready.map(inboxLine)]),
        ...(questions.length === 0 ? [] : ["To answer:", ...questions]),
      ],
      "They are named beside this text: read or accept them by their ids.",
    ),
    status: first === undefined ? "question" : "work",
    ...(first === undefined ? {} : { handoff: first.delivery.id, state: first.delivery.state }),
    waiting: ready.map(({ delivery }) => delivery.id),
    questions: asked.map(({ delivery }) => delivery.id),
  };
}
