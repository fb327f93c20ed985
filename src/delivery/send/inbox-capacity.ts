/**
 * Enforces the limit of open deliveries per inbox (`limits.inbox`). The cost of counting grows with the
 * inbox, so it is rarely done while there is ample capacity, and for every handoff, one after the other, when
 * it gets tight. A single hub never exceeds the limit; several can, by what they send between two counts.
 */
import { BatonError } from "../../base/errors.ts";
import { checkLimit } from "../../base/limits.ts";
import type { Workspace } from "../../workspace/workspace.ts";

/** How long a count is used: other processes send too. */
const COUNT_CACHE_MS = 1_000;

interface InboxCount {
  readonly open: number;
  readonly at: number;
  sent: number;
}

/** Sends of this process to one inbox. */
interface InboxGate {
  count: InboxCount | undefined;
  /** Sends under way, which may not be in the count yet. */
  passing: number;
  /** Called when no send is under way any more. */
  whenThrough: (() => void) | undefined;
  /** Sends that have to count run one after the other. */
  turn: Promise<unknown>;
}

const gates = new WeakMap<object, Map<string, InboxGate>>();

function gateOf(workspace: Workspace, receiver: string): InboxGate {
  const known = gates.get(workspace.root) ?? new Map<string, InboxGate>();
  gates.set(workspace.root, known);
  const gate = known.get(receiver) ?? newGate();
  known.set(receiver, gate);
  return gate;
}

const newGate = (): InboxGate => ({
  count: undefined,
  passing: 0,
  whenThrough: undefined,
  turn: Promise.resolve(),
});

/** How much is sent, and the path that an error names. */
interface Sending {
  readonly handoffs: number;
  readonly path: string;
}

const ONE: Sending = { handoffs: 1, path: "to" };

/** Runs `send` if the receiver's inbox has capacity for what it sends; throws `inbox_full` otherwise. */
export async function withInboxCapacity<T>(
  workspace: Workspace,
  receiver: string,
  send: () => Promise<T>,
  sending: Sending = ONE,
): Promise<T> {
  const { handoffs, path } = sending;
  checkLimit(workspace.limits, "inbox", { actual: handoffs, path });
  const gate = gateOf(workspace, receiver);
  if (hasAmpleCapacity(gate, workspace.limits.inbox, handoffs)) beginSend(gate, handoffs);
  else {
    const turn = gate.turn.then(() => enterAfterCount(workspace, receiver, gate, sending));
    gate.turn = turn.catch(() => {}); // The next send counts for itself.
    await turn;
  }
  try {
    return await send();
  } finally {
    endSend(gate);
  }
}

async function enterAfterCount(
  workspace: Workspace,
  receiver: string,
  gate: InboxGate,
  { handoffs, path }: Sending,
): Promise<void> {
  const bound = workspace.limits.inbox;
  if (!hasAmpleCapacity(gate, bound, handoffs)) {
    gate.count = undefined; // Smaller sends must not pass by this count while it is made anew.
    await waitUntilIdle(gate);
    const open = await workspace.store.countOpen(workspace.name, receiver, bound);
    gate.count = { open, at: performance.now(), sent: 0 };
    if (open + handoffs > bound) throw inboxFull(receiver, { bound, open, handoffs, path });
  } // Otherwise the previous send has just counted, and its count applies here too.
  beginSend(gate, handoffs);
}

/** Half of the counted capacity is used before counting again. */
function hasAmpleCapacity({ count }: InboxGate, bound: number, handoffs: number): boolean {
  if (count === undefined) return false;
  const sent = count.sent + handoffs - 1;
  return sent * 2 < bound - count.open && performance.now() - count.at < COUNT_CACHE_MS;
}

function beginSend(gate: InboxGate, handoffs: number): void {
  gate.passing++;
  if (gate.count !== undefined) gate.count.sent += handoffs;
}

function endSend(gate: InboxGate): void {
  gate.passing--;
  if (gate.passing === 0) gate.whenThrough?.();
}

async function waitUntilIdle(gate: InboxGate): Promise<void> {
  if (gate.passing === 0) return;
  await new Promise<void>((resolve) => {
    gate.whenThrough = resolve;
  });
  gate.whenThrough = undefined;
}

interface FullInbox extends Sending {
  readonly bound: number;
  readonly open: number;
}

function inboxFull(receiver: string, { bound, open, handoffs, path }: FullInbox): BatonError {
  const found =
    handoffs === 1
      ? `is full: it has ${bound} open handoffs`
      : `has ${open} open handoffs of at most ${bound}, and ${handoffs} more do not fit`;
  return new BatonError("inbox_full", {
    message: `The inbox of "${receiver}" ${found}.`,
    path,
    hint: "Wait until some are settled, send to another receiver, or open the hub with limits: { inbox: … }.",
    details: { receiver, limit: "inbox", max: bound },
  });
}
