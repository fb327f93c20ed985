/**
 * `wait`: for what comes of a handoff, or for something to do. Bounded: a call that is not answered in
 * time is given up by its client, so it answers before, and can be made again.
 */
import { setTimeout as sleep } from "node:timers/promises";
import * as z from "zod";
import type { Asked } from "../../delivery/settle/ask.ts";
import type { Waiting } from "../../delivery/watch/inbox-listing.ts";
import type { Shown } from "../../delivery/watch/show.ts";
import { fencedAddress, quoted } from "../../text/fence.ts";
import { fitted, meterOf } from "../fit.ts";
import { standingParts, waitingText } from "../text.ts";
import { type Connection, handoffId, maxTokens, READS, Text, taskName, tool } from "../tool.ts";
import { MOST_SECONDS } from "./accept.ts";

/** How often it is looked for something to do. */
const LOOK_MS = 500;
/** Of what waits, so many are told. */
const MOST_WAITING = 20;

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
    seconds: z.int().min(0).max(MOST_SECONDS).default(30).describe("How long at most."),
    max_tokens: maxTokens(4_000),
  }),
  output,
  annotations: READS,

  async run({ handoff, until, task, seconds, max_tokens }, connection, signal) {
    const patience = AbortSignal.any([signal, AbortSignal.timeout(seconds * 1_000)]);
    const meter = await meterOf(connection.agent);
    /** As many of the texts as there is room for. */
    const inRoom = (texts: readonly string[], more: string): string => {
      const items = texts.map((text, i) => ({ id: `${i}`, text }));
      return fitted({ items, none: "", more }, meter, max_tokens).text;
    };
    return handoff === undefined
      ? forWork(connection, { task, patience, inRoom })
      : forOutcome(connection, { handoff, until, timeoutMs: seconds * 1_000, signal, inRoom });
  },
});

type InRoom = (texts: readonly string[], more: string) => string;

interface Outcome {
  readonly handoff: string;
  readonly until: "accepted" | "ended";
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  readonly inRoom: InRoom;
}

async function forOutcome(
  { hub }: Connection,
  { handoff, until, timeoutMs, signal, inRoom }: Outcome,
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
    text: inRoom([...standingParts(shown), ...again], `Read ${handoff} with more max_tokens.`),
    status: isNews(state) ? statusOf(state) : "nothing",
    handoff,
    state,
    waiting: [],
    questions: state === "waiting" ? [handoff] : [],
  };
}

type State = Shown["delivery"]["state"];

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
async function forWork(
  { agent, hub }: Connection,
  { task, patience, inRoom }: { task: string | undefined; patience: AbortSignal; inRoom: InRoom },
): Promise<Answer> {
  const about = task === undefined ? {} : { task };
  for (;;) {
    await hub.deliveries.runDue();
    const [open, asked] = await Promise.all([
      agent.deliveries.waiting({ ...about, limit: MOST_WAITING }),
      agent.questions.list(),
    ]);
    const ready = open.items.filter(isReady);
    if (ready.length > 0 || asked.length > 0) return found(ready, asked, inRoom);
    if (patience.aborted) {
      const text = "Nothing waits for you yet: wait again, or go on.";
      return { text, status: "nothing", waiting: [], questions: [] };
    }
    await untilNextLook(patience);
  }
}

const isReady = ({ delivery }: Waiting): boolean => delivery.state === "ready" && delivery.inTurn;

async function untilNextLook(patience: AbortSignal): Promise<void> {
  try {
    await sleep(LOOK_MS, undefined, { signal: patience });
  } catch (error) {
    if (!patience.aborted) throw error;
  }
}

function found(ready: readonly Waiting[], asked: readonly Asked[], inRoom: InRoom): Answer {
  const [first] = ready;
  const questions = asked.map(
    ({ delivery, question }) =>
      `- ${delivery.holder || fencedAddress(delivery.receiver)} asks about ${delivery.id}: ${quoted(question)}`,
  );
  return {
    text: inRoom(
      [
        ...(ready.length === 0 ? [] : ["To accept:", ...ready.map(waitingText)]),
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
