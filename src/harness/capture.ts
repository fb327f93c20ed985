/** Converts hook events to steps of the session's trace: prompts, tool calls and final messages. */
import type { Agent } from "../hub/agent.ts";
import type { Hub } from "../hub/hub.ts";
import type { TraceStep } from "../memory/traces/trace.ts";
import type { HookEvent, HookInput } from "./hook-input.ts";
import { acceptedStepOf, deliveryOf, taskOf } from "./session-state.ts";
import { truncateForTrace } from "./trace-value.ts";
import { lastMessage } from "./transcript.ts";

/** Events that become trace steps; a start or a compaction is recorded in other ways. */
type CapturedEvent = Exclude<HookEvent, { kind: "start" | "compaction" }>;

/** Returns the steps of an event, with the harness as tag and the task that the session works on. */
export async function capture(
  { hub, agent }: { readonly hub: Hub; readonly agent: Agent },
  harness: string,
  input: HookInput,
  event: CapturedEvent,
): Promise<TraceStep[]> {
  const accepted =
    event.kind === "tool-ends" && event.ok ? await findAcceptedDelivery(hub, agent, event) : [];
  const task = accepted[0]?.task ?? (await taskOf(hub, agent));
  const { subagent } = input;
  const tags = [harness, ...(subagent === undefined ? [] : ["subagent", subagent.id])];
  const about = { tags: tags.map(label), ...(task === undefined ? {} : { task }) };
  return [...accepted, ...steps(input, event).map((step) => ({ ...step, ...about }))];
}

function steps(input: HookInput, event: CapturedEvent): TraceStep[] {
  switch (event.kind) {
    case "prompt":
      return [{ kind: "prompt", input: truncateForTrace(event.prompt) }];
    case "tool-begins":
      return [
        {
          kind: "tool",
          name: label(event.name),
          content: "begins",
          input: truncateForTrace(event.input),
        },
      ];
    case "tool-ends":
      return [
        {
          kind: "tool",
          name: label(event.name),
          ok: event.ok,
          input: truncateForTrace(event.input),
          ...(event.output === undefined ? {} : { output: truncateForTrace(event.output) }),
          ...(event.ms === undefined || event.ms < 0 ? {} : { ms: event.ms }),
        },
      ];
    case "subagent-ends":
    case "turn-ends": {
      const message = event.message ?? lastMessage(event.transcript);
      if (message === undefined) return [];
      const name = event.kind === "turn-ends" ? "turn" : (input.subagent?.type ?? "subagent");
      return [{ kind: "result", name: label(name), output: truncateForTrace(message) }];
    }
  }
}

/** Maximum length of names and tags in a step. */
const MAX_LABEL_LENGTH = 128;
const label = (text: string): string =>
  text.slice(0, MAX_LABEL_LENGTH).toWellFormed().replaceAll("\0", "") || "-";

const DELIVERY = /\bdlv_[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/;

const isAcceptTool = (name: string): boolean => name.includes("baton") && /[_.]accept$/.test(name);

/** Matches a shell command such as `baton accept`, in whichever field of the tool's input it is. */
function isAcceptCommand(input: string): boolean {
  const at = input.search(/\bbaton\b/);
  return at !== -1 && /\baccept\b/.test(input.slice(at));
}

/**
 * Returns a step for the delivery that this tool call accepted, if any; later steps of the session belong
 * to its task. It is recognized by the text of the call, because the harness does not pass the session to
 * the MCP server.
 */
async function findAcceptedDelivery(
  hub: Hub,
  agent: Agent,
  { name, input, output }: Extract<HookEvent, { kind: "tool-ends" }>,
): Promise<TraceStep[]> {
  const [called, answered] = [JSON.stringify(input) ?? "", JSON.stringify(output) ?? ""];
  const isAccepting = isAcceptTool(name) || isAcceptCommand(called);
  const id = isAccepting ? DELIVERY.exec(answered)?.[0] : undefined;
  if (id === undefined) return [];
  const delivery = await deliveryOf(hub, id);
  if (delivery?.holder !== agent.id || delivery.state !== "accepted") return [];
  return [acceptedStepOf(delivery.id, delivery.task)];
}
