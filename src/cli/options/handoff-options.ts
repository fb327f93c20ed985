/** Options of a handoff (sender, receiver, content), shared by the commands that send and lint it. */

import type { Draft } from "../../envelope/schema.ts";
import type { Agent } from "../../hub/agent.ts";
import type { Hub } from "../../hub/hub.ts";
import type { Work } from "../../hub/work.ts";
import type { Command, OptionSpecs, OptionValues } from "../command.ts";
import { missingOption } from "../parse.ts";
import { usageError } from "../usage-error.ts";
import { SEEN_OPTION, workAt } from "../work-by-handle.ts";
import { withFiles } from "./artifacts.ts";
import { DRAFT_OPTIONS, draftOf } from "./draft.ts";
import { omitUndefined } from "./omit-undefined.ts";

/** Options of `handoff send` and `lint`. */
export const HANDOFF_OPTIONS = {
  as: { type: "text", value: "<agent>", help: "agent that sends it; must be registered" },
  to: {
    type: "text",
    value: "<receiver>",
    help: "receiver: an agent or role:<role> (default: by route)",
  },
  continue: {
    type: "text",
    value: "<handle>",
    help: "handle of the work to hand on; completes that work",
  },
  ...DRAFT_OPTIONS,
  ...SEEN_OPTION,
} as const satisfies OptionSpecs;

/** A draft, and the accepted work it continues (undefined: none). */
export interface HandoffRequest {
  readonly draft: Partial<Draft>;
  readonly work: Work | undefined;
}

type HandoffOptions = OptionValues<typeof HANDOFF_OPTIONS>;

/** Builds the draft before a store is opened; throws if sender or intent is missing. */
export function draftFromOptions(
  command: Command,
  intent: string | undefined,
  options: HandoffOptions,
): Partial<Draft> {
  const { as, to, continue: handle } = options;
  const draft = { ...draftOf(options), ...omitUndefined({ intent, to }) };
  if (handle === undefined && as === undefined) throw missingOption(command, "as");
  if (handle === undefined && draft.intent === undefined) throw noIntent(command);
  return draft;
}

/** Adds the files, and the constraints of the work that --continue names. */
export async function handoffRequestOf(
  hub: Hub,
  fields: Partial<Draft>,
  { as, continue: handle, seen, file }: HandoffOptions,
): Promise<HandoffRequest> {
  const draft = await withFiles(hub, fields, file);
  if (handle === undefined) return { draft, work: undefined };
  const work = await workAt(hub, handle, { as, seen });
  const constraints = [...work.envelope.constraints, ...(draft.constraints ?? [])];
  return { draft: { ...draft, constraints }, work };
}

function noIntent({ name }: Command) {
  return usageError(
    "intent",
    `baton ${name} needs <intent>: what the task is meant to achieve, in quotes.`,
    "Add the intent, or hand on accepted work with --continue, which keeps its intent.",
  );
}

/** Returns the draft with the fields that handing on adds, and the agent that would send it. */
export async function standaloneDraftOf(
  hub: Hub,
  as: string | undefined,
  { draft, work }: HandoffRequest,
): Promise<{ readonly sender: Agent; readonly draft: Draft }> {
  if (work === undefined) return { sender: await hub.agent(as ?? ""), draft: draft as Draft };
  const { intent, task, id, gaps = [] } = work.envelope;
  const { delivery } = await hub.deliveries.get(work.id);
  const missing = gaps.map((gap) => ({ id: gap.id, optional: true }));
  const refs = [...(draft.refs ?? []), ...missing];
  const whole = { intent, task, parents: [id], ...draft, refs } as Draft;
  return { sender: await hub.agent(as ?? delivery.holder ?? ""), draft: whole };
}
