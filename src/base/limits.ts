/**
 * Every limit of Baton, with name, default and reason. Exceeding a limit is an error that names the limit;
 * input is never truncated. A hub accepts overrides for the limits that are policy (`DEFAULT_LIMITS`); the
 * others are fixed, because stored data and published schemas depend on them.
 */
import { BatonError } from "./errors.ts";

/** Limits fixed by the format: the published JSON Schemas contain them. */
export const FORMAT_LIMITS = {
  /** Characters of the name of an agent, role, task, run or workspace. */
  nameLength: 128,
  /** Characters of a sentence: a constraint, a step, a question. */
  lineLength: 2_000,
  /** Characters of a paragraph: the intent, the current state, a summary. */
  textLength: 16_000,
  /**
   * Characters of an intent that are in the envelope. The full text of a longer intent is stored as a record,
   * the brief.
   */
  intentLength: 4_000,
  /** Characters of a memory's content. Longer documents are artifacts with a digest. */
  contentLength: 64_000,
  /** Entries in one list of an envelope (done, next, constraints, history …). */
  listItems: 200,
  /** Entries on the ledger of a task: constraints, open decisions, progress and releases. */
  ledgerItems: 4_000,
  /** Items in the shared context at a time: every session starts by reading them. */
  contextItems: 1_000,
  /** References of one envelope or memory. */
  references: 500,
  /** Parents of one envelope. */
  parents: 64,
  /** Tags of one memory, and entries of other short lists of names. */
  tags: 32,
  /** Relations of one memory: enough for every reference of a handoff and the handoffs it continues. */
  relations: 512,
  /** Nesting depth of free-form JSON (payloads, data, metadata). */
  jsonDepth: 32,
  /** The longest duration in a policy: a year. */
  durationMs: 366 * 24 * 3_600_000,
  /** Attempts that a policy can set. */
  attempts: 100,
  /** Fallback receivers of a policy. */
  fallbacks: 8,
  /** Upper bound of the limit `hops`. */
  hops: 64,
} as const;

/** The default of every limit that a hub can override with `limits`. */
export const DEFAULT_LIMITS = {
  /** Canonical bytes of one envelope. Larger content belongs in artifacts or memories. */
  envelopeBytes: 256 * 1024,
  /** Canonical bytes of one memory. */
  memoryBytes: 128 * 1024,
  /** Memories in one append; bounds the longest transaction. */
  appendBatch: 1_000,
  /** Handoffs in one `handoffMany()`; bounds the longest transaction. */
  handoffBatch: 256,
  /** Entries in one response of `recent`, `relations`, `events` or `waiting`. */
  pageSize: 1_000,
  /** Offers in one claim. */
  claimBatch: 100,
  /** Handlers that one `agent.work()` runs at the same time. */
  concurrency: 1_000,
  /** Duration of a lease in milliseconds; without a renewal, the delivery then goes to the next claim. */
  leaseMs: 60_000,
  /** Milliseconds that one holder can keep a delivery, however often it renews the lease. */
  holdMs: 24 * 3_600_000,
  /** Claimed attempts of one delivery before it becomes a dead letter. */
  attempts: 3,
  /** Consecutive handoffs of one line; the next one becomes a dead letter. */
  hops: 10,
  /** Open handoffs of one receiver; further ones fail with `inbox_full`. */
  inbox: 10_000,
  /**
   * Consecutive deliveries that a receiver may lose before its circuit breaker opens, and for how many
   * milliseconds it stays open.
   */
  breakerStrikes: 3,
  breakerMs: 60_000,
  /** Milliseconds a coordinator has to accept a failure, and again to decide; a person has `personMs`. */
  coordinatorMs: 600_000,
  personMs: 24 * 3_600_000,
  /** Redrives of one dead letter; after that it stays dead permanently. */
  redrives: 5,
  /** Tasks in one board or tree. */
  taskTree: 1_000,
  /** Valid tokens of one workspace at a time. */
  tokens: 10_000,
  /** Payload types registered in one workspace, and the versions kept of all of them. */
  payloadTypes: 200,
  payloadTypeVersions: 2_000,
  /** Canonical bytes of the JSON Schema of a payload type. */
  payloadSchemaBytes: 64 * 1024,
  /** Receivers of one handoff to a channel; deliveries of one `handoffMany()`. */
  receivers: 1_000,
  /** Branches merged into one, directly or indirectly: every read walks them. */
  mergedLines: 10_000,
  /** Depth and number of records when following what was derived from a memory. */
  impactDepth: 100,
  impactVisits: 10_000,
  /** Rows and bytes of one SQL response, and the time limit of the query in milliseconds. */
  sqlRows: 10_000,
  sqlBytes: 8 * 1024 * 1024,
  sqlMs: 5_000,
  /** Canonical bytes of one trace step. Larger tool output belongs in an artifact. */
  traceBytes: 64 * 1024,
  /** Trace steps of a hub that wait to be stored; more are rejected. */
  traceBuffer: 4_096,
  /** Bytes of one line of an export: enough for the largest record with its escapes. */
  exportLineBytes: 64 * 1024 * 1024,
  /** Bytes read to verify the artifacts of a handoff; files beyond that are not verified. */
  artifactBytes: 256 * 1024 * 1024,
  /** Bytes of an exported or imported document (MEMORY.md), which is held in memory. */
  documentBytes: 16 * 1024 * 1024,
  /** Milliseconds that a write waits for other processes to release the file. */
  busyMs: 30_000,
  /** Maximum size of the store in bytes; 0 means no limit other than the disk. */
  storeBytes: 0,
} as const satisfies Record<string, number>;

/** The name of a limit that a hub can override. */
export type LimitName = keyof typeof DEFAULT_LIMITS;
/** A value for every limit. */
export type Limits = Readonly<Record<LimitName, number>>;

/**
 * Returns the defaults with the overrides applied. Throws `invalid_input` for an unknown name or an invalid
 * value.
 */
export function resolveLimits(overrides: Partial<Limits> = {}): Limits {
  if (overrides === null || typeof overrides !== "object") {
    throw new BatonError("invalid_input", {
      message: "Invalid limits: expected an object.",
      path: "limits",
      hint: "Pass an object such as { leaseMs: 120_000 }.",
    });
  }
  for (const [name, value] of Object.entries(overrides)) {
    if (!Object.hasOwn(DEFAULT_LIMITS, name)) {
      throw new BatonError("invalid_input", {
        message: `Unknown limit "${name}".`,
        path: `limits.${name}`,
        hint: `Use one of ${Object.keys(DEFAULT_LIMITS).join(", ")}.`,
      });
    }
    const least = name === "storeBytes" ? 0 : 1;
    const most = name === "hops" ? FORMAT_LIMITS.hops : Number.MAX_SAFE_INTEGER;
    if (!Number.isSafeInteger(value) || value < least || value > most) {
      const bounds = name === "hops" ? `from ${least} to ${most}` : `of at least ${least}`;
      throw new BatonError("invalid_input", {
        message: `The limit "${name}" must be a whole number ${bounds}.`,
        path: `limits.${name}`,
        hint: `Pass a valid number, or omit the limit (default: ${DEFAULT_LIMITS[name as LimitName]}).`,
      });
    }
  }
  return { ...DEFAULT_LIMITS, ...overrides };
}

/** Throws `limit_exceeded`, with both numbers, if `actual` is greater than the limit. */
export function checkLimit(
  limits: Limits,
  name: LimitName,
  at: { actual: number; path: string },
): void {
  const max = limits[name];
  if (at.actual <= max) return;
  throw new BatonError("limit_exceeded", {
    message: `${at.path || "The input"} is ${at.actual}; the maximum is ${max} (limit ${name}).`,
    path: at.path,
    hint:
      at.path === "limit"
        ? `Pass a limit of at most ${max}. For the following page, pass the value of "next" as "after".`
        : `Shorten or split the input, or open the hub with limits: { ${name}: … }.`,
    details: { limit: name, max, actual: at.actual },
  });
}
