/**
 * Room in a receiver's inbox. Counting costs as much as there is to count, so it is done seldom
 * while there is plenty of room, and for every handoff when it gets tight, one after the other: one
 * hub alone never exceeds the bound; several at once may, by what they send between two looks.
 */
import { BatonError } from "../../base/errors.ts";
import type { Workspace } from "../../workspace/workspace.ts";

/** How long a count is believed: others send too. */
const COUNT_CACHE_MS = 1_000;

interface InboxCount {
  readonly open: number;
  readonly at: number;
  sent: number;
}

/** The way into one inbox. */
interface InboxGate {
  look: InboxCount | undefined;
  /** On their way in: not yet counted, perhaps. */
  passing: number;
  /** Called when nobody is on the way any more. */
  whenThrough: (() => void) | undefined;
  /** Those who have to count go one after the other. */
  turn: Promise<unknown>;
}

const gates = new WeakMap<object, Map<string, InboxGate>>();

function gateOf(workspace: Workspace, receiver: string): InboxGate {
  const known = gates.get(workspace.root) ?? new Map<string, InboxGate>();
  gates.set(workspace.root, known);
  const door = known.get(receiver) ?? newGate();
  known.set(receiver, door);
  return door;
}

const newGate = (): InboxGate => ({
  look: undefined,
  passing: 0,
  whenThrough: undefined,
  turn: Promise.resolve(),
});

/** Sends when there is room for it in the receiver's inbox; else it is full, and says so. */
export async function withInboxCapacity<T>(
  workspace: Workspace,
  receiver: string,
  send: () => Promise<T>,
): Promise<T> {
  const door = gateOf(workspace, receiver);
  if (hasAmpleCapacity(door, workspace.limits.inbox)) beginSend(door);
  else {
    const turn = door.turn.then(() => enterAfterCount(workspace, receiver, door));
    door.turn = turn.catch(() => {}); // The next one counts for itself.
    await turn;
  }
  try {
    return await send();
  } finally {
    endSend(door);
  }
}

async function enterAfterCount(
  workspace: Workspace,
  receiver: string,
  door: InboxGate,
): Promise<void> {
  const bound = workspace.limits.inbox;
  if (!hasAmpleCapacity(door, bound)) {
    await waitUntilIdle(door);
    const open = await workspace.store.countOpen(workspace.name, receiver, bound);
    door.look = { open, at: performance.now(), sent: 0 };
    if (open >= bound) throw inboxFull(receiver, bound);
  } // Else whoever counted just now has counted for this one too.
  beginSend(door);
}

/** Half of the room that was seen is used without looking again. */
function hasAmpleCapacity({ look }: InboxGate, bound: number): boolean {
  if (look === undefined) return false;
  return look.sent * 2 < bound - look.open && performance.now() - look.at < COUNT_CACHE_MS;
}

function beginSend(door: InboxGate): void {
  door.passing++;
  if (door.look !== undefined) door.look.sent++;
}

function endSend(door: InboxGate): void {
  door.passing--;
  if (door.passing === 0) door.whenThrough?.();
}

async function waitUntilIdle(door: InboxGate): Promise<void> {
  if (door.passing === 0) return;
  await new Promise<void>((resolve) => {
    door.whenThrough = resolve;
  });
  door.whenThrough = undefined;
}

function inboxFull(receiver: string, bound: number): BatonError {
  return new BatonError("inbox_full", {
    message: `"${receiver}" has ${bound} open handoffs, which is all it may have.`,
    path: "to",
    hint: "Wait until it has settled some, send to another, or open the hub with limits: { inbox: … }.",
    details: { receiver, limit: "inbox", max: bound },
  });
}
