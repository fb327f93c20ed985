/** Options of receiving: of `agent.inbox()`, `agent.accept()` and `offer.accept()`. */
import {
  checkFields,
  isAbortSignal,
  isBoolean,
  isId,
  isName,
  isObjectOrFunction,
  optional,
} from "../../envelope/check-options.ts";
import type { ReceiptSource } from "./receipt.ts";

export interface InboxOptions {
  /** Ends the inbox. */
  readonly signal?: AbortSignal | undefined;
  /** Only handoffs of this task. */
  readonly task?: string | undefined;
  /** False: end when nothing is ready, instead of waiting for more. Default: true. */
  readonly wait?: boolean | undefined;
}

const INBOX = {
  signal: optional(isAbortSignal),
  task: optional(isName),
  wait: optional(isBoolean),
};

export function checkedInbox(options: InboxOptions): InboxOptions & { readonly wait: boolean } {
  checkFields(options, INBOX, "The inbox's options");
  return { ...options, wait: options.wait ?? true };
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
  /** True: when nothing is ready, wait until something is. Default: false. */
  readonly wait?: boolean | undefined;
}

const RECEIPT = { receipt: optional(isObjectOrFunction) };
const ACCEPT = { ...INBOX, ...RECEIPT, delivery: optional(isId("delivery")) };

export function checkedAccept(options: AcceptOptions): AcceptOptions & { readonly wait: boolean } {
  checkFields(options, ACCEPT, "The choice");
  return { ...options, wait: options.wait ?? false };
}

/** Returns the receipt of options that have nothing else: those of accepting an offer. */
export function checkedReceipt(options: Pick<AcceptOptions, "receipt">): ReceiptSource | undefined {
  checkFields(options, RECEIPT);
  return options.receipt;
}
