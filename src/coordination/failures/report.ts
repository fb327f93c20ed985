/**
 * Reporting: a delivery is given up, and whoever decides about that is told with an envelope of the same
 * task. Told before the delivery is parked, with a key of delivery and try: however often it is done
 * again after a crash, it is one report.
 */
import { canonicalJson } from "../../base/canonical.ts";
import { clip } from "../../base/clip.ts";
import { BatonError, type ErrorCode, isBatonError } from "../../base/errors.ts";
import { parkStopped } from "../../delivery/due/park.ts";
import { sendHandoff } from "../../delivery/send/send.ts";
import { addressOf, type Draft, type Envelope } from "../../envelope/schema.ts";
import { failureOf, type TriedFailure } from "../../history/failure.ts";
import {
  decisionOn,
  FAILURE,
  type GivenUpTry,
  type KeptFailure,
  reportKey,
  reportOf,
  tryName,
} from "../../history/failure-decisions.ts";
import { SYSTEM } from "../../memory/agents.ts";
import { systemAuthor } from "../../memory/system-author.ts";
import { parseEnvelope } from "../../store/parse-envelope.ts";
import { isHeld, isOpen, roleInbox } from "../../store/rows.ts";
import type { Claimed, PutEntry } from "../../store/store.ts";
import { entryValue, writtenValue } from "../../workspace/entries.ts";
import type { GivenUp, GivenUpEnvelope, Workspace } from "../../workspace/workspace.ts";
import { COORDINATOR, coordinators } from "./coordinators.ts";
import { askingPolicy } from "./patience.ts";

type Reported = NonNullable<Envelope["failure"]>;

/**
 * Of a task in the queue always; of any other when there is a coordinator, unless the handoff says that
 * it is to be parked and no more. What the hub says of itself is not reported again.
 */
export async function isCoordinated(
  workspace: Workspace,
  { failure, from, policy, queued }: GivenUpEnvelope,
): Promise<boolean> {
  if (failure !== undefined || from.agent === SYSTEM) return false;
  if (queued) return true;
  if (policy?.exhausted === "park") return false;
  return (await coordinators(workspace)).isRegistered;
}

/** The delivery of the report. */
export async function report(workspace: Workspace, due: Claimed, ended: GivenUp): Promise<string> {
  const { store, name } = workspace;
  const of = { delivery: due.delivery.id, attempt: ended.attempt };
  const kept = entryValue<KeptFailure>(await store.findEntry(name, FAILURE, tryName(of)));
  const before = kept?.before ?? 0;
  const sent = await reportOf(workspace, of, before);
  const stands =
    sent !== undefined &&
    (isOpen(sent.delivery.state) || (await decisionOn(workspace, of)) !== undefined);
  if (stands) return sent.delivery.id;
  return send(workspace, due, { of, ended, before: sent === undefined ? before : before + 1 });
}

interface Telling {
  readonly of: GivenUpTry;
  readonly ended: GivenUp;
  /** Reports of it that were taken back. */
  readonly before: number;
}

async function send(workspace: Workspace, due: Claimed, telling: Telling): Promise<string> {
  const tried = await triedAs(workspace, due, telling.ended);
  const author = await systemAuthor(workspace);
  for (const [to, policy] of await receivers(workspace)) {
    for (const short of [undefined, ...SHORTER]) {
      const failure = short === undefined ? tried : clipped(tried, short);
      const draft = draftOf(workspace, due, { ...telling, failure, short, to, policy });
      const sending = {
        apart: true,
        bare: short?.bare,
        entries: async () => [await keptAs(workspace, due, telling)],
        failure: reportedOf(telling.of, failure),
        ...(short?.bare ? {} : { passesOn: parseEnvelope(workspace, due.envelope) }),
      };
      try {
        const outcome = await sendHandoff(workspace, author, draft, sending);
        if (outcome.kind !== "sent") throw new Error("a handoff outside a lease cannot lose one");
        const [delivery] = outcome.deliveries;
        if (delivery !== undefined) return delivery.id;
      } catch (error) {
        if (!isBatonError(error)) throw error;
        const sent = await reportOf(workspace, telling.of, telling.before);
        if (sent !== undefined) return sent.delivery.id; // Somebody else was quicker, and told another.
        if (TOO_LARGE.includes(error.code)) continue;
        if (!UNREACHABLE.includes(error.code)) throw error;
        break;
      }
    }
  }
  throw new BatonError("inbox_full", {
    message: `The failure of ${telling.of.delivery} cannot be reported to anybody now.`,
    hint: "It is tried again whenever somebody looks.",
  });
}

const TOO_LARGE: readonly ErrorCode[] = ["limit_exceeded", "invalid_envelope"];
const UNREACHABLE: readonly ErrorCode[] = [
  ...(["agent_disabled", "circuit_open", "inbox_full", "unknown_agent", "unknown_role"] as const),
];

/** Whom it is sent to, and for how long; the next where one cannot be reached. */
async function receivers(
  workspace: Workspace,
): Promise<readonly (readonly [string, Draft["policy"]])[]> {
  const { isActive, arePersons } = await coordinators(workspace);
  const { limits } = workspace;
  const hub = [SYSTEM, askingPolicy(limits, { id: SYSTEM })] as const;
  if (!isActive) return [hub];
  const asked = askingPolicy(limits, { kind: arePersons ? "person" : "agent" });
  return [[roleInbox(COORDINATOR), asked], hub];
}

/** How the last try ended: as it is about to be written down, or as it was. */
async function triedAs(
  { store, name }: Workspace,
  { delivery }: Claimed,
  { ends, late }: GivenUp,
): Promise<TriedFailure> {
  const last = (await store.readAttempts(name, delivery.id)).at(-1);
  const holder = isHeld(delivery.state) ? delivery.holder : "";
  const ended = ends ? { ...ends, holder } : last;
  return failureOf(ended, late);
}

/** What is kept of it until somebody has decided. */
async function keptAs(
  workspace: Workspace,
  { delivery }: Claimed,
  { of, before }: Telling,
): Promise<PutEntry> {
  const entry = await workspace.store.findEntry(workspace.name, FAILURE, tryName(of));
  const value: KeptFailure = {
    at: workspace.clock.now(),
    asked: [],
    before,
    record: delivery.settledBy,
    task: delivery.task,
  };
  const basedOn = entry?.revision ?? 0;
  return { kind: FAILURE, name: tryName(of), value: writtenValue(value), basedOn };
}

const reportedOf = ({ delivery, attempt }: GivenUpTry, failure: TriedFailure): Reported => ({
  ...failure,
  attempt,
  delivery,
  retries: Math.max(0, attempt - 1),
});

/** What of each text travels where all of it has no room; the try has the rest. */
interface Short {
  readonly text: number;
  readonly hints: number;
  /** Without what the task's ledger holds: it may be that which leaves no room. */
  readonly bare?: true;
}
const CLIPPED: Short = { text: 1_000, hints: 5 };
const SHORTER: readonly Short[] = [CLIPPED, { text: 200, hints: 0, bare: true }];

const clipped = (
  { attempted, hints, message, ...failure }: TriedFailure,
  { text, hints: most }: Short,
): TriedFailure => ({
  ...failure,
  ...(attempted === undefined ? {} : { attempted: clip(attempted, text) }),
  hints: hints.slice(0, most).map((hint) => clip(hint, text)),
  message: clip(message, text),
});

interface Drafting extends Telling {
  readonly failure: TriedFailure;
  readonly short: Short | undefined;
  readonly to: string;
  readonly policy: Draft["policy"];
}

function draftOf(workspace: Workspace, { delivery, envelope: row }: Claimed, how: Drafting): Draft {
  const envelope = parseEnvelope(workspace, row);
  const { of, ended, failure, short, to, policy, before } = how;
  const { text } = short ?? CLIPPED;
  const why = whyOf(workspace, { delivery, envelope: row }, { ended, failure });
  return {
    to,
    task: delivery.task,
    action: "failed",
    intent: short?.bare ? clip(envelope.intent, text) : envelope.intent,
    state: `${envelope.from.agent} → ${addressOf(envelope.to)}: ${why}: ${clip(failure.message, text)}`,
    next: [`Decide about ${delivery.id}: retry, reroute, ask or abort.`],
    parents: [envelope.id],
    priority: "high",
    policy,
    key: reportKey(of, before),
    ...(envelope.run === undefined ? {} : { run: envelope.run }),
  };
}

function whyOf(
  { limits, versions }: Workspace,
  { delivery, envelope }: Claimed,
  { ended, failure }: Pick<Drafting, "ended" | "failure">,
): string {
  const { hop } = parseEnvelope({ versions }, envelope);
  if (failure.type === "hop_limit") {
    return `hop ${hop} is past the limit of ${limits.hops}: the line has stopped`;
  }
  if (ended.late) return "its deadline passed";
  if (failure.class === "permanent") return `${delivery.receiver} failed for good`;
  return `every try of ${delivery.receiver} was used up`;
}

/** Reports that what waits will never begin, and parks it. */
export async function failWaiting(
  workspace: Workspace,
  due: Claimed,
  { type, message }: Pick<Reported, "type" | "message">,
): Promise<void> {
  await parkStopped(workspace, due, canonicalJson({ message, reason: type }, "invalid_input"));
}
