/**
 * A handoff on its way to the store. The store's refusal can change it: the open work that it extends, its
 * receiver, its ledger. It is then prepared again, until it is sent or refused for good.
 */
import { BatonError } from "../../base/errors.ts";
import { lintSent } from "../../context/lint/lint-sent.ts";
import { cachedLintRules, refuseRepeats } from "../../context/lint/lint-settings.ts";
import type { AllLintRules } from "../../context/lint/rule.ts";
import type { EnvelopeOf } from "../../envelope/schema.ts";
import { KEY } from "../../history/key-entry.ts";
import { refuseClosed } from "../../ledger/closed-tasks.ts";
import { readHandoffLedger } from "../../ledger/handoff-ledger.ts";
import { type LedgerSource, resolveLedger } from "../../ledger/ledger.ts";
import { workspaceAfterClosing } from "../../memory/branches/work-branch.ts";
import { refusalError } from "../../memory/refusals.ts";
import { WORK } from "../../memory/work-entry.ts";
import { parseEnvelope } from "../../store/parse-envelope.ts";
import type { EntryRow } from "../../store/rows.ts";
import type { LeaseRefusal, SendOutcome, SendRefusal } from "../../store/store.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import { missingParent } from "../due/moves.ts";
import { checkBreaker, circuitOpen } from "../settings/breaker.ts";
import { nextFallback, receiverError, withoutDisabled } from "../settings/receivers.ts";
import { findKeyEntry, readOriginalHandoff, type SentHandoff } from "./idempotency-key.ts";
import { type Plan, pendingDependencies, type Sender } from "./plan.ts";
import { type OpenWork, type PreparedHandoff, prepare, type Round } from "./prepare.ts";
import { findRepeatsOfPlan, type RepeatsResult } from "./repeats.ts";
import { cacheWork } from "./work-entry.ts";

/** In each round another process changed the same work; ten in a row mean that something is wrong. */
const ROUNDS = 10;
/** When this many lines add to one ledger at the same time, one of them succeeds in each round. */
const LEDGER_ROUNDS = 1_000;

/** A planned handoff that passed every check before it is sent. */
export interface AdmittedHandoff {
  readonly plan: Plan;
  readonly rules: AllLintRules;
}

/** The ledgers that handoffs sent together with this one will write, by task. */
export type LedgersAhead = ReadonlyMap<string, EntryRow>;

const NONE_AHEAD: LedgersAhead = new Map();

/** Whether handoffs may go to a receiver, as `checkBreaker()` has decided. */
type BreakerDecisions = Map<string, Awaited<ReturnType<typeof checkBreaker>>>;

export class PendingHandoff<T> {
  readonly #workspace: Workspace;
  readonly #sender: Sender;
  readonly #rules: AllLintRules;
  /** Where it is sent; the branch of held work may have been merged. */
  #where: Workspace;
  #plan: Plan;
  #round: Round;
  #earlier: RepeatsResult;
  #rounds = 0;
  #overtaken = 0;

  private constructor(
    workspace: Workspace,
    sender: Sender,
    { plan, rules }: AdmittedHandoff,
    { round, earlier }: { readonly round: Round; readonly earlier: RepeatsResult },
  ) {
    this.#workspace = workspace;
    this.#where = workspace;
    this.#sender = sender;
    this.#plan = plan;
    this.#rules = rules;
    this.#round = round;
    this.#earlier = earlier;
  }

  /** Reads what an admitted handoff needs from the store. Throws `lint_refused` for a repeat, if so set. */
  static async begin<T>(
    workspace: Workspace,
    sender: Sender,
    admitted: AdmittedHandoff,
  ): Promise<PendingHandoff<T>> {
    const { plan, rules } = admitted;
    const line = await readHandoffLedger(workspace, sender, plan);
    const entries = await plan.sending.entries?.();
    const earlier = await findRepeatsOfPlan(workspace, sender, plan);
    refuseRepeats(rules, earlier.repeats);
    const { inboxes } = plan;
    const round = { open: undefined, breaker: 0, inboxes, line, entries, work: earlier.slot };
    return new PendingHandoff(workspace, sender, admitted, { round, earlier });
  }

  get task(): string {
    return this.#plan.task;
  }

  /** The name of the entry that records it as the first handoff of its work; undefined if it writes none. */
  get work(): string | undefined {
    return this.#round.work?.name;
  }

  /** Seals the envelope and builds the operation of the next round. */
  async prepare(ahead: LedgersAhead = NONE_AHEAD): Promise<PreparedHandoff> {
    const plan = await this.#planAfter(ahead);
    const line =
      plan === this.#plan
        ? this.#round.line
        : await readHandoffLedger(this.#workspace, this.#sender, plan, this.#round.line.briefed);
    const round = { ...this.#round, line };
    const prepared = prepare(this.#where, this.#sender, plan, round);
    if (!prepared.stopped || round.isCoordinated !== undefined) return prepared;
    const { envelope } = prepared.sealed;
    const isCoordinated = await this.#workspace.duties.isCoordinated(this.#workspace, envelope);
    this.#round = { ...this.#round, isCoordinated };
    return prepare(this.#where, this.#sender, plan, { ...round, isCoordinated });
  }

  /** Returns the plan with the ledger as the handoffs ahead of it will leave it. */
  async #planAfter(ahead: LedgersAhead): Promise<Plan> {
    const plan = this.#plan;
    const { task, family } = plan;
    if (![task, ...family.from, ...family.inherited].some((each) => ahead.has(each))) return plan;
    return planAgain(this.#workspace, this.#sender, plan, ledgersAfter(this.#workspace, ahead));
  }

  /** Returns the handoff that was sent with the operation of this round. */
  sent(prepared: PreparedHandoff, outcome: Extract<SendOutcome, { kind: "sent" }>): SentHandoff<T> {
    const { slot, repeats } = this.#earlier;
    if (slot !== undefined) cacheWork(this.#workspace, slot.name);
    return sentHandoffOf(prepared, outcome, {
      open: this.#round.open,
      repeats,
      lint: lintSent(this.#workspace, this.#rules, prepared.sealed.envelope, repeats),
    });
  }

  /**
   * Adapts to a refusal, for the next round. Returns the answer if there is one already: the original
   * handoff of the same key, or the refusal because of the lease. Throws if it is refused for good.
   * `breakers`: what was decided about receivers in this round; handoffs sent together are one probe.
   */
  async adapt(
    refusal: SendRefusal,
    breakers: BreakerDecisions = new Map(),
  ): Promise<SentHandoff<T> | LeaseRefusal | undefined> {
    const answer = await this.#adapt(refusal, breakers);
    if (answer !== undefined) return answer;
    if (this.#rounds < ROUNDS && this.#overtaken < LEDGER_ROUNDS) return undefined;
    throw new BatonError("store_busy", {
      message: `The handoff of "${this.task}" was not sent: other writers changed the same work too often.`,
      hint: "Retry the call.",
    });
  }

  async #adapt(
    refusal: SendRefusal,
    breakers: BreakerDecisions,
  ): Promise<SentHandoff<T> | LeaseRefusal | undefined> {
    const workspace = this.#workspace;
    const plan = this.#plan;
    this.#rounds++;
    switch (refusal.kind) {
      case "extended":
        return refusal;
      case "lease_lost": {
        // The reply may have been lost: in that case this very handoff has ended the work.
        const used = await findKeyEntry(workspace, this.#sender, plan);
        return used === undefined ? refusal : readSentBefore(workspace, plan, used);
      }
      case "changed":
        this.#round = { ...this.#round, open: await readOpenWork(workspace, refusal) };
        return undefined;
      case "breaker_changed":
        this.#round = {
          ...this.#round,
          ...(await passBreakerOrFallback(workspace, plan, this.#round, { refusal, breakers })),
        };
        return undefined;
      case "entry_changed":
        if (refusal.entry?.kind === KEY) return readSentBefore(workspace, plan, refusal.entry);
        if (refusal.entry?.kind === WORK) cacheWork(workspace, refusal.entry.name);
        await this.#planAgain();
        this.#rounds--; // Counted separately.
        this.#overtaken++;
        return undefined;
      case "branch_closed":
        // Held work can still be handed on, on the branch that its own was merged into.
        if (this.#sender.work === undefined) throw await sendError(workspace, refusal);
        this.#where = await workspaceAfterClosing(workspace, refusal.branch);
        return undefined;
      default:
        this.#round = {
          ...this.#round,
          inboxes: await reachableInboxes(workspace, plan, this.#round, refusal),
        };
        return undefined;
    }
  }

  /** Reads again what another writer of the task has changed: its ledger, or who does the same work. */
  async #planAgain(): Promise<void> {
    const workspace = this.#workspace;
    const plan = await planAgain(workspace, this.#sender, this.#plan);
    this.#plan = plan;
    this.#earlier = await findRepeatsOfPlan(workspace, this.#sender, plan);
    refuseRepeats(this.#rules, this.#earlier.repeats);
    this.#round = {
      ...this.#round,
      line: await readHandoffLedger(workspace, this.#sender, plan),
      entries: await plan.sending.entries?.(),
      work: this.#earlier.slot,
    };
  }
}

/** Reads ledgers as they will be when those ahead have been written. */
const ledgersAfter = ({ name, store }: Workspace, ahead: LedgersAhead): LedgerSource => ({
  name,
  store: {
    findEntry: async (workspace, kind, task) =>
      ahead.get(task) ?? store.findEntry(workspace, kind, task),
  },
});

/** Returns the handoff of a key that was used before, with its current lint findings. */
export const readSentBefore = async <T>(
  workspace: Workspace,
  plan: Plan,
  entry: EntryRow | undefined,
) => readOriginalHandoff<T>(workspace, plan, { entry, rules: await cachedLintRules(workspace) });

/**
 * Resolves the ledger again after another line of the task has added to it, released an item or closed it.
 */
async function planAgain(
  workspace: Workspace,
  sender: Sender,
  plan: Plan,
  source: LedgerSource = workspace,
): Promise<Plan> {
  const family = await resolveLedger(source, plan.task, plan.family.from);
  const again = {
    ...plan,
    family,
    after: await pendingDependencies(workspace, sender, { ...plan, family }),
  };
  refuseClosedTask(again);
  return again;
}

/** Refuses a closed task. A failure report is sent anyway, because that is how its task gets a decision. */
export function refuseClosedTask({ family, sending }: Plan): void {
  if (sending.failure === undefined) refuseClosed(family);
}

/** Returns the inboxes without one that cannot be reached: the other subscribers, or the next fallback. */
async function reachableInboxes(
  workspace: Workspace,
  plan: Plan,
  { inboxes }: Round,
  outcome: FinalRefusal,
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

interface BreakerChange {
  readonly refusal: Extract<SendRefusal, { kind: "breaker_changed" }>;
  readonly breakers: BreakerDecisions;
}

/**
 * Handles an open circuit breaker: passes as a probe, or goes to the next fallback. Throws `circuit_open`.
 */
async function passBreakerOrFallback(
  workspace: Workspace,
  plan: Plan,
  { inboxes }: Round,
  { refusal: { entry }, breakers }: BreakerChange,
): Promise<Pick<Round, "breaker" | "inboxes">> {
  const [receiver = ""] = inboxes;
  const passed = breakers.get(receiver) ?? (await checkBreaker(workspace, receiver, entry));
  breakers.set(receiver, passed);
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

/** Refusals that concern the receiver, the parents or the record. */
type FinalRefusal = Exclude<
  SendRefusal,
  { kind: "changed" | "entry_changed" | "breaker_changed" } | LeaseRefusal
>;

async function sendError(workspace: Workspace, outcome: FinalRefusal): Promise<BatonError> {
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
