/**
 * Steps that only a caller with direct access to the store can take: changing agents, writing
 * entries, and reading. Leases are in lease-steps.ts, handoffs in send-step.ts, decisions about
 * deliveries in move-step.ts.
 */
import fc from "fast-check";
import { writeRecord } from "../../../src/memory/record.ts";
import { SYSTEM } from "../../../src/memory/system-author.ts";
import { AUDIT_RECORD, auditedAgentDigest } from "../../../src/store/audited.ts";
import { BREAKER, OPEN_STATES } from "../../../src/store/rows.ts";
import { AUDIT_BRANCH } from "../../../src/store/visibility.ts";
import { claimMany, renewSession, settleWith, useLease } from "./lease-steps.ts";
import { move } from "./move-step.ts";
import { send, sendMany } from "./send-step.ts";
import { ENTRY_KINDS, LIMITS, NAMES, PROCESSES, ROLES, WORKSPACE } from "./side.ts";
import {
  idle,
  known,
  name,
  number,
  pick,
  rarely,
  type Step,
  step,
  task,
  type Write,
  write,
} from "./step.ts";

export const rename = write(
  "change an agent",
  fc.record({
    who: name,
    role: fc.constantFrom("planner", "coder", ""),
    status: fc.constantFrom("active" as const, "active" as const, "paused" as const),
  }),
  async (side, { who, role, status }) => {
    const current = await side.store.findAgent(WORKSPACE, who);
    if (current === undefined) return idle;
    const { revision: basedOn, keyedAt: _keyedAt, digest: _digest, ...agent } = current;
    const changed = { ...agent, role, status };
    const data = {
      target: { kind: "agent", name: agent.id },
      before: auditedAgentDigest(agent),
      after: auditedAgentDigest(changed),
    };
    const { record: memory } = writeRecord(
      { agent: SYSTEM, instance: "baton-9" },
      { type: AUDIT_RECORD, content: "changed", data, scope: "agent" },
      { ids: side.ids, now: side.clock.now(), limits: LIMITS, branch: AUDIT_BRANCH },
    );
    const records = [{ branch: AUDIT_BRANCH, memory }];
    return () =>
      side.store.registerAgent({ workspace: WORKSPACE, agent: changed, basedOn, records });
  },
);

// Entries

export const putEntry = write(
  "put an entry",
  fc.record({
    kind: fc.constantFrom("note", "note", "key", BREAKER),
    name: fc.constantFrom("a", "a/1", "a/2", "B", ...NAMES, ...ROLES),
    value: fc.constantFrom("1", "2", undefined),
    off: fc.constantFrom(0, 0, 0, 1, -1),
    withEvent: fc.boolean(),
  }),
  async (side, { kind, name, value, off, withEvent }) => {
    const current = await side.store.findEntry(WORKSPACE, kind, name);
    const basedOn = Math.max(0, (current?.revision ?? 0) + off);
    // A breaker as the hub reads it: closed, with one lost delivery.
    const strikes = { deliveries: [`dlv ${value}`], openedAt: 0, probedAt: 0 };
    const text = kind === BREAKER && value !== undefined ? JSON.stringify(strikes) : value;
    const event = { kind: "breaker_reset" as const, agent: "ada" };
    const entry = { kind, name, value: text, basedOn };
    return () => side.store.putEntry(WORKSPACE, entry, withEvent ? event : undefined);
  },
);

// Queries

export const lookPast: fc.Arbitrary<Step> = step(
  "look past the hub",
  fc.record({
    what: fc.constantFrom("due", "due", "parked", "entries", "open", "inboxes"),
    who: known,
    gone: fc.subarray(["", ...PROCESSES]),
    limit: fc.constantFrom(1, 3, 100),
    task: rarely(task),
    n: number,
  }),
  async (side, { what, who, gone, limit, task, n }) => {
    const { store } = side;
    const where = { workspace: WORKSPACE, limit, ...(task && { task }) };
    switch (what) {
      case "due":
        return store.listDue({ ...where, gone });
      case "parked": {
        const state = n % 2 === 0 ? "dead" : "waiting";
        const by = n % 3 === 0 ? { sender: who } : n % 3 === 1 ? { receiver: who } : {};
        return store.listParked({ ...where, state, ...by });
      }
      case "entries": {
        const kind = pick(ENTRY_KINDS, n) as string;
        const prefix = n % 3 === 0 ? { prefix: "a" } : {};
        return store.listEntries({ ...where, kind, ...prefix, ...(n % 2 && { after: "a/1" }) });
      }
      case "open":
        return store.countOpen(WORKSPACE, n % 2 ? who : (pick(ROLES, n) as string), limit);
      default:
        return store.listDeliveries({ ...where, receivers: [who, ...ROLES], states: OPEN_STATES });
    }
  },
).map((each) => ({ ...each, past: true }));

export const PAST_THE_HUB: readonly fc.Arbitrary<Write>[] = [
  ...[rename, settleWith, useLease, claimMany, renewSession, send, sendMany, move, putEntry],
];
