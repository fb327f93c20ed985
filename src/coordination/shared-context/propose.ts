/**
 * Proposes a change of the shared context: an agent that may not write it sends the change to one that may.
 * The proposal is a handoff with the change as its payload, so it waits, is retried and is recorded like any
 * other. The receiver is informed of the decisions it contradicts.
 */

import * as z from "zod";
import { clip } from "../../base/clip.ts";
import { sha256 } from "../../base/digest.ts";
import { FORMAT_LIMITS } from "../../base/limits.ts";
import type { Worker } from "../../delivery/receive/worker.ts";
import type { SentHandoff } from "../../delivery/send/idempotency-key.ts";
import type { Sender } from "../../delivery/send/plan.ts";
import { sendHandoff } from "../../delivery/send/send.ts";
import { CONTEXT_CHANGE_TYPE, PROPOSED_ACTION } from "../../envelope/built-in-actions.ts";
import { parseOrThrow } from "../../envelope/violations.ts";
import { redactSecrets } from "../../memory/redaction/secret-policy.ts";
import { type Contradiction, contradictionsOf } from "../../shared-context/contradictions.ts";
import { contextConflict, notInContext } from "../../shared-context/errors.ts";
import {
  CONTEXT_SECTIONS,
  type ContextInput,
  ContextItemSchema,
  ContextKey,
  itemTextOf,
  nameOf,
} from "../../shared-context/items.ts";
import { keeperRole } from "../../shared-context/keepers.ts";
import { type ItemName, readItemSnapshot } from "../../shared-context/stored-items.ts";
import { findReplacedDecision, liveDecisions } from "../../shared-context/write.ts";
import { onMainBranch, type Workspace } from "../../workspace/workspace.ts";

/** The section and key of an item. */
export const ItemNameSchema = z.strictObject({
  section: z.enum(CONTEXT_SECTIONS),
  key: ContextKey,
});

/** A proposal to retire an item. */
export const RetireSchema = ItemNameSchema.extend({ retire: z.literal(true) });

/** What is proposed: an item as it should be, or the retirement of one. */
export type ContextProposal = ContextInput | (ItemName & { readonly retire: true });

const Reason = z.string().min(1).max(FORMAT_LIMITS.lineLength);
/** The version of an item that a change is based on. */
export const BasedOn = z.int().positive();

/** Options of `context.propose()`. */
export const ProposeSchema = z.strictObject({
  /** The version of the item that was read. Required unless the item is new. */
  basedOn: BasedOn.optional(),
  reason: Reason,
});

export type ProposeOptions = z.input<typeof ProposeSchema>;

/** The payload of a proposal. */
export const ProposalPayloadSchema = z.strictObject({
  basedOn: BasedOn.optional(),
  change: z.union([RetireSchema, ContextItemSchema]),
  reason: Reason,
});

export type ProposalPayload = z.output<typeof ProposalPayloadSchema>;

/** A proposal that was sent. */
interface SentProposal {
  readonly sent: SentHandoff<ProposalPayload>;
  /** Active decisions that it contradicts; adopting it requires naming them. */
  readonly contradictions: readonly Contradiction[];
}

/**
 * Sends a proposal. Throws `context_conflict` if the item was changed, `not_in_context` if the item to retire
 * does not exist, and `invalid_input`.
 */
export async function propose(
  workspace: Workspace,
  sender: Worker,
  given: ContextProposal,
  options: ProposeOptions,
): Promise<SentProposal> {
  // Redacts first, because a shortened secret can no longer be recognized.
  const { proposal, options: asked } = await redactSecrets(workspace, { proposal: given, options });
  const { basedOn, reason } = parseOrThrow(ProposeSchema, asked, {
    code: "invalid_input",
    what: "The proposal",
  });
  const isRetiring = Object.hasOwn(Object(proposal), "retire");
  const change = parseOrThrow(isRetiring ? RetireSchema : ContextItemSchema, proposal, {
    code: "invalid_input",
    what: "The change",
  });
  const trunk = onMainBranch(workspace);
  await refuseStale(trunk, change, basedOn);
  if (!("retire" in change)) await findReplacedDecision(trunk, { kind: "set", item: change });
  const contradictions =
    "retire" in change || change.section !== "decisions"
      ? []
      : contradictionsOf(change, await liveDecisions(trunk));
  const role = await keeperRole(trunk);
  const data: ProposalPayload = { change, reason, ...(basedOn !== undefined && { basedOn }) };
  const draft = {
    to: `role:${role}`,
    task: taskOf(sender.agent, change, basedOn),
    action: PROPOSED_ACTION,
    intent: clip(intentOf(change), FORMAT_LIMITS.intentLength),
    state: clip(
      [reason, ...contradictions.map(contradictionLine)].join("\n"),
      FORMAT_LIMITS.textLength,
    ),
    next: ["Adopt it (context adopt), or decline it with the reason"],
    payload: { type: CONTEXT_CHANGE_TYPE, data },
    // A declined proposal is an answer, not a failure that needs a decision.
    policy: { exhausted: "park" as const },
  };
  const outcome = await sendHandoff<ProposalPayload>(trunk, sender as Sender, draft, {});
  if (outcome.kind !== "sent") throw new Error("a proposal outside a lease cannot lose one");
  return { sent: outcome, contradictions };
}

/** Refuses an outdated proposal before the receiver spends time on it. */
async function refuseStale(
  workspace: Workspace,
  change: ProposalPayload["change"],
  basedOn: number | undefined,
): Promise<void> {
  const { live } = await readItemSnapshot(workspace, change);
  const now = live.kept?.version;
  const { section, key } = change;
  if (now === undefined && "retire" in change)
    throw await notInContext(workspace, { section, key });
  if (now !== basedOn) throw await contextConflict(workspace, { section, key }, { now, basedOn });
}

/** One task per agent, item and version: proposing again extends the waiting handoff. */
function taskOf(agent: string, change: ItemName, basedOn = 0): string {
  return `context ${nameOf(change)}@${basedOn} ${sha256(agent).slice(0, 8)}`;
}

function intentOf(change: ProposalPayload["change"]): string {
  if ("retire" in change) return `Retire ${nameOf(change)} from the shared context.`;
  return `Change ${nameOf(change)} in the shared context to: ${itemTextOf(change)}`;
}

const contradictionLine = ({ key, choice, by, why }: Contradiction): string =>
  `Contradicts the decision ${key} ("${choice}", by ${by}): ${why}. To adopt it, pass despite: ["${key}"].`;
