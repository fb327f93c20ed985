/**
 * Settling: the receiver's part ends, with a result, a failure, a refusal, or by giving it back.
 * The settlement leaves a record that continues from the acceptance; what happens to the delivery
 * then is the policy's business.
 */
import * as z from "zod";
import { canonicalJson } from "../canonical.ts";
import { FreeForm } from "../envelope/schema.ts";
import { parseOr } from "../envelope/violations.ts";
import { FORMAT_LIMITS } from "../limits.ts";
import { type Author, type MemoryInput, writeRecord } from "../memory/record.ts";
import { refusalError } from "../memory/refusals.ts";
import type { DeliveryRow, EnvelopeRow, NewMemory } from "../store/rows.ts";
import type { Claimed, Settlement } from "../store/store.ts";
import type { Workspace } from "../store/workspace.ts";
import { leaseLost } from "./lease.ts";
import { afterFailure, afterRelease, FAILURE_CLASSES } from "./policy.ts";
import { TRANSITIONS } from "./transitions.ts";

const Text = z.string().min(1).max(FORMAT_LIMITS.textLength);

const ResultSchema = z.strictObject({
  confidence: z.number().min(0).max(1).optional(),
  /** What the envelope's expected outputs asked for, by name. */
  outputs: FreeForm.optional(),
  summary: Text.optional(),
});
export type Result = z.input<typeof ResultSchema>;

const FailureSchema = z.strictObject({
  attempted: Text.optional().meta({ description: "What was tried" }),
  class: z.enum(FAILURE_CLASSES).default("retryable"),
  hints: z.array(Text).max(FORMAT_LIMITS.listItems).default([]),
  message: Text,
  type: z.string().min(1).max(FORMAT_LIMITS.nameLength).default("error"),
});
export type Failure = z.input<typeof FailureSchema>;

export type Settled =
  | { readonly kind: "settled"; readonly delivery: DeliveryRow }
  /** The sender added to the handoff: look at the new envelope, then settle again. */
  | { readonly kind: "extended"; readonly envelope: EnvelopeRow };

export async function complete(
  workspace: Workspace,
  holder: Author,
  hold: Claimed,
  result: Result,
): Promise<Settled> {
  const checked = parseOr(ResultSchema, result, {
    code: "invalid_input",
    what: "The result",
    prefix: "result",
  });
  canonicalJson(checked, "invalid_input", "result"); // Faults are named as the caller wrote it.
  return settle(workspace, holder, hold, {
    verb: "complete",
    settlement: { kind: "completed" },
    reason: "",
    memory: {
      type: "action",
      content: checked.summary ?? `${holder.agent} completed "${hold.envelope.task}".`,
      ...(checked.outputs === undefined ? {} : { data: { outputs: checked.outputs } }),
      ...(checked.confidence === undefined ? {} : { confidence: checked.confidence }),
    },
  });
}

export async function fail(
  workspace: Workspace,
  holder: Author,
  hold: Claimed,
  failure: Failure,
): Promise<Settled> {
  const checked = parseOr(FailureSchema, failure, {
    code: "invalid_input",
    what: "The failure",
    prefix: "failure",
  });
  return settle(workspace, holder, hold, {
    verb: "fail",
    settlement: afterFailure(hold.delivery, { class: checked.class, random: workspace.random }),
    reason: canonicalJson(checked, "invalid_input", "failure"),
    memory: {
      type: "mistake",
      content: `${holder.agent} failed at "${hold.envelope.task}": ${checked.message}`,
      data: checked,
    },
  });
}

export async function decline(
  workspace: Workspace,
  holder: Author,
  hold: Claimed,
  reason: string,
): Promise<Settled> {
  const checked = parseOr(Text, reason, {
    code: "invalid_input",
    what: "The reason",
    prefix: "reason",
  });
  return settle(workspace, holder, hold, {
    verb: "decline",
    settlement: { kind: "declined" },
    reason: canonicalJson({ reason: checked }, "invalid_input", "reason"),
    memory: {
      type: "action",
      content: `${holder.agent} declined "${hold.envelope.task}": ${checked}`,
      data: { reason: checked },
    },
  });
}

/** Gives the work back: a counted try, and nothing on the chain. */
function release(workspace: Workspace, holder: Author, hold: Claimed): Promise<Settled> {
  return settle(workspace, holder, hold, {
    verb: "release",
    settlement: afterRelease(hold.delivery),
    reason: "",
  });
}

/** Gives the work back whatever the sender has added: the next holder gets it all. */
export async function releaseNewest(
  workspace: Workspace,
  holder: Author,
  hold: Claimed,
): Promise<DeliveryRow> {
  const outcome = await release(workspace, holder, hold);
  if (outcome.kind === "settled") return outcome.delivery;
  return releaseNewest(workspace, holder, { ...hold, envelope: outcome.envelope });
}

interface Ending {
  readonly verb: "complete" | "fail" | "decline" | "release";
  readonly settlement: Settlement;
  readonly reason: string;
  readonly memory?: MemoryInput;
}

async function settle(
  workspace: Workspace,
  holder: Author,
  hold: Claimed,
  ending: Ending,
): Promise<Settled> {
  const { delivery, envelope } = hold;
  const memory = ending.memory && settlementRecord(workspace, holder, hold, ending);
  const outcome = await workspace.store.settleDelivery({
    workspace: workspace.name,
    branch: workspace.branch,
    lease: {
      delivery: delivery.id,
      fence: delivery.fence,
      envelope: envelope.id,
      leaseMs: workspace.limits.leaseMs,
    },
    from: TRANSITIONS[ending.verb].from,
    settlement: ending.settlement,
    reason: ending.reason,
    ...(memory && { memory }),
  });
  switch (outcome.kind) {
    case "settled":
    case "extended":
      return outcome;
    case "lease_lost":
      throw leaseLost(delivery.id, outcome.delivery);
    default:
      throw await refusalError(workspace, outcome);
  }
}

/** Continues from the acceptance; of an offer that was never accepted, from the handoff. */
function settlementRecord(
  workspace: Workspace,
  holder: Author,
  { delivery, envelope }: Claimed,
  { verb, memory }: Ending,
): NewMemory {
  const { ids, clock, limits } = workspace;
  const to = delivery.state === "accepted" ? delivery.acceptedBy : envelope.memory;
  const trail = [{ attempt: delivery.attempt, delivery: delivery.id, verb }];
  return writeRecord(
    holder,
    { task: envelope.task, relations: [{ kind: "continues-from", to }], ...memory },
    { ids, now: clock.now(), limits, hallmark: { trail } },
  ).record;
}
