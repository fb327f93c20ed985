/** Options of receiving: of `agent.inbox()`, `agent.accept()` and `offer.accept()`. */
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

export interface InboxOptions {
  /** Ends the inbox. */
  readonly signal?: AbortSignal | undefined;
  /** Only handoffs of this task. */
  readonly task?: string | undefined;
  /** Ends the inbox after so many milliseconds. Default: no limit. */
  readonly timeoutMs?: number | undefined;
  /** False: end when nothing is ready, instead of waiting for more. Default: true. */
  readonly wait?: boolean | undefined;
}

const INBOX = {
  signal: optionalCheck(abortSignalCheck),
  task: optionalCheck(nameCheck),
  timeoutMs: optionalCheck(minimumCheck(0)),
  wait: optionalCheck(booleanCheck),
};

type WithTimeoutSignal<Options> = Omit<Options, "timeoutMs" | "wait"> & { readonly wait: boolean };

export function checkInboxOptions(options: InboxOptions): WithTimeoutSignal<InboxOptions> {
  checkFields(options, INBOX, "The inbox's options");
  return withTimeoutSignal(options, true);
}

/** With the time limit as a signal; 0 waits for nothing. */
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

export interface AcceptOptions {
  /** The delivery to accept, by its id. */
  readonly delivery?: string | undefined;
  /** The receipt, where the handoff requires one; or a function that makes it from the envelope. */
  readonly receipt?: ReceiptSource | undefined;
  /** Ends the wait. */
  readonly signal?: AbortSignal | undefined;
  /** Only a handoff of this task. */
  readonly task?: string | undefined;
  /** Waits for so many milliseconds at most when nothing is ready. Implies `wait`. */
  readonly timeoutMs?: number | undefined;
  /** True: when nothing is ready, wait until something is. Default: false. */
  readonly wait?: boolean | undefined;
}

const RECEIPT = { receipt: optionalCheck(objectOrFunctionCheck) };
const ACCEPT = { ...INBOX, ...RECEIPT, delivery: optionalCheck(idCheck("delivery")) };

export function checkAcceptOptions(options: AcceptOptions): WithTimeoutSignal<AcceptOptions> {
  checkFields(options, ACCEPT, "The choice");
  return withTimeoutSignal(options, false);
}

/** Returns the receipt of options that have nothing else: those of accepting an offer. */
export function checkReceiptOption(
  options: Pick<AcceptOptions, "receipt">,
): ReceiptSource | undefined {
  checkFields(options, RECEIPT);
  return options.receipt;
}
