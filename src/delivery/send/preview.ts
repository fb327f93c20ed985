/**
 * Previews a handoff: the envelope as it would be sealed and the view its receiver would get, without sending
 * or writing anything. For a role the view uses the role's profile, because the agent that will claim it is
 * not known yet.
 */

import { FORMAT_LIMITS } from "../../base/limits.ts";
import { composeView, type ViewOptions } from "../../context/view/compose.ts";
import { addressedReceiver } from "../../context/view/receiver.ts";
import type { View } from "../../context/view/view.ts";
import { addressOf, type DraftOf, type EnvelopeOf } from "../../envelope/schema.ts";
import { beginningOf } from "../../ledger/brief.ts";
import { readHandoffLedger } from "../../ledger/handoff-ledger.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import { type Plan, planHandoff, type Sender } from "./plan.ts";
import { prepare } from "./prepare.ts";
import { requireRegistered } from "./require-registered.ts";

/** A handoff as it would be sent. */
export interface Preview<T = unknown> {
  /** What the receiver would get. */
  readonly view: View;
  /** The envelope as it would be sealed; its id and time are those of this preview. */
  readonly envelope: EnvelopeOf<T>;
  /** The receiver's address. */
  readonly to: string;
}

/**
 * Returns the preview of a handoff. Checks draft and registry as sending does, but not lint, keys or inbox
 * limits.
 */
export async function preview<T>(
  workspace: Workspace,
  sender: Sender,
  draft: DraftOf<T>,
  options: ViewOptions = {},
): Promise<Preview<T>> {
  const planned = await planHandoff(workspace, sender, draft, {});
  await requireRegistered(workspace, sender, planned);
  const plan = withoutBrief(workspace, planned);
  const line = await readHandoffLedger(workspace, sender, plan);
  const round = { open: undefined, breaker: 0, inboxes: plan.inboxes, line };
  const { envelope } = prepare(workspace, sender, plan, round).sealed;
  const receiver = await addressedReceiver(workspace, plan.to);
  const view = await composeView(workspace, receiver, { envelope }, options);
  return { view, envelope: envelope as EnvelopeOf<T>, to: addressOf(plan.to) };
}

/**
 * Shortens a long intent. Sending would store it as a record first; here a placeholder id names that record.
 */
function withoutBrief({ ids }: Workspace, plan: Plan): Plan {
  const { draft } = plan;
  if (draft.intent.length <= FORMAT_LIMITS.intentLength) return plan;
  return { ...plan, draft: { ...draft, intent: beginningOf(draft.intent, ids.mint("memory")) } };
}
