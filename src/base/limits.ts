/**
 * Every limit has a name, a default and a reason; over a limit is an error that says which, never a
 * truncation. A hub takes overrides for the ones that are policy; the rest are fixed because
 * stored data and published schemas depend on them.
 */
import { BatonError } from "./errors.ts";

/** Fixed by the format: the published JSON Schemas contain them. */
export const FORMAT_LIMITS = {
  /** An agent, role, task, run or workspace name, in characters. */
  nameLength: 128,
  /** A sentence: a constraint, a step, a question. */
  lineLength: 2_000,
  /** A paragraph: the intent, the current state, a summary. */
  textLength: 16_000,
  /** What of an intent travels; the whole of a longer one is kept as a record, the brief. */
  intentLength: 4_000,
  /** A memory's content. Longer documents are artifacts with a digest. */
  contentLength: 64_000,
  /** Entries in one list of an envelope (done, next, constraints, history …). */
  listItems: 200,
  /** What a task's ledger holds: constraints, open decisions, progress and releases. */
  ledgerItems: 4_000,
  /** What the shared context holds at a time: every session begins by reading it. */
  contextItems: 1_000,
  references: 500,
  parents: 64,
  tags: 32,
  /** Room for every reference of a handoff and what it continues. */
  relations: 512,
  /** Nesting of free-form JSON (payloads, data, metadata). */
  jsonDepth: 32,
  /** The longest time a policy can name: a year. */
  durationMs: 366 * 24 * 3_600_000,
  /** Tries a policy can ask for. */
  attempts: 100,
  /** Receivers a policy can fall back on. */
  fallbacks: 8,
  /** The longest line a hub can allow. */
  hops: 64,
} as const;

export const DEFAULT_LIMITS = {
  /** Canonical bytes of one envelope: a handoff is a letter, not an archive. */
  envelopeBytes: 256 * 1024,
  /** Canonical bytes of one memory. */
  memoryBytes: 128 * 1024,
  /** Memories in one append: bounds the longest transaction. */
  appendBatch: 1_000,
  /** Entries in one answer of `recent`, `relations`, `events` or `waiting`. */
  pageSize: 1_000,
  /** Offers in one claim. */
  claimBatch: 100,
  /** How long a holder may be silent before its work goes to the next, in milliseconds. */
  leaseMs: 60_000,
  /** How long one holder can have a piece of work, however often it renews its lease. */
  holdMs: 24 * 3_600_000,
  /** Claimed attempts of one delivery before it is parked in dead letters. */
  attempts: 3,
  /** Handoffs of one line, one after the other; then it stops in dead letters. */
  hops: 10,
  /** Open handoffs of one receiver; then it is full, and says so. */
  inbox: 10_000,
  /** Deliveries in a row that a receiver may lose before its breaker opens, and for how long. */
  breakerStrikes: 3,
  breakerMs: 60_000,
  /** How long a coordinator has to accept a failure, and then to decide; a person has longer. */
  coordinatorMs: 600_000,
  personMs: 24 * 3_600_000,
  /** How often one delivery that was given up is tried again before it is given up for good. */
  redrives: 5,
  /** Tasks of one board or tree. */
  taskTree: 1_000,
  /** Tokens of one workspace that are good at a time. */
  tokens: 10_000,
  /** Payload types registered in one workspace, and all versions of them that are kept. */
  payloadTypes: 200,
  payloadTypeVersions: 2_000,
  /** Canonical bytes of the JSON Schema of a payload type. */
  payloadSchemaBytes: 64 * 1024,
  /** Receivers of one publication. */
  receivers: 1_000,
  /** Branches merged into one, with all that had been merged into them: each look walks them. */
  mergedLines: 10_000,
  /** How far, and to how many records, what came of a memory is followed. */
  impactDepth: 100,
  impactVisits: 10_000,
  /** Rows and bytes of one answer in SQL, and how long the query may run, in milliseconds. */
  sqlRows: 10_000,
  sqlBytes: 8 * 1024 * 1024,
  sqlMs: 5_000,
  /** Canonical bytes of one step of a trace: what a tool gave back is for its artifact. */
  traceBytes: 64 * 1024,
  /** Steps of a hub's traces that wait to be stored; more are refused. */
  traceBuffer: 4_096,
  /** One line of an export: room for the largest record and its escapes. */
  exportLineBytes: 64 * 1024 * 1024,
  /** Bytes read to see whether the files a handoff names are as they were; more is left unchecked. */
  artifactBytes: 256 * 1024 * 1024,
  /** A document for people (MEMORY.md), out or in: it is held in memory. */
  documentBytes: 16 * 1024 * 1024,
  /** How long a write waits for other processes on the file before it gives up. */
  busyMs: 30_000,
  /** The store's size in bytes; 0 leaves it to the disk. */
  storeBytes: 0,
} as const satisfies Record<string, number>;

export type LimitName = keyof typeof DEFAULT_LIMITS;
export type Limits = Readonly<Record<LimitName, number>>;

export function resolveLimits(overrides: Partial<Limits> = {}): Limits {
  if (overrides === null || typeof overrides !== "object") {
    throw new BatonError("invalid_input", {
      message: "The limits must be an object.",
      path: "limits",
      hint: "For instance limits: { leaseMs: 120_000 }.",
    });
  }
  for (const [name, value] of Object.entries(overrides)) {
    if (!Object.hasOwn(DEFAULT_LIMITS, name)) {
      throw new BatonError("invalid_input", {
        message: `There is no limit called "${name}".`,
        path: `limits.${name}`,
        hint: `Known limits: ${Object.keys(DEFAULT_LIMITS).join(", ")}.`,
      });
    }
    const least = name === "storeBytes" ? 0 : 1;
    const most = name === "hops" ? FORMAT_LIMITS.hops : Number.MAX_SAFE_INTEGER;
    if (!Number.isSafeInteger(value) || value < least || value > most) {
      const bounds = name === "hops" ? `from ${least} to ${most}` : `of at least ${least}`;
      throw new BatonError("invalid_input", {
        message: `The limit "${name}" must be a whole number ${bounds}.`,
        path: `limits.${name}`,
        hint: `The default is ${DEFAULT_LIMITS[name as LimitName]}.`,
      });
    }
  }
  return { ...DEFAULT_LIMITS, ...overrides };
}

/** Throws when `actual` is over the limit, naming both. */
export function checkLimit(
  limits: Limits,
  name: LimitName,
  at: { actual: number; path: string },
): void {
  const max = limits[name];
  if (at.actual <= max) return;
  throw new BatonError("limit_exceeded", {
    message: `${at.path || "The input"} has ${at.actual}, the limit ${name} is ${max}.`,
    path: at.path,
    hint: `Make it smaller, split it, or open the hub with limits: { ${name}: … }.`,
    details: { limit: name, max, actual: at.actual },
  });
}
