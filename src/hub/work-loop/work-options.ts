/** Options of `agent.work()`, with their check. */
import { checkLimit, type Limits } from "../../base/limits.ts";
import type { ReceiptSource } from "../../delivery/receive/receipt.ts";
import {
  abortSignalCheck,
  booleanCheck,
  checkFields,
  functionCheck,
  integerCheck,
  minimumCheck,
  nameCheck,
  objectOrFunctionCheck,
  optionalCheck,
} from "../../envelope/check-options.ts";
import type { Work } from "../work.ts";

/** Options of `agent.work()`. */
export interface WorkOptions {
  /** How many handlers run at the same time; no more work than this is held. Default: 1. */
  readonly concurrency?: number | undefined;
  /**
   * Milliseconds that running handlers get to finish after a stop. Then their signal aborts and their work is
   * released. Default: 30,000.
   */
  readonly graceMs?: number | undefined;
  /**
   * Called with each error that the loop handles: what a handler throws and why its result was refused, with
   * the work; and errors of settling (with the work) and of claiming that are retried. For logging: the loop
   * does not wait for it. Default: errors are not reported.
   */
  readonly onError?: ((error: unknown, work?: Work) => void) | undefined;
  /** The receipt, if the handoffs require one; or a function that makes it from the envelope. */
  readonly receipt?: ReceiptSource | undefined;
  /** Stops the loop: nothing more is claimed, and running handlers finish. */
  readonly signal?: AbortSignal | undefined;
  /** Only handoffs of this task. */
  readonly task?: string | undefined;
  /** False returns when nothing is ready and no handler runs, instead of waiting for more. Default: true. */
  readonly wait?: boolean | undefined;
}

const CHECKS = {
  concurrency: optionalCheck(integerCheck(1)),
  graceMs: optionalCheck(minimumCheck(0)),
  onError: optionalCheck(functionCheck),
  receipt: optionalCheck(objectOrFunctionCheck),
  signal: optionalCheck(abortSignalCheck),
  task: optionalCheck(nameCheck),
  wait: optionalCheck(booleanCheck),
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
  checkFields(options, CHECKS, "The work request");
  const { concurrency = 1, graceMs = GRACE_MS, wait = true, ...rest } = options;
  checkLimit(limits, "concurrency", { actual: concurrency, path: "concurrency" });
  return { ...rest, concurrency, graceMs, wait };
}
