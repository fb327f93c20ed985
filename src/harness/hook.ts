/**
 * Answers a hook of a harness: records the event in the session's trace and returns the text for the model.
 * Everything goes through the hub, on behalf of the harness's session.
 */

import { systemClock } from "../base/clock.ts";
import { assertNever, isBatonError } from "../base/errors.ts";
import { type IdGenerator, randomIdGenerator } from "../base/ids.ts";
import type { Agent } from "../hub/agent.ts";
import type { Hub } from "../hub/hub.ts";
import type { TraceStep } from "../memory/traces/trace.ts";
import { drawBoundary, withBoundary } from "../text/fence.ts";
import { showHidden } from "../text/visible.ts";
import { capture } from "./capture.ts";
import { checkpoint } from "./checkpoint.ts";
import type { Harness } from "./harness-events.ts";
import type { HookInput } from "./hook-input.ts";
import { formatHookOutput } from "./hook-output.ts";
import { newHandoffsText, sessionStartText } from "./session-context.ts";
import { readReportedEnvelopes, reportedStepOf } from "./session-state.ts";

/** One call of a hook. */
export interface Hook {
  readonly harness: Harness;
  /** Event name of the harness. */
  readonly event: string;
  /** The agent that acts. */
  readonly as: string;
  /** Token budget of the text for the model. */
  readonly tokens: number;
  readonly input: HookInput;
}

const RANDOM = randomIdGenerator(systemClock);

/**
 * Passes the output to `say`, then stores the steps and resolves when they are stored. If storing fails,
 * the model has the text anyway and gets it again at the next hook.
 */
export async function answerHook(
  hub: Hub,
  hook: Hook,
  say: (answer: string) => void,
  ids: Pick<IdGenerator, "salt"> = RANDOM,
): Promise<void> {
  const agent = await sessionOf(hub, hook);
  const { text, steps } = await runHook(hub, agent, hook);
  if (text !== undefined) {
    const shown = withBoundary(showHidden(text), drawBoundary(ids));
    say(formatHookOutput(hook.harness, hook.event, shown));
  }
  if (steps.length > 0) await agent.trace(steps);
}

interface HookResult {
  readonly text?: string | undefined;
  /** Steps to add to the trace. */
  readonly steps: readonly TraceStep[];
}

/** Maximum number of waiting handoffs that a hook reads. */
const MAX_WAITING = 50;

async function runHook(hub: Hub, agent: Agent, hook: Hook): Promise<HookResult> {
  const { harness, tokens, input } = hook;
  const { event } = input;
  switch (event.kind) {
    case "start": {
      const [waiting, reported] = await Promise.all([
        listWaiting(agent),
        readReportedEnvelopes(agent),
      ]);
      const news = unreportedDeliveries(waiting, reported);
      // Fired at every model call: the session already got the start text.
      const isAgain = event.source === undefined && reported !== undefined;
      const text = isAgain
        ? await newHandoffsText(agent, news, tokens)
        : await sessionStartText(agent, waiting, tokens);
      // An empty report is recorded too, so that it is not repeated.
      return {
        text,
        steps: news.length > 0 || reported === undefined ? [reportedStepOf(news)] : [],
      };
    }
    case "prompt": {
      const [waiting, reportedEnvelopes, steps] = await Promise.all([
        listWaiting(agent),
        readReportedEnvelopes(agent),
        capture({ hub, agent }, harness, input, event),
      ]);
      const news = unreportedDeliveries(waiting, reportedEnvelopes);
      const text = await newHandoffsText(agent, news, tokens);
      return { text, steps: news.length === 0 ? steps : [...steps, reportedStepOf(news)] };
    }
    case "tool-begins":
    case "tool-ends":
    case "subagent-ends":
    case "turn-ends":
      return { steps: await capture({ hub, agent }, harness, input, event) };
    case "compaction": {
      const { trigger } = event;
      const { transcript } = input;
      await agent.remember(await checkpoint({ hub, agent }, harness, { transcript, trigger }));
      return { steps: [] };
    }
    default:
      return assertNever(event);
  }
}

/**
 * Returns the agent that the hook was set up for and registers it if it is new, as the MCP server does. The
 * harness's session is the instance, which keeps two sessions of one agent apart.
 */
async function sessionOf(hub: Hub, { as, input }: Hook): Promise<Agent> {
  const session = { instance: input.session, lease: "session" } as const;
  try {
    return await hub.agent(as, undefined, session);
  } catch (error) {
    if (!isBatonError(error) || error.code !== "unknown_agent") throw error;
    return hub.agent(as, { role: "agent" }, session);
  }
}

const listWaiting = async (agent: Agent) =>
  (await agent.deliveries.waiting({ limit: MAX_WAITING })).items;

/** Returns ready deliveries that were not reported in this session with their current envelope. */
const unreportedDeliveries = (
  waiting: Awaited<ReturnType<typeof listWaiting>>,
  reportedEnvelopes: ReadonlyMap<string, string> | undefined,
) =>
  waiting.filter(
    ({ delivery: { id, state, envelope } }) =>
      state === "ready" && reportedEnvelopes?.get(id) !== envelope,
  );
