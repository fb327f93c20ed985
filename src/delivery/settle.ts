/**
 * Settling: the receiver's part ends, with a result, a failure, a refusal, or by giving it back.
 * The settlement leaves a record that continues from the acceptance; what happens to the delivery
 * then is the policy's business.
 */
import * as z from "zod";
import { canonicalJson } from "../canonical.ts";
import { stillMissing } from "../context/gaps.ts";
import type { ViewGap } from "../context/view.ts";
import { parseOr } from "../envelope/violations.ts";
import { FORMAT_LIMITS } from "../limits.ts";
import { type Author, type MemoryInput, writeRecord } from "../memory/record.ts";
import { refusalError } from "../memory/refusals.ts";
import { expectedOf, frameOf, gapsOf } from "../store/parse-envelope.ts";
import { type DeliveryRow, type EnvelopeRow, isOpen, type NewMemory } from "../store/rows.ts";
import type { Claimed, SettleDelivery, Settlement, SettleOutcome } from "../store/store.ts";
import { trunkOf, type Workspace } from "../store/workspace.ts";
import { exhausted, giveUp } from "./due.ts";
import { followUp } from "./follow-up.ts";
import { openJoinsOf } from "./join.ts";
import { leaseLost } from "./lease.ts";
import { afterFailure, afterRelease, FAILURE_CLASSES, isLast, type Tried } from "./policy.ts";
import { nextInLine } from "./receivers.ts";
import { type CheckedResult, checkResult, type Result, requireExpected } from "./result.ts";
import { TRANSITIONS } from "./transitions.ts";
import { afterClosing, forWork, mergeAfter, type WorkMerge } from "./work-branch.ts";

const Text = z.string().min(1).max(FORMAT_LIMITS.textLength);

const FailureSchema = z.strictObject({
  attempted: Text.optional().meta({ description: "What was tried" }),
  class: z.enum(FAILURE_CLASSES).default("retryable"),
  hints: z.array(Text).max(FORMAT_LIMITS.listItems).default([]),
  message: Text,
  type: z.string().min(1).max(FORMAT_LIMITS.nameLength).default("error"),
});
export type Failure = z.input<typeof FailureSchema>;

export type Settled =
  | {
      readonly kind: "settled";
      readonly delivery: DeliveryRow;
      /** What came of merging its branch, when completing it was to do that. */
      readonly merge?: WorkMerge;
    }
  /** The sender added to the handoff: look at the new envelope, then settle again. */
  | { readonly kind: "extended"; readonly envelope: EnvelopeRow };

/** A piece of work, and what its holder found missing besides what the envelope says. */
export interface Held extends Claimed {
  readonly gaps?: readonly ViewGap[];
}

export async function complete(
  workspace: Workspace,
  holder: Author,
  { gaps: found = [], ...hold }: Held,
  result: Result,
): Promise<Settled> {
  const checked = checkResult(result);
  const { summary, confidence, criteria, outcome, outputs } = checked;
  // Nothing is waited for where nothing is expected: a hub that is closed next still completes it.
  const unmet = heldAgainst(workspace, hold, checked);
  if (unmet !== undefined) await unmet;
  const known = [...gapsOf(workspace, hold.envelope), ...found];
  const gaps = known.length === 0 ? known : await stillMissing(workspace, known);
  const data = {
    ...(criteria && { criteria }),
    ...(gaps.length > 0 && { gaps }),
    ...(outcome && { outcome }),
    ...(outputs && { outputs }),
  };
  const settled = await settle(workspace, holder, hold, {
    verb: "complete",
    settlement: { kind: "completed" },
    reason: "",
    memory: {
      type: "action",
      content: summary ?? `${holder.agent} completed "${hold.envelope.task}".`,
      ...(Object.keys(data).length === 0 ? {} : { data }),
      ...(confidence === undefined ? {} : { confidence }),
    },
  });
  if (settled.kind !== "settled") return settled;
  const merge = await mergeAfter(workspace, holder, hold.envelope);
  return merge === undefined ? settled : { ...settled, merge };
}

/** The result, when it is one, and what the handoff expects. */
export async function resultFor(
  workspace: Workspace,
  { envelope }: Pick<Claimed, "envelope">,
  result: Result,
): Promise<CheckedResult> {
  const checked = checkResult(result);
  await heldAgainst(workspace, { envelope }, checked);
  return checked;
}

/** Undefined where the handoff expects nothing. */
function heldAgainst(
  workspace: Workspace,
  { envelope }: Pick<Claimed, "envelope">,
  result: CheckedResult,
): Promise<void> | undefined {
  const expects = expectedOf(workspace, envelope);
  return expects.length === 0 ? undefined : requireExpected(workspace, expects, result);
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
  const { class: failureClass } = checked;
  return settle(workspace, holder, hold, {
    verb: "fail",
    settlement: afterFailure(triedOf(workspace, hold), {
      class: failureClass,
      random: workspace.random,
    }),
    permanent: checked.class === "permanent",
    reason: canonicalJson(checked, "invalid_input", "failure"),
    memory: {
      type: "mistake",
      content: `${holder.agent} failed at "${hold.envelope.task}": ${checked.message}`,
      data: checked,
    },
  });
}

/** The work as far as its policy goes. */
function triedOf({ clock }: Workspace, { delivery, envelope }: Claimed): Tried {
  const { attempt, maxAttempts, state, receiver, lapseAt } = delivery;
  const leftMs = lapseAt === 0 ? 0 : Math.max(1, lapseAt - clock.now());
  const sealed = frameOf(envelope);
  const hasFallback = nextInLine(sealed, receiver) !== undefined;
  return { attempt, maxAttempts, state, policy: sealed.policy, hasFallback, leftMs };
}

/** Asks the sender: the work waits for the answer, and whoever takes it up then has it. */
export async function ask(
  workspace: Workspace,
  holder: Author,
  hold: Claimed,
  question: string,
): Promise<Settled> {
  return settle(workspace, holder, hold, {
    verb: "ask",
    settlement: { kind: "asked" },
    ...saying("question", question, {
      type: "question",
      content: `${holder.agent} asks ${hold.delivery.sender} about "${hold.envelope.task}"`,
    }),
  });
}

export async function decline(
  workspace: Workspace,
  holder: Author,
  hold: Claimed,
  reason: string,
): Promise<Settled> {
  return settle(workspace, holder, hold, {
    verb: "decline",
    settlement: { kind: "declined" },
    ...saying("reason", reason, {
      type: "action",
      content: `${holder.agent} declined "${hold.envelope.task}"`,
    }),
  });
}

/** What the holder says, for the attempt and for the chain. */
function saying(
  field: "question" | "reason",
  text: string,
  { type, content }: { readonly type: string; readonly content: string },
): Pick<Ending, "reason" | "memory"> {
  const how = { code: "invalid_input", what: `The ${field}`, prefix: field } as const;
  const said = { [field]: parseOr(Text, text, how) };
  return {
    reason: canonicalJson(said, "invalid_input", field),
    memory: { type, content: `${content}: ${text}`, data: said },
  };
}

/** Gives the work back: a counted try, and nothing on the chain. */
function release(workspace: Workspace, holder: Author, hold: Claimed): Promise<Settled> {
  return settle(workspace, holder, hold, {
    verb: "release",
    settlement: afterRelease(triedOf(workspace, hold)),
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
  readonly verb: "complete" | "fail" | "decline" | "release" | "ask";
  readonly settlement: Settlement;
  readonly reason: string;
  readonly memory?: MemoryInput;
  /** Another try could not mend it: no mark against the receiver. */
  readonly permanent?: boolean;
}

async function settle(
  workspace: Workspace,
  holder: Author,
  hold: Claimed,
  ending: Ending,
): Promise<Settled> {
  const { delivery, envelope } = hold;
  const memory = ending.memory && settlementRecord(workspace, holder, hold, ending);
  const outcome = await settleOn(workspace, forWork(workspace, envelope).branch, {
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
      await followUp(`${ending.verb} ${delivery.id}`, () =>
        afterwards(trunkOf(workspace), { delivery: outcome.delivery, envelope }, ending),
      );
      return outcome;
    case "extended":
      return outcome;
    case "lease_lost":
      throw leaseLost(delivery.id, outcome.delivery);
    default:
      throw await refusalError(workspace, outcome);
  }
}

/** On the branch of the work; where that was closed meanwhile, where it has gone. */
async function settleOn(
  workspace: Workspace,
  branch: string,
  settling: Omit<SettleDelivery, "branch" | "workspace">,
): Promise<SettleOutcome> {
  const { store, name } = workspace;
  const outcome = await store.settleDelivery({ workspace: name, branch, ...settling });
  if (outcome.kind !== "branch_closed") return outcome;
  const { branch: open } = await afterClosing(workspace, outcome.branch);
  return settleOn(workspace, open, settling);
}

/**
 * What follows from an ending: the next receiver, a strike against this one, a join that opens. It is
 * settled by now, whatever happens here: what the store does not take now is due, or lost as a mark
 * against a receiver only.
 */
async function afterwards(
  workspace: Workspace,
  ended: Claimed,
  { permanent = false }: Ending,
): Promise<void> {
  const { delivery } = ended;
  if (delivery.state === "scheduled" && isLast(delivery)) await giveUp(workspace, ended);
  else if (delivery.state === "dead") {
    await exhausted(workspace, ended, { parked: true, permanent });
  } else if (delivery.followers !== "" && !isOpen(delivery.state)) {
    await openJoinsOf(workspace, delivery);
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
