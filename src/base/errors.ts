/**
 * The one error type and the one table of codes.
 *
 * Three kinds of trouble are kept apart everywhere. What a caller must expect (a lease that was
 * lost, an extended handoff) is a return value in a closed union. What a caller did wrong, and what
 * the outside world did (disk, lock, foreign file), is a `BatonError` with a code of this table.
 * What can only be our own bug is an `assert`, and is never caught.
 */

interface CodeFacts {
  /** What HTTP answers. */
  readonly http: number;
  /** What JSON-RPC (and so MCP) answers. */
  readonly jsonRpc: number;
  /** What the command line exits with (sysexits where one fits). */
  readonly exit: number;
  /** True when the same call may succeed later without anybody changing it. */
  readonly retryable: boolean;
  readonly meaning: string;
}

const facts = (http: number, jsonRpc: number, exit: number, meaning: string): CodeFacts => ({
  http,
  jsonRpc,
  exit,
  retryable: false,
  meaning,
});

const retryable = (http: number, jsonRpc: number, exit: number, meaning: string): CodeFacts => ({
  ...facts(http, jsonRpc, exit, meaning),
  retryable: true,
});

export const ERROR_CODES = {
  // The caller's input.
  invalid_input: facts(400, -32602, 64, "An argument has the wrong form."),
  invalid_envelope: facts(422, -32602, 65, "A handoff breaks the envelope's rules."),
  invalid_payload: facts(
    422,
    -32602,
    65,
    "A payload breaks the schema registered for its type, or its type is not registered.",
  ),
  invalid_memory: facts(422, -32602, 65, "A memory breaks the record's rules."),
  limit_exceeded: facts(413, -32602, 65, "Something is larger than its named limit."),
  budget_too_small: facts(
    422,
    -32602,
    65,
    "What must travel does not fit into the token budget of a view.",
  ),
  lint_refused: facts(
    422,
    -32602,
    65,
    "A handoff breaks a binding lint rule; by default, raw conversations.",
  ),
  secret_found: facts(422, -32602, 65, "It holds a secret, and none are stored here."),
  unsupported_version: facts(
    422,
    -32602,
    65,
    "An envelope is of a version that this Baton cannot read.",
  ),
  dangling_reference: facts(422, -32602, 65, "A reference names a record that does not exist."),
  invisible_reference: facts(
    422,
    -32602,
    65,
    "A record or a handoff names one that not everybody may see who may see it.",
  ),
  already_known: facts(
    409,
    -32009,
    65,
    "What it says is known already, and repeating was refused.",
  ),
  context_conflict: facts(
    409,
    -32009,
    65,
    "An item of the shared context was changed since its writer looked.",
  ),
  contradiction: facts(409, -32009, 65, "A decision speaks against one that holds."),
  id_conflict: facts(409, -32009, 65, "An id was used before for something else."),
  invalid_export: facts(422, -32602, 65, "A file is no export, or not as it was exported."),
  invalid_backup: facts(422, -32602, 65, "A file is no backup, or not as it was backed up."),
  document_stale: facts(409, -32009, 65, "What the document changes was changed meanwhile."),

  // Who is acting, and for whom.
  unknown_agent: facts(404, -32004, 67, "No agent is registered under that name."),
  agent_disabled: facts(403, -32003, 77, "The agent is registered but disabled."),
  alias_taken: facts(409, -32009, 65, "The name already belongs to another agent."),
  identity_mismatch: facts(403, -32003, 77, "The caller is not who it claims to be."),
  not_permitted: facts(403, -32003, 77, "The agent may not do this: it takes another role."),
  unknown_role: facts(404, -32004, 67, "No agent is registered for that role."),
  unknown_channel: facts(404, -32004, 67, "No channel has that name."),
  channel_closed: facts(409, -32009, 69, "The channel is closed: nothing is published on it."),
  channel_paused: retryable(409, -32009, 75, "The channel is paused: publish again later."),
  no_route: facts(422, -32602, 65, "No receiver was named, and no route leads to one."),
  inbox_full: retryable(429, -32029, 75, "The receiver has as much open work as it may have."),
  circuit_open: retryable(503, -32050, 75, "The receiver failed again and again: wait, or reset."),

  // What is asked for.
  unknown_memory: facts(404, -32004, 66, "No memory has that id."),
  quarantined: facts(409, -32009, 65, "A record was taken out of sight: nothing new builds on it."),
  unknown_branch: facts(404, -32004, 66, "No branch has that name."),
  branch_closed: facts(409, -32009, 65, "The branch was merged or abandoned: it takes no records."),
  unknown_envelope: facts(404, -32004, 66, "No envelope has that id."),
  unknown_session: facts(404, -32004, 66, "No session of that name has left a trace."),
  unknown_delivery: facts(404, -32004, 66, "No delivery has that id."),
  not_in_context: facts(404, -32004, 66, "Nothing in the shared context has that key."),
  not_on_ledger: facts(
    404,
    -32004,
    66,
    "No constraint or open decision of that id is on the task's ledger.",
  ),
  unknown_payload_type: facts(404, -32004, 66, "No payload type of that name is registered."),
  unknown_task: facts(404, -32004, 66, "Nobody has handed over anything of that task."),
  task_closed: facts(409, -32009, 65, "The task was closed: nothing more is handed over for it."),
  task_open: facts(409, -32009, 65, "The task has open work, and cannot be closed or added."),
  lease_lost: facts(409, -32009, 75, "The work is no longer held by the caller."),
  cancelled: facts(409, -32009, 75, "The work was cancelled."),
  not_open: facts(409, -32009, 65, "The delivery is not in a state in which this can be done."),
  receipt_required: facts(422, -32602, 65, "Accepting this handoff takes a receipt that fits."),
  invalid_result: facts(422, -32602, 65, "A result is not what the handoff expects."),
  idempotency_conflict: facts(409, -32009, 65, "The key was used before, for something else."),
  sql_refused: facts(403, -32003, 77, "A query does something other than read the views."),
  sql_failed: facts(422, -32602, 65, "The database could not make sense of a query."),
  sql_timeout: facts(408, -32008, 75, "A query took longer than it may, and was ended."),
  work_extended: facts(
    409,
    -32009,
    65,
    "The sender extended the work: read the new envelope first.",
  ),
  already_settled: facts(409, -32009, 65, "The work was settled before."),

  // Who asks.
  unauthenticated: facts(401, -32001, 77, "The hub asks for a token, and there is no good one."),
  forbidden: facts(403, -32003, 77, "The token's access or its agent does not allow this."),
  unknown_token: facts(404, -32004, 66, "No token has that id."),
  unknown_call: facts(404, -32601, 64, "The hub has nothing at that address."),
  wrong_method: facts(405, -32601, 64, "What is at that address is not called in this way."),
  rate_limited: retryable(429, -32029, 75, "The caller asks more often than it may: wait a while."),

  // The store and what is under it.
  store_busy: retryable(503, -32050, 75, "Other writers held the store for too long."),
  store_full: retryable(507, -32050, 74, "The disk or the store's size limit is full."),
  store_unavailable: retryable(503, -32050, 74, "The store could not be read or written."),
  store_read_only: facts(500, -32050, 77, "The store's file or folder cannot be written."),
  store_corrupt: facts(500, -32050, 74, "The store's file is damaged."),
  store_foreign: facts(500, -32050, 65, "The file belongs to another program."),
  store_too_new: facts(500, -32050, 65, "The store was written by a newer Baton."),
  store_too_old: facts(500, -32050, 65, "The store was written by an unreleased Baton."),
  store_unsupported: facts(501, -32050, 64, "No store serves that address."),
  store_denied: facts(
    500,
    -32050,
    77,
    "The database refuses the user: wrong password, or missing rights.",
  ),
  store_missing: facts(500, -32050, 66, "There is no store at that address, or no such database."),
  workspace_not_empty: facts(409, -32009, 65, "The workspace holds something else already."),
  already_exists: facts(409, -32009, 73, "There is a file already where one is to be made."),
  file_unusable: facts(500, -32050, 66, "A file that was named cannot be read or written."),
  store_closed: facts(503, -32050, 70, "The hub was closed."),
  hub_unreachable: retryable(
    503,
    -32050,
    75,
    "The hub at that address could not be reached, or does not answer as one.",
  ),
  runtime_too_old: facts(500, -32050, 69, "Node.js or SQLite is older than Baton needs."),
  dependency_missing: facts(501, -32050, 69, "An optional package is needed and not installed."),

  cannot_listen: facts(500, -32050, 69, "The hub cannot listen on that address or port."),
  /** Never thrown: what a door tells of a bug of our own. */
  internal: facts(500, -32603, 70, "Baton made a mistake."),

  // What turns text into vectors.
  embedder_unavailable: retryable(
    503,
    -32050,
    75,
    "The embedder could not be reached, or answers wrongly.",
  ),
  embedder_invalid: facts(502, -32050, 76, "What makes vectors is damaged, or refuses."),
  summarizer_unavailable: retryable(
    503,
    -32050,
    75,
    "The summarizer could not be reached, answers wrongly, or may not spend more.",
  ),
} as const satisfies Record<string, CodeFacts>;

export type ErrorCode = keyof typeof ERROR_CODES;

/** One broken rule, as precise as it can be said. */
export interface Violation {
  /** Where: `constraints[2].rule`. Empty for the whole value. */
  readonly path: string;
  /** Which rule, as a stable word: `required`, `type`, `max_length`, `unknown_field`, … */
  readonly rule: string;
  readonly message: string;
  readonly hint: string;
}

interface BatonErrorInit {
  readonly message: string;
  /** What to do about it, in one sentence. */
  readonly hint: string;
  /** The place in the caller's input (or the file) that is at fault. */
  readonly path?: string;
  readonly violations?: readonly Violation[];
  readonly details?: Readonly<Record<string, unknown>>;
  readonly cause?: unknown;
}

/** Enough to mend an input by; without a bound, the answer to a bad one is many times its size. */
const MOST_VIOLATIONS = 100;

/** Marks the errors of every copy of this class: `batonpass/client` has one of its own. */
const BRAND = Symbol.for("batonpass.BatonError");

export class BatonError extends Error {
  override readonly name = "BatonError";
  readonly code: ErrorCode;
  readonly path: string;
  readonly hint: string;
  readonly retryable: boolean;
  readonly violations: readonly Violation[];
  readonly details: Readonly<Record<string, unknown>>;

  constructor(code: ErrorCode, init: BatonErrorInit) {
    super(init.message, init.cause === undefined ? undefined : { cause: init.cause });
    this.code = code;
    this.violations = (init.violations ?? []).slice(0, MOST_VIOLATIONS);
    this.path = init.path ?? this.violations[0]?.path ?? "";
    this.hint = init.hint;
    this.retryable = ERROR_CODES[code].retryable;
    this.details = init.details ?? {};
  }

  get [BRAND](): true {
    return true;
  }

  /** The wire form: the same at every door. */
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

/** Also true for an error of another copy of this package, where `instanceof` is not. */
export function isBatonError(value: unknown): value is BatonError {
  return typeof value === "object" && value !== null && BRAND in value;
}

/** The end of a switch over a tagged union: compiles only when every case is handled. */
export function assertNever(value: never): never {
  throw new Error(`unreachable: ${JSON.stringify(value)}`);
}
