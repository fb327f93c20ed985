/**
 * One hook of a harness, answered: what happened is captured, and what the model should know is given
 * back. Everything is done through the hub it is handed, in the name of the session the harness has.
 */

import { assertNever, isBatonError } from "../base/errors.ts";
import type { Agent } from "../hub/agent.ts";
import type { Hub } from "../hub/hub.ts";
import type { TraceStep } from "../memory/traces/trace.ts";
import { capture } from "./capture.ts";
import { checkpoint } from "./checkpoint.ts";
import type { Harness } from "./harness-events.ts";
import type { HookInput } from "./hook-input.ts";
import { formatHookOutput } from "./hook-output.ts";
import { newHandoffsText, sessionStartText } from "./session-context.ts";
import { readReportedEnvelopes, reportedStepOf } from "./session-state.ts";

export interface Hook {
  readonly harness: Harness;
  /** As the harness calls it. */
  readonly event: string;
  /** In whose name. */
  readonly as: string;
  readonly tokens: number;
  readonly input: HookInput;
}

/**
 * Says what there is to say, then stores what happened, and returns when it is stored: where storing
 * fails, the model has been told all the same, and is told again next time.
 */
export async function answerHook(
  hub: Hub,
  hook: Hook,
  say: (answer: string) => void,
): Promise<void> {
  const agent = await sessionOf(hub, hook);
  const { text, steps } = await runHook(hub, agent, hook);
  if (text !== undefined) say(formatHookOutput(hook.harness, hook.event, text));
  if (steps.length > 0) await agent.trace(steps);
}

interface HookResult {
  readonly text?: string | undefined;
  /** To be traced. */
  readonly steps: readonly TraceStep[];
}

/** Waiting handoffs that a hook looks at. */
const MAX_WAITING = 50;

async function runHook(hub: Hub, agent: Agent, hook: Hook): Promise<HookResult> {
  const { harness, tokens, input } = hook;
  const { event } = input;
  switch (event.kind) {
    case "start": {
      const [waiting, told] = await Promise.all([listWaiting(agent), readReportedEnvelopes(agent)]);
      const news = unreportedDeliveries(waiting, told);
      // Fired at every model call: the session has been told already.
      const isAgain = event.source === undefined && told !== undefined;
      const text = isAgain
        ? await newHandoffsText(agent, news, tokens)
        : await sessionStartText(agent, waiting, tokens);
      // Once it is said that nothing waits, it is said.
      return { text, steps: news.length > 0 || told === undefined ? [reportedStepOf(news)] : [] };
    }
    case "prompt": {
      const [waiting, told, steps] = await Promise.all([
        listWaiting(agent),
        readReportedEnvelopes(agent),
        capture({ hub, agent }, harness, input, event),
      ]);
      const news = unreportedDeliveries(waiting, told);
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
 * Whoever set the hook up said in whose name: it is registered where it is not yet, as the MCP server
 * does. The harness's session is the instance, so that two sessions of one agent stay apart.
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

/** Ready to be taken, and not told of in this session in this form. */
const unreportedDeliveries = (
  waiting: Awaited<ReturnType<typeof listWaiting>>,
  told: ReadonlyMap<string, string> | undefined,
) =>
  waiting.filter(
    ({ delivery: { id, state, envelope } }) => state === "ready" && told?.get(id) !== envelope,
  );
