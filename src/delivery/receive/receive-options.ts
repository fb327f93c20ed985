/** Options of `agent.inbox()`, `agent.accept()` and `offer.accept()`, with their checks. */
import {
  abortSignalCheck,
  booleanCheck,
  checkFields,
  idCheck,
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

/** Checks the options of `offer.accept()` and returns their receipt. */
export function checkReceiptOption(
  options: Pick<AcceptOptions, "receipt">,
): ReceiptSource | undefined {
  checkFields(options, RECEIPT);
  return options.receipt;
}
