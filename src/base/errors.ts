/**
 * `BatonError` and the table of its codes.
 *
 * Baton has three kinds of errors and never mixes them. Outcomes that every caller must handle are return
 * values in a closed union. Mistakes of the caller and outages (disk, lock, foreign file) are a `BatonError`
 * with a code of this table. Bugs of Baton are assertions and are never caught.
 */

/** What every interface needs to know about an error code. */
interface ErrorCodeInfo {
  /** HTTP status. */
  readonly http: number;
  /** JSON-RPC error code, also used by MCP. */
  readonly jsonRpc: number;
  /** Exit code of the command line (sysexits where one matches). */
  readonly exit: number;
  /** True if the same call can succeed later without a change. */
  readonly retryable: boolean;
  readonly meaning: string;
}

const facts = (http: number, jsonRpc: number, exit: number, meaning: string): ErrorCodeInfo => ({
  http,
  jsonRpc,
  exit,
  retryable: false,
  meaning,
});

const retryable = (
  http: number,
  jsonRpc: number,
  exit: number,
  meaning: string,
): ErrorCodeInfo => ({
  ...facts(http, jsonRpc, exit, meaning),
  retryable: true,
});

/**
 * Every error code, with its HTTP status, JSON-RPC code, exit code and meaning. docs/ERRORS.md is generated
 * from it.
 */
export const ERROR_CODES = {
  // Input.
  invalid_input: facts(400, -32602, 64, "An argument is invalid."),
  invalid_envelope: facts(422, -32602, 65, "The handoff violates a rule of the envelope."),
  invalid_payload: facts(
    422,
    -32602,
    65,
    "The payload does not match the schema registered for its type, or its type is not registered.",
  ),
  invalid_memory: facts(422, -32602, 65, "The memory violates a rule of the record."),
  limit_exceeded: facts(413, -32602, 65, "The input exceeds a named limit."),
  budget_too_small: facts(
    422,
    -32602,
    65,
    "What a view must contain does not fit into its token budget.",
  ),
  lint_refused: facts(
    422,
    -32602,
    65,
    "The handoff violates a binding lint rule; by default, raw conversations are rejected.",
  ),
  secret_found: facts(
    422,
    -32602,
    65,
    "The input contains a secret; this workspace rejects secrets.",
  ),
  unsupported_version: facts(422, -32602, 65, "This version of Baton cannot read the envelope."),
  dangling_reference: facts(422, -32602, 65, "References a record that does not exist."),
  invisible_reference: facts(
    422,
    -32602,
    65,
    "References a record that some readers cannot access.",
  ),
  already_known: facts(
    409,
    -32009,
    65,
    "The memory repeats one that exists, and the caller asked to refuse that.",
  ),
  context_conflict: facts(
    409,
    -32009,
    65,
    "The item of the shared context was changed since it was read.",
  ),
  contradiction: facts(409, -32009, 65, "Conflicts with an active decision."),
  id_conflict: facts(409, -32009, 65, "The id is already used for something else."),
  invalid_export: facts(422, -32602, 65, "The file is not an export, or it is damaged."),
  invalid_backup: facts(422, -32602, 65, "The file is not a backup, or it is damaged."),
  document_stale: facts(
    409,
    -32009,
    65,
    "The document changes memories that were changed since it was written.",
  ),

  // Agents and receivers.
  unknown_agent: facts(404, -32004, 67, "Agent not found."),
  agent_disabled: facts(403, -32003, 77, "The agent is disabled."),
  alias_taken: facts(409, -32009, 65, "The name belongs to another agent."),
  identity_mismatch: facts(403, -32003, 77, "The caller cannot prove that it is the agent."),
  not_permitted: facts(403, -32003, 77, "The agent's role does not permit this."),
  unknown_role: facts(404, -32004, 67, "No agent is registered for the role."),
  unknown_channel: facts(404, -32004, 67, "Channel not found."),
  channel_closed: facts(409, -32009, 69, "The channel is closed."),
  channel_paused: retryable(409, -32009, 75, "The channel is paused; retry later."),
  no_route: facts(422, -32602, 65, "The handoff names no receiver, and no route matches."),
  inbox_full: retryable(429, -32029, 75, "The receiver's inbox is full; retry later."),
  circuit_open: retryable(
    503,
    -32050,
    75,
    "The receiver's circuit breaker is open; retry later or reset it.",
  ),

  // Records, deliveries and tasks.
  unknown_memory: facts(404, -32004, 66, "Memory not found."),
  quarantined: facts(409, -32009, 65, "The record is quarantined; new records cannot build on it."),
  unknown_branch: facts(404, -32004, 66, "Branch not found."),
  branch_closed: facts(409, -32009, 65, "The branch was merged or abandoned."),
  unknown_envelope: facts(404, -32004, 66, "Envelope not found."),
  unknown_session: facts(404, -32004, 66, "No trace of that session."),
  unknown_delivery: facts(404, -32004, 66, "Delivery not found."),
  not_in_context: facts(404, -32004, 66, "No item of the shared context has that key."),
  not_on_ledger: facts(404, -32004, 66, "No item with that id is on the task's ledger."),
  unknown_payload_type: facts(404, -32004, 66, "Payload type not found."),
  unknown_task: facts(404, -32004, 66, "Task not found."),
  task_closed: facts(409, -32009, 65, "The task is closed; it takes no more handoffs."),
  task_open: facts(
    409,
    -32009,
    65,
    "The task has open work, so it cannot be closed or added again.",
  ),
  lease_lost: facts(409, -32009, 75, "The caller no longer holds the work."),
  cancelled: facts(409, -32009, 75, "The work was cancelled."),
  not_open: facts(409, -32009, 65, "The state of the delivery does not allow this."),
  receipt_required: facts(422, -32602, 65, "The handoff must be accepted with a matching receipt."),
  invalid_result: facts(422, -32602, 65, "The result does not match what the handoff expects."),
  idempotency_conflict: facts(
    409,
    -32009,
    65,
    "The idempotency key was used for a different request.",
  ),
  sql_refused: facts(403, -32003, 77, "The query does more than read the views."),
  sql_failed: facts(422, -32602, 65, "The database rejected the query."),
  sql_timeout: facts(408, -32008, 75, "The query exceeded its time limit and was cancelled."),
  work_extended: facts(
    409,
    -32009,
    65,
    "The sender extended the work; read the new envelope first.",
  ),
  already_settled: facts(409, -32009, 65, "The work was settled already."),

  // Authentication and HTTP.
  unauthenticated: facts(
    401,
    -32001,
    77,
    "The hub requires a token, and the request has none that is valid.",
  ),
  forbidden: facts(403, -32003, 77, "The access level or agent of the token does not allow this."),
  unknown_token: facts(404, -32004, 66, "Token not found."),
  unknown_call: facts(404, -32601, 64, "Route not found."),
  wrong_method: facts(405, -32601, 64, "The route does not support this HTTP method."),
  rate_limited: retryable(429, -32029, 75, "Rate limit exceeded; retry later."),

  // Store and runtime.
  store_busy: retryable(503, -32050, 75, "Other writers locked the store for too long; retry."),
  store_full: retryable(507, -32050, 74, "The disk is full, or the store reached its size limit."),
  store_unavailable: retryable(
    503,
    -32050,
    74,
    "The store cannot be read or written at the moment.",
  ),
  store_read_only: facts(500, -32050, 77, "The file or folder of the store is not writable."),
  store_corrupt: facts(500, -32050, 74, "The file of the store is damaged."),
  store_unsafe: facts(
    500,
    -32050,
    77,
    "The store is in a folder of another user, or it is tracked by git.",
  ),
  store_foreign: facts(500, -32050, 65, "The file belongs to another program."),
  store_too_new: facts(500, -32050, 65, "The store was written by a newer version of Baton."),
  store_too_old: facts(500, -32050, 65, "The store was written by an unreleased version of Baton."),
  store_unsupported: facts(501, -32050, 64, "Unsupported store address."),
  store_denied: facts(
    500,
    -32050,
    77,
    "The database rejected the user: wrong password, or missing privileges.",
  ),
  store_missing: facts(500, -32050, 66, "Store or database not found."),
  workspace_not_empty: facts(409, -32009, 65, "The workspace is not empty."),
  already_exists: facts(409, -32009, 73, "The file exists already."),
  file_unusable: facts(500, -32050, 66, "The file cannot be read or written."),
  store_closed: facts(503, -32050, 70, "The hub is closed."),
  hub_unreachable: retryable(
    503,
    -32050,
    75,
    "The hub cannot be reached, or the address is not a hub.",
  ),
  runtime_too_old: facts(500, -32050, 69, "Node.js or SQLite is older than Baton requires."),
  dependency_missing: facts(501, -32050, 69, "An optional package is required and not installed."),

  cannot_listen: facts(500, -32050, 69, "The hub cannot listen on the address or port."),
  /** Never thrown. HTTP, MCP and the command line report it for a bug in Baton. */
  internal: facts(500, -32603, 70, "Internal error: a bug in Baton."),

  // Embedder and summarizer.
  embedder_unavailable: retryable(
    503,
    -32050,
    75,
    "The embedder cannot be reached, or it returned an error.",
  ),
  embedder_invalid: facts(502, -32050, 76, "The embedder returned an invalid response."),
  summarizer_unavailable: retryable(
    503,
    -32050,
    75,
    "The summarizer cannot be reached, returned an error, or has no budget left.",
  ),
} as const satisfies Record<string, ErrorCodeInfo>;

/** The code of a `BatonError`. */
export type ErrorCode = keyof typeof ERROR_CODES;

/** One violated rule of an input. */
export interface Violation {
  /** The field, such as `constraints[2].rule`; empty for the whole input. */
  readonly path: string;
  /** A stable name of the rule: `required`, `type`, `max_length`, `unknown_field`, … */
  readonly rule: string;
  /** What is wrong with the value, with its path. */
  readonly message: string;
  /** What to pass instead, in one sentence. */
  readonly hint: string;
}

interface BatonErrorInit {
  readonly message: string;
  /** What to do next, in one sentence. */
  readonly hint: string;
  /** The field of the input, or the file, that caused the error. */
  readonly path?: string;
  readonly violations?: readonly Violation[];
  readonly details?: Readonly<Record<string, unknown>>;
  readonly cause?: unknown;
}

/** Without a limit, the response to a bad input can be many times its size. */
const MAX_VIOLATIONS = 100;

/** Identifies errors of every copy of this class: `batonpass/client` bundles its own. */
const BRAND = Symbol.for("batonpass.BatonError");

/**
 * The error that Baton throws. `code` is stable and listed in docs/ERRORS.md; `hint` says what to do next;
 * `path` is the field that caused it, or empty.
 */
export class BatonError extends Error {
  override readonly name = "BatonError";
  readonly code: ErrorCode;
  readonly path: string;
  readonly hint: string;
  /** True if the same call can succeed later without a change. */
  readonly retryable: boolean;
  /** All violations of the input, at most 100; empty for other errors. */
  readonly violations: readonly Violation[];
  /** Values for programs, such as ids and limits. */
  readonly details: Readonly<Record<string, unknown>>;

  constructor(code: ErrorCode, init: BatonErrorInit) {
    super(init.message, init.cause === undefined ? undefined : { cause: init.cause });
    this.code = code;
    this.violations = (init.violations ?? []).slice(0, MAX_VIOLATIONS);
    this.path = init.path ?? this.violations[0]?.path ?? "";
    this.hint = init.hint;
    this.retryable = ERROR_CODES[code].retryable;
    this.details = init.details ?? {};
  }

  get [BRAND](): true {
    return true;
  }

  /** The form that HTTP, MCP and `--json` use. */
  toJSON(): object {
    return {
      code: this.code,
      message: this.message,
      path: this.path,
      hint: this.hint,
      retryable: this.retryable,
      violations: this.violations,
      details: this.details,
    };
  }
}

/** Returns true for a `BatonError`, also of another copy of this package, where `instanceof` fails. */
export function isBatonError(value: unknown): value is BatonError {
  return typeof value === "object" && value !== null && BRAND in value;
}

/** Runs a step on one part of the input. A `BatonError` of it names that part: `drafts[2].to`. */
export async function withinPath<Result>(
  part: string,
  step: () => Promise<Result>,
): Promise<Result> {
  try {
    return await step();
  } catch (error) {
    throw isBatonError(error) ? errorWithin(part, error) : error;
  }
}

function errorWithin(part: string, error: BatonError): BatonError {
  const { code, message, hint, path, violations, details, cause } = error;
  const within = (field: string): string => (field === "" ? part : `${part}.${field}`);
  return new BatonError(code, {
    message: `${part}: ${message}`,
    path: within(path),
    hint,
    violations: violations.map((each) => ({
      ...each,
      path: within(each.path),
      message:
        each.path === ""
          ? `${part}: ${each.message}`
          : each.message.replace(each.path, within(each.path)),
    })),
    details,
    cause,
  });
}

/** Returns a text without its final full stops, to put it into a sentence that ends with one. */
export const trimFullStop = (text: string): string => text.replace(/(?<!\.)\.{1,2}$/, "");

/** Emits a process warning for an error of a background thread that no caller waits for. */
export function warnOfBackgroundError(error: unknown): void {
  const { message, hint } = error as Partial<BatonError> & Error;
  process.emitWarning(hint === undefined ? message : `${message} ${hint}`, {
    type: "BatonWarning",
    code: "BATON_BACKGROUND_ERROR",
  });
}

/** Ends a switch over a tagged union; compiles only if every case is handled. */
export function assertNever(value: never): never {
  throw new Error(`unreachable: ${JSON.stringify(value)}`);
}
