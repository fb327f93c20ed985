/** Who hands what over to whom, as the options say it: for sending it, showing it, and finding fault with it. */

import type { Draft } from "../../envelope/schema.ts";
import type { Agent } from "../../hub/agent.ts";
import type { Hub } from "../../hub/hub.ts";
import type { Work } from "../../hub/work.ts";
import type { Command, OptionSpecs, OptionValues } from "../command.ts";
import { mistake } from "../mistake.ts";
import { missingOption } from "../parse.ts";
import { SEEN_OPTION, workAt } from "../render/work.ts";
import { withFiles } from "./artifacts.ts";
import { DRAFT_OPTIONS, draftOf } from "./draft.ts";
import { given } from "./given.ts";

export const SENDING_OPTIONS = {
  as: { type: "text", value: "<agent>", help: "who sends it; must be registered" },
  to: { type: "text", value: "<receiver>", help: "an agent, role:<role>; else a route says" },
  continue: { type: "text", value: "<handle>", help: "the work this hands on, and so completes" },
  ...DRAFT_OPTIONS,
  ...SEEN_OPTION,
} as const satisfies OptionSpecs;

/** What is handed over, and the work it goes on from. */
export interface Sending {
  readonly draft: Partial<Draft>;
  readonly work: Work | undefined;
}

type SendingOptions = OptionValues<typeof SENDING_OPTIONS>;

/** What the options say, before a store is opened for it. */
export function saidOf(
  command: Command,
  intent: string | undefined,
  options: SendingOptions,
): Partial<Draft> {
  const { as, to, continue: handle } = options;
  const draft = { ...draftOf(options), ...given({ intent, to }) };
  if (handle === undefined && as === undefined) throw missingOption(command, "as");
  if (handle === undefined && draft.intent === undefined) throw noIntent(command);
  return draft;
}

export async function sendingOf(
  hub: Hub,
  said: Partial<Draft>,
  { as, continue: handle, seen, file }: SendingOptions,
): Promise<Sending> {
  const draft = await withFiles(hub, said, file);
  if (handle === undefined) return { draft, work: undefined };
  const work = await workAt(hub, handle, { as, seen });
  const constraints = [...work.envelope.constraints, ...(draft.constraints ?? [])];
  return { draft: { ...draft, constraints }, work };
}

function noIntent({ name }: Command) {
  return mistake(
    "intent",
    `baton ${name} needs <intent>: what the user wants, in quotes.`,
    "Only work that is handed on (--continue) has one already.",
  );
}

/** The same as a draft of its own, with what handing on adds, and the agent that would send it. */
export async function draftedBy(
  hub: Hub,
  as: string | undefined,
  { draft, work }: Sending,
): Promise<{ readonly sender: Agent; readonly draft: Draft }> {
  if (work === undefined) return { sender: await hub.agent(as ?? ""), draft: draft as Draft };
  const { intent, task, id, gaps = [] } = work.envelope;
  const { delivery } = await hub.deliveries.get(work.id);
  const missing = gaps.map((gap) => ({ id: gap.id, optional: true }));
  const refs = [...(draft.refs ?? []), ...missing];
  const whole = { intent, task, parents: [id], ...draft, refs } as Draft;
  return { sender: await hub.agent(as ?? delivery.holder ?? ""), draft: whole };
}
