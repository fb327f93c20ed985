/** Options of `agent.inbox()`, `agent.accept()`, `agent.work()` and `offer.accept()`, with their checks. */
import { checkLimit, type Limits } from "../../base/limits.ts";
import {
  abortSignalCheck,
  booleanCheck,
  checkFields,
  idCheck,
  integerCheck,
  minimumCheck,
  nameCheck,
  objectOrFunctionCheck,
  optionalCheck,
} from "../../envelope/check-options.ts";
import type { ReceiptSource } from "./receipt.ts";

/** Options of `agent.inbox()`. */
export interface InboxOptions {
  /** Ends the inbox. */
  readonly signal?: AbortSignal | undefined;
  /** Only handoffs of this task. */
  readonly task?: string | undefined;
  /** Ends the inbox after this many milliseconds. Default: no limit. */
  readonly timeoutMs?: number | undefined;
  /** False ends the inbox when nothing is ready instead of waiting for more. Default: true. */
  readonly wait?: boolean | undefined;
}

const INBOX = {
  signal: optionalCheck(abortSignalCheck),
  task: optionalCheck(nameCheck),
  timeoutMs: optionalCheck(minimumCheck(0)),
  wait: optionalCheck(booleanCheck),
};

type WithTimeoutSignal<Options> = Omit<Options, "timeoutMs" | "wait"> & { readonly wait: boolean };

/** Checks the options of `agent.inbox()` and converts the timeout to a signal; throws `invalid_input`. */
export function checkInboxOptions(options: InboxOptions): WithTimeoutSignal<InboxOptions> {
  checkFields(options, INBOX, "The inbox request");
  return withTimeoutSignal(options, true);
}

/** Returns the options with the timeout as a signal; a timeout of 0 does not wait. */
function withTimeoutSignal<Options extends InboxOptions>(
  { timeoutMs, wait, ...options }: Options,
  waits: boolean,
): WithTimeoutSignal<Options> {
  if (timeoutMs === undefined) return { ...options, wait: wait ?? waits };
  if (timeoutMs === 0) return { ...options, wait: false };
  const timeout = AbortSignal.timeout(timeoutMs);
  const signal =
    options.signal === undefined ? timeout : AbortSignal.any([options.signal, timeout]);
  return { ...options, signal, wait: wait ?? true };
}

/** Options of `agent.accept()`. */
export interface AcceptOptions {
  /** The delivery to accept, by its id. */
  readonly delivery?: string | undefined;
  /** The receipt, if the handoff requires one; or a function that makes it from the envelope. */
  readonly receipt?: ReceiptSource | undefined;
  /** Ends the wait. */
  readonly signal?: AbortSignal | undefined;
  /** Only a handoff of this task. */
  readonly task?: string | undefined;
  /** Waits at most this many milliseconds when nothing is ready. Implies `wait`. */
  readonly timeoutMs?: number | undefined;
  /** True waits until something is ready. Default: false. */
  readonly wait?: boolean | undefined;
}

const RECEIPT = { receipt: optionalCheck(objectOrFunctionCheck) };
const ACCEPT = { ...INBOX, ...RECEIPT, delivery: optionalCheck(idCheck("delivery")) };

/** Checks the options of `agent.accept()` and converts the timeout to a signal; throws `invalid_input`. */
export function checkAcceptOptions(options: AcceptOptions): WithTimeoutSignal<AcceptOptions> {
  checkFields(options, ACCEPT, "The accept request");
  return withTimeoutSignal(options, false);
}

/** Options of `agent.work()`. */
export interface WorkOptions {
  /** How many handlers run at the same time; no more work than this is held. Default: 1. */
  readonly concurrency?: number | undefined;
  /**
   * Milliseconds that running handlers get to finish after a stop. Then their signal aborts and their work is
   * released. Default: 30,000.
   */
  readonly graceMs?: number | undefined;
  /** The receipt, if the handoffs require one; or a function that makes it from the envelope. */
  readonly receipt?: ReceiptSource | undefined;
  /** Stops the loop: nothing more is claimed, and running handlers finish. */
  readonly signal?: AbortSignal | undefined;
  /** Only handoffs of this task. */
  readonly task?: string | undefined;
  /** False returns when nothing is ready and no handler runs, instead of waiting for more. Default: true. */
  readonly wait?: boolean | undefined;
}

const WORK = {
  concurrency: optionalCheck(integerCheck(1)),
  graceMs: optionalCheck(minimumCheck(0)),
  ...RECEIPT,
  signal: INBOX.signal,
  task: INBOX.task,
  wait: INBOX.wait,
};

const GRACE_MS = 30_000;

/** The checked options of `agent.work()`, with defaults. */
export interface CheckedWorkOptions extends Omit<WorkOptions, "concurrency" | "graceMs" | "wait"> {
  readonly concurrency: number;
  readonly graceMs: number;
  readonly wait: boolean;
}

/** Checks the options of `agent.work()`; throws `invalid_input`, or `limit_exceeded` for the concurrency. */
export function checkWorkOptions(options: WorkOptions, limits: Limits): CheckedWorkOptions {
  checkFields(options, WORK, "The work request");
  const { concurrency = 1, graceMs = GRACE_MS, wait = true, ...rest } = options;
  checkLimit(limits, "concurrency", { actual: concurrency, path: "concurrency" });
  return { ...rest, concurrency, graceMs, wait };
}

/** Checks the options of `offer.accept()` and returns their receipt. */
export function checkReceiptOption(
  options: Pick<AcceptOptions, "receipt">,
): ReceiptSource | undefined {
  checkFields(options, RECEIPT);
  return options.receipt;
}
