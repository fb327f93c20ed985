/** The list of all operations, grouped by the chapters of the reference. */
import { agentsOperations } from "./agents.ts";
import { branchesOperations } from "./branches.ts";
import { channelsOperations } from "./channels.ts";
import { contextOperations } from "./context.ts";
import { deliveriesOperations } from "./deliveries.ts";
import { failuresOperations } from "./failures.ts";
import { handoffsOperations } from "./handoffs.ts";
import { hubOperations } from "./hub.ts";
import { inboxOperations } from "./inbox.ts";
import { memoriesOperations } from "./memories.ts";
import type { Definition, Operation } from "./operation.ts";
import { settingsOperations } from "./settings.ts";
import { STREAMS } from "./streams.ts";
import { tasksOperations } from "./tasks.ts";
import { tracesOperations } from "./traces.ts";
import { workOperations } from "./work.ts";

export { routeOf } from "./wire/route.ts";

interface Chapter {
  readonly description: string;
  readonly operations: Readonly<Record<string, Definition>>;
}

/** The operations by chapter, in the order of the reference. */
export const CHAPTERS: Readonly<Record<string, Chapter>> = {
  agents: {
    description: "Registered agents, their circuit breakers, and access tokens.",
    operations: agentsOperations,
  },
  memories: {
    description: "Memories: remembered, read, recalled, pinned, quarantined, redacted.",
    operations: memoriesOperations,
  },
  traces: { description: "What agents did, step by step.", operations: tracesOperations },
  branches: {
    description: "Branches: created, compared, merged, abandoned.",
    operations: branchesOperations,
  },
  handoffs: {
    description: "Sending: handoffs, joins, lint and preview.",
    operations: handoffsOperations,
  },
  deliveries: {
    description: "Deliveries: where handoffs are, and what senders and people do about them.",
    operations: deliveriesOperations,
  },
  inbox: {
    description: "Receiving: claim, accept, decline or release.",
    operations: inboxOperations,
  },
  work: { description: "Accepted work, by its handle.", operations: workOperations },
  channels: { description: "Channels and routes.", operations: channelsOperations },
  tasks: {
    description: "Tasks, their ledgers and timelines, and reservations.",
    operations: tasksOperations,
  },
  context: {
    description: "The shared context: what the whole team keeps to.",
    operations: contextOperations,
  },
  failures: {
    description: "Deliveries that were given up, and deciding what happens next.",
    operations: failuresOperations,
  },
  settings: {
    description: "The settings and payload types of a workspace.",
    operations: settingsOperations,
  },
  hub: {
    description: "Events, verification, the search index, exports and imports.",
    operations: hubOperations,
  },
};

/** Every operation with its name. */
export const OPERATIONS: readonly Operation[] = Object.values(CHAPTERS).flatMap(({ operations }) =>
  Object.entries(operations).map(([name, definition]) => ({ name, ...definition })),
);

const byName = new Map(OPERATIONS.map((operation) => [operation.name, operation]));

/** Returns an operation by name. Throws if it does not exist. */
export function operationOf(name: string): Operation {
  const found = byName.get(name);
  if (found === undefined) throw new Error(`unknown operation "${name}"`);
  return found;
}

/** Returns the chapter of an operation or a stream. Throws if it is in none. */
export function chapterOf(name: string): string {
  const stream = STREAMS[name];
  if (stream !== undefined) return stream.chapter;
  const found = Object.entries(CHAPTERS).find(([, { operations }]) => name in operations);
  if (found === undefined) throw new Error(`no chapter has the operation "${name}"`);
  return found[0];
}
