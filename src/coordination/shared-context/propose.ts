/**
 * Proposes a change of the shared context, or a quarantine: an agent that may not make it sends it to one that
 * may.
 * The proposal is a handoff with the change as its payload, so it waits, is retried and is recorded like any
 * other. The receiver is informed of the decisions it contradicts.
 */

import * as z from "zod";
import { clip } from "../../base/clip.ts";
import { canonicalJson, sha256 } from "../../base/digest.ts";
import { BatonError } from "../../base/errors.ts";
import { FORMAT_LIMITS } from "../../base/limits.ts";
import type { Worker } from "../../delivery/receive/worker.ts";
import type { SentHandoff } from "../../delivery/send/idempotency-key.ts";
import type { Sender } from "../../delivery/send/plan.ts";
import { sendHandoff } from "../../delivery/send/send.ts";
import { CONTEXT_CHANGE_TYPE, PROPOSED_ACTION } from "../../envelope/built-in-actions.ts";
import { parseOrThrow } from "../../envelope/violations.ts";
import { keeperRole } from "../../memory/keepers.ts";
import {
  type QuarantineTarget,
  QuarantineTargetSchema,
  quarantineTargets,
} from "../../memory/quarantine/quarantine.ts";
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

/** A proposal to quarantine memories. */
export const QuarantineProposalSchema = z.strictObject({
  quarantine: QuarantineTargetSchema,
  /** Whether to include everything that builds on the memories. Default: false. */
  downstream: z.boolean().optional(),
});

/** What is proposed: an item as it should be, the retirement of one, or a quarantine. */
export type ContextProposal =
  | ContextInput
  | (ItemName & { readonly retire: true })
  | { readonly quarantine: QuarantineTarget; readonly downstream?: boolean | undefined };

const Reason = z.string().min(1).max(FORMAT_LIMITS.lineLength);
/** The version of an item that a change is based on. */
export const BasedOn = z.int().positive();

/** Options of `context.propose()`. */
export const ProposeSchema = z.strictObject({
  /** The version of the item that was read. Required unless the item is new; not for a quarantine. */
  basedOn: BasedOn.optional(),
  reason: Reason,
});

export type ProposeOptions = z.input<typeof ProposeSchema>;

/** The payload of a proposal. */
export const ProposalPayloadSchema = z.strictObject({
  basedOn: BasedOn.optional(),
  change: z.union([RetireSchema, QuarantineProposalSchema, ContextItemSchema]),
  reason: Reason,
});

export type ProposalPayload = z.output<typeof ProposalPayloadSchema>;
type Change = ProposalPayload["change"];
export type QuarantineProposal = z.output<typeof QuarantineProposalSchema>;
/** A proposal to write or retire an item. */
export type ItemProposal = Exclude<Change, QuarantineProposal>;

/** A proposal that was sent. */
interface SentProposal {
  readonly sent: SentHandoff<ProposalPayload>;
  /** Active decisions that it contradicts; adopting it requires naming them. */
  readonly contradictions: readonly Contradiction[];
}

/**
 * Sends a proposal. Throws `context_conflict` if the item was changed, `not_in_context` if the item to retire
 * does not exist, `unknown_memory` if a memory to quarantine does not exist, and `invalid_input`.
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
  const change = parseOrThrow(schemaOf(proposal), proposal, {
    code: "invalid_input",
    what: "The change",
  });
  const trunk = onMainBranch(workspace);
  const contradictions = await checkProposal(trunk, change, basedOn);
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

/** Picks the schema by the field that only one kind of proposal has, so that errors name its fields. */
function schemaOf(proposal: unknown): z.ZodType<Change> {
  const fields = Object(proposal);
  if (Object.hasOwn(fields, "quarantine")) return QuarantineProposalSchema;
  return Object.hasOwn(fields, "retire") ? RetireSchema : ContextItemSchema;
}

/** Refuses what could not be adopted, and returns the active decisions that the change contradicts. */
async function checkProposal(
  workspace: Workspace,
  change: Change,
  basedOn: number | undefined,
): Promise<readonly Contradiction[]> {
  if ("quarantine" in change) {
    if (basedOn !== undefined) throw basedOnWithoutItem();
    await quarantineTargets(workspace, change.quarantine);
    return [];
  }
  await refuseStale(workspace, change, basedOn);
  if ("retire" in change) return [];
  await findReplacedDecision(workspace, { kind: "set", item: change });
  return change.section === "decisions"
    ? contradictionsOf(change, await liveDecisions(workspace))
    : [];
}

const basedOnWithoutItem = (): BatonError =>
  new BatonError("invalid_input", {
    message: "basedOn is the version of an item; a quarantine is not based on one.",
    path: "basedOn",
    hint: "Omit basedOn.",
  });

/** Refuses an outdated proposal before the receiver spends time on it. */
async function refuseStale(
  workspace: Workspace,
  change: ItemProposal,
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
function taskOf(agent: string, change: Change, basedOn = 0): string {
  const what =
    "quarantine" in change
      ? `quarantine ${sha256(canonicalJson(change, "invalid_input")).slice(0, 8)}`
      : `${nameOf(change)}@${basedOn}`;
  return `context ${what} ${sha256(agent).slice(0, 8)}`;
}

function intentOf(change: Change): string {
  if ("quarantine" in change) {
    const more = change.downstream ? " and everything that builds on it" : "";
    return `Quarantine ${targetText(change.quarantine)}${more}.`;
  }
  if ("retire" in change) return `Retire ${nameOf(change)} from the shared context.`;
  return `Change ${nameOf(change)} in the shared context to: ${itemTextOf(change)}`;
}

function targetText(target: QuarantineTarget): string {
  if (typeof target === "string") return target;
  if (Array.isArray(target)) return target.join(", ");
  const { since, ...author } = target as Exclude<QuarantineTarget, string | readonly string[]>;
  const from = since === undefined ? "" : ` since ${new Date(since).toISOString()}`;
  const [[kind, name] = ["", ""]] = Object.entries(author);
  return `what the ${kind} ${name} wrote${from}`;
}

const contradictionLine = ({ key, choice, by, why }: Contradiction): string =>
  `Contradicts the decision ${key} ("${choice}", by ${by}): ${why}. To adopt it, pass despite: ["${key}"].`;
