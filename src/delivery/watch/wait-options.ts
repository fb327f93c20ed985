/** Options of waiting for a delivery, as `sent` and `hub.deliveries` take them. */
import {
  abortSignalCheck,
  booleanCheck,
  checkFields,
  minimumCheck,
  optionalCheck,
} from "../../envelope/check-options.ts";
import type { Envelope } from "../../envelope/schema.ts";

export interface WaitOptions {
  /** Ends the wait. */
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs?: number | undefined;
}

export interface CompletedOptions extends WaitOptions {
  /** True: handed on, it is not over; wait for the end of the line. Default: false. */
  readonly line?: boolean | undefined;
}

const WAIT = { signal: optionalCheck(abortSignalCheck), timeoutMs: optionalCheck(minimumCheck(0)) };
const COMPLETED = { ...WAIT, line: optionalCheck(booleanCheck) };

export function checkWaitOptions(options: WaitOptions): WaitOptions {
  checkFields(options, WAIT);
  return options;
}

export function checkCompletedOptions(
  options: CompletedOptions,
): CompletedOptions & { readonly line: boolean } {
  checkFields(options, COMPLETED);
  return { ...options, line: options.line ?? false };
}

/** How long a sender waits for a handoff to be accepted. */
const ACCEPTED_WITHIN_MS = 15_000;

/** The default wait for acceptance; none where the policy limits each attempt itself. */
export const defaultAcceptWait = ({ policy }: Pick<Envelope, "policy">): number | undefined =>
  policy?.acceptMs === undefined ? ACCEPTED_WITHIN_MS : undefined;
