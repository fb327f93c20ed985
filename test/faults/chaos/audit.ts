/**
 * Audits a chaos run: compares what the store recorded with what it acknowledged to the processes.
 * Each broken guarantee is reported as a violation in plain text.
 */
import type { Attempt, EventKind, Hub, HubEvent } from "../../../src/index.ts";
import type { ChaosFact, FactOf } from "./facts.ts";

export interface Audit {
  readonly violations: readonly string[];
  /** Number of events by kind. */
  readonly events: Readonly<Record<string, number>>;
  readonly deliveries: number;
}

/** Events that start an attempt, and events that end one. */
const BEGINS: readonly EventKind[] = ["claimed", "accepted"];
const ENDS: readonly EventKind[] = [
  ...(["completed", "failed", "declined", "released", "asked", "expired", "dead"] as const),
  ...([
    "cancelled",
    "deadline_passed",
    "rerouted",
    "accept_timeout",
    "superseded",
    "discarded",
  ] as const),
];
/** Events after which nothing more happens, except a decision about a dead letter. */
const FINAL: readonly EventKind[] = [
  "completed",
  "declined",
  "cancelled",
  "deadline_passed",
  "superseded",
];

const PAGE = 1_000;

export async function audit(hub: Hub, facts: readonly ChaosFact[]): Promise<Audit> {
  const events = await allEvents(hub);
  const byDelivery = Map.groupBy(events, (event) => event.delivery ?? "");
  byDelivery.delete("");
  const violations = [
    ...numbering(events),
    ...[...byDelivery].flatMap(([id, own]) => oneHolder(id, own)),
    ...lostSends(facts, byDelivery),
    ...settlements(facts, byDelivery),
    ...(await leases(hub, facts, byDelivery)),
    ...(await checkTotals(hub, byDelivery.size)),
    ...(await hub.verify()).problems.map(
      ({ record, field, message }) => `verify: ${record} ${field} ${message}`,
    ),
  ];
  return { violations, events: countKinds(events), deliveries: byDelivery.size };
}

async function allEvents(hub: Hub): Promise<HubEvent[]> {
  const events: HubEvent[] = [];
  for (;;) {
    const page = (await hub.events.list({ after: events.at(-1)?.number ?? 0, limit: PAGE })).items;
    events.push(...page);
    if (page.length < PAGE) return events;
  }
}

function numbering(events: readonly HubEvent[]): string[] {
  return events
    .filter(({ number }, i) => number !== i + 1)
    .slice(0, 1)
    .map(({ number }) => `events are not numbered without a gap at ${number}`);
}

/** Checks, in store order, that no two attempts overlap and that a delivery ends only once. */
function oneHolder(id: string, events: readonly HubEvent[]): string[] {
  const violations: string[] = [];
  let holding = 0;
  let over: EventKind | undefined;
  for (const { kind, attempt = 0 } of events) {
    if (BEGINS.includes(kind)) {
      if (over !== undefined) violations.push(`${id} was ${kind} after it was ${over}`);
      if (holding !== 0 && holding !== attempt) {
        violations.push(`${id}: attempt ${attempt} was ${kind} while ${holding} held it`);
      }
      holding = attempt;
    } else if (ENDS.includes(kind)) {
      if (kind === "completed" && holding !== attempt) {
        violations.push(`${id}: attempt ${attempt} completed while ${holding} held it`);
      }
      holding = 0;
      if (FINAL.includes(kind)) {
        if (over !== undefined) violations.push(`${id} was ${kind} after it was ${over}`);
        over = kind;
      }
    } else if (kind === "redriven") over = undefined;
  }
  return violations;
}

const ofKind = <Kind extends ChaosFact["kind"]>(
  facts: readonly ChaosFact[],
  kind: Kind,
): FactOf<Kind>[] => facts.filter((fact): fact is FactOf<Kind> => fact.kind === kind);

type Events = ReadonlyMap<string, readonly HubEvent[]>;

function lostSends(facts: readonly ChaosFact[], events: Events): string[] {
  return ofKind(facts, "sent")
    .flatMap(({ deliveries }) => deliveries)
    .filter((id) => !events.has(id))
    .map((id) => `${id} was acknowledged as sent and is not there`);
}

/** Checks that each acknowledged settlement is stored for its attempt, once. */
function settlements(facts: readonly ChaosFact[], events: Events): string[] {
  const seen = new Set<string>();
  return ofKind(facts, "settled").flatMap(({ delivery, attempt, as }) => {
    const key = `${delivery} ${attempt}`;
    const twice = seen.has(key) ? [`${key} was settled twice`] : [];
    seen.add(key);
    const own = (events.get(delivery) ?? []).filter((event) => event.attempt === attempt);
    // The last failure or release of a delivery may have dead-lettered it immediately.
    const kept = own.some(({ kind }) => kind === as || (kind === "dead" && as !== "completed"));
    return kept ? twice : [...twice, `${key}: ${as} was acknowledged and is not there`];
  });
}

/** Checks that no lease expired early, unless the process had ended or a deadline had passed. */
async function leases(hub: Hub, facts: readonly ChaosFact[], events: Events): Promise<string[]> {
  const until = new Map<string, number>();
  for (const fact of [...ofKind(facts, "accepted"), ...ofKind(facts, "renewed")]) {
    const key = `${fact.delivery} ${fact.attempt}`;
    until.set(key, Math.max(until.get(key) ?? 0, fact.leaseUntil));
  }
  const violations: string[] = [];
  for (const delivery of events.keys()) {
    for (const attempt of await hub.deliveries.attempts(delivery)) {
      const lease = until.get(`${delivery} ${attempt.attempt}`) ?? 0;
      if (isByTime(attempt) && attempt.endedAt < lease) {
        const left = lease - attempt.endedAt;
        violations.push(`${delivery} ${attempt.attempt} expired with ${left} ms left`);
      }
    }
  }
  return violations;
}

const isByTime = ({ outcome, reason }: Attempt): boolean =>
  outcome === "expired" && !/process ended|deadline/.test(JSON.stringify(reason));

async function checkTotals(hub: Hub, deliveries: number): Promise<string[]> {
  const { byState, deliveries: counted } = await hub.deliveries.totals();
  const sum = Object.values(byState).reduce((total, count) => total + count, 0);
  const { scheduled, ready, claimed, accepted, waiting } = byState;
  const open = scheduled + ready + claimed + accepted + waiting;
  return [
    ...(sum === counted ? [] : [`${counted} deliveries, ${sum} in some state`]),
    ...(counted === deliveries ? [] : [`${counted} deliveries, ${deliveries} in the events`]),
    ...(open === 0 ? [] : [`${open} are open after all was taken over`]),
  ];
}

function countKinds(events: readonly HubEvent[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { kind } of events) counts[kind] = (counts[kind] ?? 0) + 1;
  return counts;
}
