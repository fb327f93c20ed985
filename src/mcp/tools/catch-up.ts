/** The tool `catch_up`: the first call of a session, and the first after its context was compacted. */
import * as z from "zod";
import { BatonError, isBatonError } from "../../base/errors.ts";
import type { DeliveryWithEnvelope } from "../../delivery/watch/inbox-listing.ts";
import { handleOf } from "../../delivery/work/work-handle.ts";
import { quoteText } from "../../text/fence.ts";
import { tokenCounterFor } from "../token-budget.ts";
import { detail, maxTokens, READ_ONLY, Text, taskName, tool } from "../tool.ts";

/** How many records are considered, by level of detail. */
const RECORD_LIMITS = { concise: 20, detailed: 100 } as const;
/** How many waiting handoffs are listed; held work is listed in full. */
const MAX_WAITING = 50;

/** Returns what an agent should know when it starts. */
export const catchUp = tool({
  name: "catch_up",
  title: "Catch up",
  description:
    "Returns what to know when you start or after your context was cleared: handoffs waiting for you, work you hold (with handles), pinned memories, what the team agreed on, recent events. Claims nothing.",
  input: z.strictObject({
    task: taskName("Only what concerns this task.").optional(),
    detail: detail("concise"),
    max_tokens: maxTokens(2_000),
  }),
  output: z.strictObject({
    text: Text,
    agent: z.string().describe("Your id."),
    role: z.string().optional(),
    held: z
      .array(z.strictObject({ handle: z.string(), handoff: z.string(), task: z.string() }))
      .describe("Work you accepted and have not settled: continue with update."),
    waiting: z
      .array(
        z.strictObject({
          handoff: z.string(),
          task: z.string(),
          from: z.string(),
          state: z.string(),
        }),
      )
      .describe("The first handoffs for you or your role: take one with accept."),
    omitted: z.array(z.string()).describe("Ids of records that did not fit."),
  }),
  annotations: READ_ONLY,

  async run({ task, detail: much, max_tokens }, { agent }) {
    const about = task === undefined ? {} : { task };
    const open = (await agent.deliveries.waiting(about)).items;
    const held = open.filter((each) => isHeldBy(agent, each));
    const head = held.map(heldLine);
    const { count } = await tokenCounterFor(agent);
    const taken = count(head.map((line) => `${line}\n`).join("")) + count(`\n${OMITTED_HINT}`);
    const caughtUp = await agent
      .catchUp({ ...about, limit: RECORD_LIMITS[much], tokens: Math.max(1, max_tokens - taken) })
      .catch((error: unknown) => {
        throw withReservedTokens(taken, error);
      });
    const foot = caughtUp.omitted.length === 0 ? [] : [OMITTED_HINT];
    return {
      text: [...head, caughtUp.text, ...foot].join("\n"),
      agent: agent.id,
      ...(agent.info.role === undefined ? {} : { role: agent.info.role }),
      held: held.map(({ delivery }) => ({
        handle: handleOf(delivery),
        handoff: delivery.id,
        task: delivery.task,
      })),
      waiting: open
        .filter((each) => !isHeldBy(agent, each))
        .slice(0, MAX_WAITING)
        .map(({ delivery: { id, task: of, sender, state } }) => ({
          handoff: id,
          task: of,
          from: sender,
          state,
        })),
      omitted: [...caughtUp.omitted],
    };
  },
});

const OMITTED_HINT = "(For omitted records, use recall or read, or a larger max_tokens.)";

/** Adds the tokens of the head to the required budget that an error reports. */
function withReservedTokens(taken: number, error: unknown): unknown {
  if (!isBatonError(error) || error.details["limit"] !== "tokens") return error;
  const { code, message, path, hint, details } = error;
  const actual = Number(details["actual"]) + taken;
  return new BatonError(code, { message, path, hint, details: { ...details, actual } });
}

/** Returns whether this session holds the work; another session of the same agent does not count. */
function isHeldBy(
  { id, instance }: { readonly id: string; readonly instance: string },
  { delivery }: DeliveryWithEnvelope,
): boolean {
  return delivery.state === "accepted" && delivery.holder === id && delivery.instance === instance;
}

const heldLine = ({ delivery }: DeliveryWithEnvelope): string =>
  `You hold ${handleOf(delivery)}: ${quoteText(delivery.task)}, from ${delivery.sender}.`;
