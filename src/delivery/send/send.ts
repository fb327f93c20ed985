/**
 * Sends a handoff: plans and prepares it, and stores handoff record, envelope, deliveries and events in one
 * operation. Sending the same work again extends it; sending again with the same key returns the original.
 */

import { BatonError } from "../../base/errors.ts";
import { lintSent } from "../../context/lint/lint-sent.ts";
import {
  cachedLintRules,
  enforceLintRules,
  refuseRepeats,
} from "../../context/lint/lint-settings.ts";
import type { AllLintRules } from "../../context/lint/rule.ts";
import type { DraftOf, EnvelopeOf } from "../../envelope/schema.ts";
import { KEY } from "../../history/key-entry.ts";
import { refuseClosed } from "../../ledger/closed-tasks.ts";
import { readHandoffLedger } from "../../ledger/handoff-ledger.ts";
import { resolveLedger } from "../../ledger/ledger.ts";
import { workspaceAfterClosing } from "../../memory/branches/work-branch.ts";
import {
  redactSecretsAfterwards,
  runWithoutSecrets,
  withSecrets,
} from "../../memory/redaction/secret-policy.ts";
import { refusalError } from "../../memory/refusals.ts";
import { SYSTEM } from "../../memory/system-author.ts";
import { WORK } from "../../memory/work-entry.ts";
import { parseEnvelope } from "../../store/parse-envelope.ts";
import type { EntryRow } from "../../store/rows.ts";
import type { LeaseRefusal, SendOutcome } from "../../store/store.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import { missingParent } from "../due/moves.ts";
import { checkBreaker, circuitOpen } from "../settings/breaker.ts";
import { nextFallback, receiverError, withoutDisabled } from "../settings/receivers.ts";
import { findKeyEntry, readOriginalHandoff, type SentHandoff } from "./idempotency-key.ts";
import { withInboxCapacity } from "./inbox-capacity.ts";
import {
  type Plan,
  pendingDependencies,
  planHandoff,
  type Sender,
  type SendOptions,
} from "./plan.ts";
import { type OpenWork, type PreparedHandoff, prepare, type Round } from "./prepare.ts";
import { findRepeatsOfPlan } from "./repeats.ts";
import { requireRegistered } from "./require-registered.ts";
import { cacheWork } from "./work-entry.ts";

/** In each round another process changed the same work; ten in a row mean that something is wrong. */
const ROUNDS = 10;
/** When this many lines add to one ledger at the same time, one of them succeeds in each round. */
const LEDGER_ROUNDS = 1_000;

/**
 * Sends a handoff, after applying the secret policy. Returns the refusal if the lease of the sender's work
 * was lost or the work was extended; throws for every other refusal.
 */
export async function sendHandoff<T>(
  workspace: Workspace,
  sender: Sender,
  draft: DraftOf<T>,
  sending: SendOptions = {},
): Promise<SentHandoff<T> | LeaseRefusal> {
  // The hub repeats what agents wrote before and must not be refused: it redacts without refusing.
  if (sender.agent === SYSTEM) {
    return planAndSend(workspace, sender, await redactSecretsAfterwards(workspace, draft), sending);
  }
  return runWithoutSecrets(workspace, draft, (redactedDraft, redacted) =>
    runWithoutSecrets(
      workspace,
      { result: sending.completes },
      async ({ result: completes }, inResult) => {
        const secrets = [...redacted, ...inResult];
        const sent = await planAndSend(workspace, sender, redactedDraft, {
          ...sending,
          completes,
          redacted,
        });
        return sent.kind === "sent" ? withSecrets(sent, secrets) : sent;
      },
    ),
  );
}

async function planAndSend<T>(
  workspace: Workspace,
  sender: Sender,
  draft: DraftOf<T>,
  sending: SendOptions,
): Promise<SentHandoff<T> | LeaseRefusal> {
  const plan = await planHandoff(workspace, sender, draft, sending);
  // For work that is handed on, the lease is checked first; what it releases is off the ledger by then.
  const isAsked = sender.work === undefined || plan.draft.releases.length > 0;
  const used = isAsked ? await findKeyEntry(workspace, sender, plan) : undefined;
  if (used !== undefined) return readSentBefore(workspace, plan, used);
  refuseClosedTask(plan);
  await requireRegistered(workspace, sender, plan);
  const rules = await enforceLintRules(workspace, sender, plan);
  const [inbox] = plan.inboxes;
  const send = () => sendPlanned<T>(workspace, sender, plan, rules);
  if (plan.to.kind === "channel" || inbox === undefined) return send(); // A full inbox must not block others.
  return withInboxCapacity(workspace, inbox, send);
}

/** Returns the handoff of a key that was used before, with its current lint findings. */
const readSentBefore = async <T>(workspace: Workspace, plan: Plan, entry: EntryRow | undefined) =>
  readOriginalHandoff<T>(workspace, plan, { entry, rules: await cachedLintRules(workspace) });

async function sendPlanned<T>(
  workspace: Workspace,
  sender: Sender,
  planned: Plan,
  rules: AllLintRules,
): Promise<SentHandoff<T> | LeaseRefusal> {
  let where = workspace;
  let plan = planned;
  const line = await readHandoffLedger(workspace, sender, plan);
  const entries = await plan.sending.entries?.();
  let earlier = await findRepeatsOfPlan(workspace, sender, plan);
  refuseRepeats(rules, earlier.repeats);
  const { inboxes } = plan;
  let round: Round = { open: undefined, breaker: 0, inboxes, line, entries, work: earlier.slot };
  let overtaken = 0;
  for (let n = 0; n < ROUNDS && overtaken < LEDGER_ROUNDS; n++) {
    const prepared = prepare(where, sender, plan, round);
    if (prepared.stopped && round.isCoordinated === undefined) {
      const { envelope } = prepared.sealed;
      const isCoordinated = await workspace.duties.isCoordinated(workspace, envelope);
      round = { ...round, isCoordinated };
      n--; // Nothing was sent yet, so this round does not count.
      continue;
    }
    const outcome = await workspace.store.sendHandoff(prepared.operation);
    switch (outcome.kind) {
      case "sent":
        if (earlier.slot !== undefined) cacheWork(workspace, earlier.slot.name);
        return sentHandoffOf(prepared, outcome, {
          open: round.open,
          repeats: earlier.repeats,
          lint: lintSent(workspace, rules, prepared.sealed.envelope, earlier.repeats),
        });
      case "extended":
        return outcome;
      case "lease_lost": {
        // The reply may have been lost: in that case this very handoff has ended the work.
        const used = await findKeyEntry(workspace, sender, plan);
        return used === undefined ? outcome : readSentBefore(workspace, plan, used);
      }
      case "changed":
        round = { ...round, open: await readOpenWork(workspace, outcome) };
        break;
      case "breaker_changed":
        round = { ...round, ...(await passBreakerOrFallback(workspace, plan, round, outcome)) };
        break;
      case "entry_changed":
        if (outcome.entry?.kind === KEY) return readSentBefore(workspace, plan, outcome.entry);
        if (outcome.entry?.kind === WORK) cacheWork(workspace, outcome.entry.name);
        plan = await planAgain(workspace, sender, plan);
        earlier = await findRepeatsOfPlan(workspace, sender, plan);
        refuseRepeats(rules, earlier.repeats);
        round = {
          ...round,
          line: await readHandoffLedger(workspace, sender, plan),
          entries: await plan.sending.entries?.(),
          work: earlier.slot,
        };
        overtaken++;
        n--; // Counted separately.
        break;
      case "branch_closed":
        // Held work can still be handed on, on the branch that its own was merged into.
        if (sender.work === undefined) throw await sendError(workspace, outcome);
        where = await workspaceAfterClosing(workspace, outcome.branch);
        break;
      default:
        round = { ...round, inboxes: await reachableInboxes(workspace, plan, round, outcome) };
    }
  }
  throw new BatonError("store_busy", {
    message: `The handoff of "${plan.task}" was not sent: other writers changed the same work too often.`,
    hint: "Retry the call.",
  });
}

/**
 * Resolves the ledger again after another line of the task has added to it, released an item or closed it.
 */
async function planAgain(workspace: Workspace, sender: Sender, plan: Plan): Promise<Plan> {
  const family = await resolveLedger(workspace, plan.task, plan.family.from);
  const again = {
    ...plan,
    family,
    after: await pendingDependencies(workspace, sender, { ...plan, family }),
  };
  refuseClosedTask(again);
  return again;
}

/** Refuses a closed task. A failure report is sent anyway, because that is how its task gets a decision. */
function refuseClosedTask({ family, sending }: Plan): void {
  if (sending.failure === undefined) refuseClosed(family);
}

/** Returns the inboxes without one that cannot be reached: the other subscribers, or the next fallback. */
async function reachableInboxes(
  workspace: Workspace,
  plan: Plan,
  { inboxes }: Round,
  outcome: SendRefusal,
): Promise<readonly string[]> {
  const isDisabled = outcome.kind === "receiver_disabled";
  if (isDisabled && isForSubscribers(plan)) {
    return withoutDisabled(workspace, plan.to.channel, inboxes);
  }
  const isRerouted = inboxes[0] !== plan.inboxes[0];
  const next = isDisabled && isRerouted && nextFallback(fallbackPolicyOf(plan), inboxes[0] ?? "");
  if (!next) throw await sendError(workspace, outcome);
  return [next];
}

const fallbackPolicyOf = ({ to, sealedPolicy }: Plan) => ({ to, policy: sealedPolicy });

type Publication = Plan & { readonly to: { readonly kind: "channel" } };

const isForSubscribers = (plan: Plan): plan is Publication =>
  plan.to.kind === "channel" && plan.sending.receivers === undefined;

/** Returns the work that this handoff extends; undefined if it is new work after all. */
async function readOpenWork(
  workspace: Workspace,
  { open }: Extract<SendOutcome, { kind: "changed" }>,
): Promise<OpenWork | undefined> {
  if (open === undefined) return undefined;
  const found = await workspace.store.findDelivery(workspace.name, open.delivery.id);
  return { ...open, envelope: found && parseEnvelope(workspace, found.envelope) };
}

/**
 * Handles an open circuit breaker: passes as a probe, or goes to the next fallback. Throws `circuit_open`.
 */
async function passBreakerOrFallback(
  workspace: Workspace,
  plan: Plan,
  { inboxes }: Round,
  { entry }: Extract<SendOutcome, { kind: "breaker_changed" }>,
): Promise<Pick<Round, "breaker" | "inboxes">> {
  const [receiver = ""] = inboxes;
  const passed = await checkBreaker(workspace, receiver, entry);
  if (typeof passed === "number") return { breaker: passed, inboxes };
  const next = nextFallback(fallbackPolicyOf(plan), receiver);
  if (next === undefined) throw circuitOpen(passed);
  return { breaker: 0, inboxes: [next] };
}

/** What was found out about a handoff when it was sent. */
interface SendFindings extends Pick<SentHandoff<unknown>, "lint" | "repeats"> {
  readonly open: OpenWork | undefined;
}

function sentHandoffOf<T>(
  { sealed, cycle, stopped }: PreparedHandoff,
  outcome: Extract<SendOutcome, { kind: "sent" }>,
  { open, ...known }: SendFindings,
): SentHandoff<T> {
  const joined = open === undefined ? "new" : outcome.superseded === "" ? "extended" : "superseded";
  return {
    kind: "sent",
    envelope: sealed.envelope as EnvelopeOf<T>,
    digest: sealed.digest,
    memory: outcome.place.id,
    deliveries: outcome.deliveries,
    joined,
    cycle,
    stopped,
    ...known,
    ...(joined === "superseded" && { replaced: open?.delivery }),
  };
}

type SendRefusal = Exclude<
  SendOutcome,
  { kind: "sent" | "changed" | "entry_changed" | "breaker_changed" } | LeaseRefusal
>;

async function sendError(workspace: Workspace, outcome: SendRefusal): Promise<BatonError> {
  switch (outcome.kind) {
    case "unknown_receiver":
    case "receiver_disabled":
      return receiverError(workspace, outcome);
    case "missing_parent":
      return missingParent(outcome.envelope);
    default:
      return refusalError(workspace, outcome);
  }
}
