/**
 * What a model is shown when a session starts, and when new work came since: what waits, what must be
 * kept to, what the team agreed on, what happened last. Looking only: a start hook may fire for any
 * reason and any number of times, so it never takes a handoff. Within a budget of tokens; what does not
 * fit is left out whole, and counted.
 */

import { isBatonError } from "../base/errors.ts";
import type { DeliveryWithEnvelope } from "../delivery/watch/inbox-listing.ts";
import type { Agent } from "../hub/agent.ts";
import { FENCE_NOTICE, fenceText, quoteText } from "../text/fence.ts";
import { roughTokenizer } from "../text/rough-tokens.ts";
import { MAX_OUTPUT_CHARACTERS } from "./hook-output.ts";

export const DEFAULT_TOKENS = 2_000;

/** Tasks whose ledgers are looked at: more are not worked on at once. */
const MAX_TASKS = 5;
/** Of the budget, so much goes to what ledgers say at most. */
const LEDGER_SHARE = 1 / 4;

export async function sessionStartText(
  agent: Agent,
  waiting: readonly DeliveryWithEnvelope[],
  tokens: number,
): Promise<string> {
  const { count } = roughTokenizer; // No hook waits for a table to be loaded.
  const head = [FENCE_NOTICE, USAGE_HINT].join("\n");
  const most = Math.min(tokens, DEFAULT_TOKENS) * LEDGER_SHARE;
  const musts = fitLines(await ledgerLines(agent, waiting), most, count);
  const before = [head, ...musts].join("\n");
  const room = Math.max(1, tokens - count(before) - 2);
  return fitToOutputLimit(
    room,
    async (most) => `${before}\n\n${await catchUpText(agent, waiting, most)}`,
  );
}

const USAGE_HINT =
  "Baton keeps what this project's agents know and hand to each other. Nothing was accepted yet: take a handoff with the tool accept (or baton accept) when you begin with it.";

/** New handoffs since the session was told; undefined when there are none. */
export async function newHandoffsText(
  agent: Agent,
  news: readonly DeliveryWithEnvelope[],
  tokens: number,
): Promise<string | undefined> {
  if (news.length === 0) return undefined;
  const head = [
    FENCE_NOTICE,
    `New since you were told: ${news.length} for ${agent.id}. Take one with the tool accept (or baton accept) when it suits; none was accepted.`,
  ].join("\n");
  const lines = news.map(
    ({ delivery: { task, sender, id }, envelope: { intent } }) =>
      `- ${quoteText(task)}, from ${sender} (${id})\n${fenceText(intent)}`,
  );
  const all = [head, ...lines].join("\n");
  const { count } = roughTokenizer;
  if (count(all) <= tokens && all.length <= MAX_OUTPUT_CHARACTERS) return all;
  return fitToOutputLimit(tokens, async (most) =>
    [head, ...fitLines(lines, most - count(head), count)].join("\n"),
  );
}

/** As many whole lines as fit, and how many did not. */
function fitLines(
  lines: readonly string[],
  most: number,
  count: (text: string) => number,
): string[] {
  const kept = lines.slice();
  const told = (): string[] =>
    kept.length === lines.length
      ? kept
      : [...kept, `(${lines.length - kept.length} left out for want of room: see your inbox.)`];
  while (kept.length > 0 && count(told().join("\n")) > most) kept.pop();
  return told();
}

/** What every task that waits here must keep to. */
async function ledgerLines(
  agent: Agent,
  waiting: readonly DeliveryWithEnvelope[],
): Promise<string[]> {
  const tasks = [...new Set(waiting.map(({ delivery }) => delivery.task))].slice(0, MAX_TASKS);
  const ledgers = await Promise.all(tasks.map((task) => agent.tasks.ledger(task)));
  const lines = ledgers.flatMap((ledger) =>
    (ledger?.constraints ?? []).map(
      ({ rule }) => `- ${quoteText(ledger?.task ?? "")}: ${quoteText(rule)}`,
    ),
  );
  return lines.length === 0
    ? []
    : [`\n## Must be kept on these tasks\n${lines[0]}`, ...lines.slice(1)];
}

/** Where what must be told does not fit, at least that it is there. */
async function catchUpText(
  agent: Agent,
  waiting: readonly DeliveryWithEnvelope[],
  tokens: number,
): Promise<string> {
  try {
    return (await agent.catchUp({ tokens, rough: true })).text;
  } catch (error) {
    if (!isBatonError(error) || error.code !== "limit_exceeded") throw error;
    return `You are ${agent.id}. ${waiting.length} handoffs wait or are under way; they, pins and musts take more room than there is here. Ask for them with the tool catch_up (or baton catchup).`;
  }
}

/** Some harnesses show a long text only in part: asked again with less, until it is short enough. */
async function fitToOutputLimit(
  tokens: number,
  text: (tokens: number) => Promise<string>,
): Promise<string> {
  let most = tokens;
  for (;;) {
    const made = await text(most);
    if (made.length <= MAX_OUTPUT_CHARACTERS || most === 1) return made;
    most = Math.max(1, Math.floor((most * MAX_OUTPUT_CHARACTERS) / made.length) - 1);
  }
}
