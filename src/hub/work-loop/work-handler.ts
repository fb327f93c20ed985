/** The types of `agent.work()` that programs use: the handler, what it gets, and what the loop returns. */
import type { Result } from "../../delivery/send/result.ts";
import type { Work } from "../work.ts";

/** What a handler of `agent.work()` gets besides the work. */
export interface WorkContext {
  /**
   * Aborts when the work is cancelled, when its lease is lost, or when the time to finish after a stop is over.
   * Listens from the first access on.
   */
  readonly signal: AbortSignal;
}

/** What a handler returns: a result, its summary alone, or nothing. */
// biome-ignore lint/suspicious/noConfusingVoidType: a handler may be a function without a return value.
export type HandlerResult = Result | string | void;

/** Works on one handoff. What it returns completes the work; what it throws fails the attempt. */
export type WorkHandler<T = unknown> = (
  work: Work<T>,
  context: WorkContext,
) => HandlerResult | Promise<HandlerResult>;

/** How the work of one loop ended, as numbers. */
export interface WorkSummary {
  /** Handlers that returned, and whose work was completed with that. */
  readonly completed: number;
  /** Attempts that failed, because the handler threw or its result was refused. */
  readonly failed: number;
  /** Work that was released, because its handler had not finished when the grace period was over. */
  readonly released: number;
  /** Work that was cancelled, whose lease was lost, or that could not be settled in time. */
  readonly lost: number;
  /** Work that the handler settled itself. */
  readonly settledByHandler: number;
}
