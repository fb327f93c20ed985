/**
 * Builds the text for the model when a session starts and when new handoffs arrive: waiting handoffs,
 * constraints, shared context and recent events. Read-only: a start hook may fire for any reason and any
 * number of times, so it never accepts a handoff. The text stays within a token budget; items that do not
 * fit are left out completely and counted.
 */

import { isBatonError } from "../base/errors.ts";
import type { DeliveryWithEnvelope } from "../delivery/watch/inbox-listing.ts";
import type { Agent } from "../hub/agent.ts";
import { FENCE_NOTICE, fenceText, quoteText } from "../text/fence.ts";
import { roughTokenizer } from "../text/rough-tokens.ts";
import { MAX_OUTPUT_CHARACTERS } from "./hook-output.ts";

/** Token budget of a hook's text if --tokens is not set. */
export const DEFAULT_TOKENS = 2_000;

/** Maximum number of tasks with their ledger included; sessions do not work on more at once. */
const MAX_TASKS = 5;
/** Maximum share of the budget for constraints of ledgers. */
const LEDGER_SHARE = 1 / 4;

/** Returns the text for a new session: constraints of waiting tasks and the catch-up. Fences have no number yet. */
export async function sessionStartText(
  agent: Agent,
  waiting: readonly DeliveryWithEnvelope[],
  tokens: number,
): Promise<string> {
  const { count } = roughTokenizer; // Avoids loading a token table in a hook.
  const head = [FENCE_NOTICE, USAGE_HINT].join("\n");
  const most = Math.min(tokens, DEFAULT_TOKENS) * LEDGER_SHARE;
  const musts = fitLines(await ledgerLines(agent, waiting), most, count);
  const before = [head, ...musts].join("\n");
  const tokensLeft = Math.max(1, tokens - count(before) - 2);
  return fitToOutputLimit(
    tokensLeft,
    async (most) => `${before}\n\n${await catchUpText(agent, waiting, most)}`,
  );
}

const USAGE_HINT =
  "Baton stores what this project's agents know and hand to each other. Nothing was accepted yet: accept a handoff with the tool accept (or baton accept) when you start working on it.";

/** Returns the text about new handoffs since the last report; undefined if there are none. */
export async function newHandoffsText(
  agent: Agent,
  news: readonly DeliveryWithEnvelope[],
  tokens: number,
): Promise<string | undefined> {
  if (news.length === 0) return undefined;
  const head = [
    FENCE_NOTICE,
    `New handoffs for ${agent.id}: ${news.length}. None was accepted yet: accept one with the tool accept (or baton accept) when you start working on it.`,
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

/** Returns as many whole lines as fit, and the number of omitted ones. */
function fitLines(
  lines: readonly string[],
  most: number,
  count: (text: string) => number,
): string[] {
  const kept = lines.slice();
  const shownLines = (): string[] =>
    kept.length === lines.length
      ? kept
      : [
          ...kept,
          `(${lines.length - kept.length} left out to stay within the budget: see your inbox.)`,
        ];
  while (kept.length > 0 && count(shownLines().join("\n")) > most) kept.pop();
  return shownLines();
}

/** Returns the binding constraints of all waiting tasks. */
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
    : [`\n## Constraints of these tasks\n${lines[0]}`, ...lines.slice(1)];
}

/** Returns the catch-up, or a short notice if its mandatory parts exceed the budget. */
async function catchUpText(
  agent: Agent,
  waiting: readonly DeliveryWithEnvelope[],
  tokens: number,
): Promise<string> {
  try {
    return (await agent.catchUp({ tokens, rough: true })).text;
  } catch (error) {
    if (!isBatonError(error) || error.code !== "limit_exceeded") throw error;
    return `You are ${agent.id}. ${waiting.length} handoffs are waiting or in progress; together with pins and musts they exceed the budget of this text. Read them with the tool catch_up (or baton catchup).`;
  }
}

/** Reduces the budget until the text fits, because some harnesses truncate long texts. */
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
