/** Options of the waiting methods of `Sent` and `hub.deliveries`, with their checks. */
import {
  abortSignalCheck,
  booleanCheck,
  checkFields,
  minimumCheck,
  optionalCheck,
} from "../../envelope/check-options.ts";
import type { Envelope } from "../../envelope/schema.ts";

/** Options of waiting for a delivery. */
export interface WaitOptions {
  /** Ends the wait. */
  readonly signal?: AbortSignal | undefined;
  /** Ends the wait after this many milliseconds. Default: no limit. */
  readonly timeoutMs?: number | undefined;
}

/** Options of waiting for completion. */
export interface CompletedOptions extends WaitOptions {
  /** True follows work that is handed on and waits for the end of the line. Default: false. */
  readonly line?: boolean | undefined;
}

const WAIT = { signal: optionalCheck(abortSignalCheck), timeoutMs: optionalCheck(minimumCheck(0)) };
const COMPLETED = { ...WAIT, line: optionalCheck(booleanCheck) };

/** Checks wait options; throws `invalid_input`. */
export function checkWaitOptions(options: WaitOptions): WaitOptions {
  checkFields(options, WAIT);
  return options;
}

/** Checks the options of waiting for completion and applies defaults; throws `invalid_input`. */
export function checkCompletedOptions(
  options: CompletedOptions,
): CompletedOptions & { readonly line: boolean } {
  checkFields(options, COMPLETED);
  return { ...options, line: options.line ?? false };
}

/** Default time that a sender waits for a handoff to be accepted. */
const ACCEPTED_WITHIN_MS = 15_000;

/** Returns the default wait for acceptance; undefined (no limit) if the policy limits each attempt itself. */
export const defaultAcceptWait = ({ policy }: Pick<Envelope, "policy">): number | undefined =>
  policy?.acceptMs === undefined ? ACCEPTED_WITHIN_MS : undefined;
