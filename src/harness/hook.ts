/**
 * One hook of a harness, answered: what happened is captured, and what the model should know is given
 * back. Everything is done through the hub it is handed, in the name of the session the harness has.
 */

import { assertNever, isBatonError } from "../base/errors.ts";
import type { Agent } from "../hub/agent.ts";
import type { Hub } from "../hub/hub.ts";
import type { TraceStep } from "../memory/traces/trace.ts";
import { answerFor } from "./answer.ts";
import { capture } from "./capture.ts";
import { checkpoint } from "./checkpoint.ts";
import type { HookInput } from "./events.ts";
import { newsText, startText } from "./inject.ts";
import type { Harness } from "./names.ts";
import { toldBefore, toldNow } from "./session.ts";

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
  const { text, steps } = await done(hub, agent, hook);
  if (text !== undefined) say(answerFor(hook.harness, hook.event, text));
  if (steps.length > 0) await agent.trace(steps);
}

interface Done {
  readonly text?: string | undefined;
  /** To be traced. */
  readonly steps: readonly TraceStep[];
}

/** Waiting handoffs that a hook looks at. */
const LOOKED_AT = 50;

async function done(hub: Hub, agent: Agent, hook: Hook): Promise<Done> {
  const { harness, tokens, input } = hook;
  const { event } = input;
  switch (event.kind) {
    case "start": {
      const [waiting, told] = await Promise.all([waitingFor(agent), toldBefore(agent)]);
      const news = newsOf(waiting, told);
      // Fired at every model call: the session has been told already.
      const isAgain = event.source === undefined && told !== undefined;
      const text = isAgain
        ? await newsText(agent, news, tokens)
        : await startText(agent, waiting, tokens);
      // Once it is said that nothing waits, it is said.
      return { text, steps: news.length > 0 || told === undefined ? [toldNow(news)] : [] };
    }
    case "prompt": {
      const [waiting, told, steps] = await Promise.all([
        waitingFor(agent),
        toldBefore(agent),
        capture({ hub, agent }, harness, input, event),
      ]);
      const news = newsOf(waiting, told);
      const text = await newsText(agent, news, tokens);
      return { text, steps: news.length === 0 ? steps : [...steps, toldNow(news)] };
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

const waitingFor = async (agent: Agent) =>
  (await agent.deliveries.waiting({ limit: LOOKED_AT })).items;

/** Ready to be taken, and not told of in this session in this form. */
const newsOf = (
  waiting: Awaited<ReturnType<typeof waitingFor>>,
  told: ReadonlyMap<string, string> | undefined,
) =>
  waiting.filter(
    ({ delivery: { id, state, envelope } }) => state === "ready" && told?.get(id) !== envelope,
  );
