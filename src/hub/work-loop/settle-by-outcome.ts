/**
 * Settles work by what its handler did: completes it with what the handler returned, fails the attempt with
 * what it threw, releases it after the grace period. Settling is retried after every error that a retry can help
 * (the store or the hub cannot be reached, the inbox that a route leads to is full), because the handler's effort
 * would be lost otherwise; meanwhile the slot takes no other work.
 */
import { clip } from "../../base/clip.ts";
import { type BatonError, isBatonError } from "../../base/errors.ts";
import { FORMAT_LIMITS } from "../../base/limits.ts";
import type { Result } from "../../delivery/send/result.ts";
import type { Failure } from "../../delivery/settle/settle.ts";
import type { Work } from "../work.ts";
import type { HandlerResult } from "./work-handler.ts";
import type { ClaimedWork } from "./work-source.ts";

/** How a handler ended. */
export type HandlerEnd =
  | { readonly kind: "returned"; readonly value: HandlerResult }
  | { readonly kind: "threw"; readonly error: unknown }
  /** The grace period is over; the handler may still run. */
  | { readonly kind: "overdue" };

/** How work ended, or that it goes on with the envelope by which its sender extended it. */
export type WorkEnd<T> =
  | { readonly kind: "completed"; readonly next: ClaimedWork<T> | undefined }
  | { readonly kind: "failed" | "released" | "lost" | "settledByHandler" }
  | { readonly kind: "extended" };

/** What settling needs of the loop. */
export interface SettleContext<T> {
  /** Completes the work, and claims the next if the loop wants more. */
  complete(work: Work<T>, result: Result): Promise<ClaimedWork<T> | undefined>;
  /** Waits before the next attempt after this many failed ones. False: there is no time for another. */
  pause(failures: number): Promise<boolean>;
  /** Reports an error that is handled here. */
  report(error: unknown, work: Work<T>): void;
}

/** Settles work. Throws if even a failure without details is refused. */
export function settleByOutcome<T>(
  context: SettleContext<T>,
  work: Work<T>,
  end: HandlerEnd,
): Promise<WorkEnd<T>> {
  switch (end.kind) {
    case "returned":
      return completeWith(context, work, end.value);
    case "threw":
      return failWith(context, work, end.error);
    case "overdue":
      return release(context, work);
  }
}

async function completeWith<T>(
  context: SettleContext<T>,
  work: Work<T>,
  returned: HandlerResult,
): Promise<WorkEnd<T>> {
  const end = await untilAnswered<T>(context, work, async () => {
    const next = await context.complete(work, resultOf(returned));
    return { kind: "completed", next };
  });
  if (end.kind !== "refused") return end;
  context.report(end.error, work);
  return failWith(context, work, end.error);
}

/** An empty string is not a summary. */
function resultOf(returned: HandlerResult): Result {
  if (typeof returned === "string") return returned === "" ? {} : { summary: returned };
  return returned ?? {};
}

/** A failure stays one if the sender extends the work meanwhile: its next attempt gets the new envelope. */
async function failWith<T>(
  context: SettleContext<T>,
  work: Work<T>,
  error: unknown,
): Promise<WorkEnd<T>> {
  let failure = failureOf(error);
  for (let isBare = false; ; ) {
    const end = await untilAnswered<T>(context, work, async () => {
      await work.fail(failure);
      return { kind: "failed" };
    });
    if (end.kind === "extended") continue;
    if (end.kind !== "refused") return end;
    if (isBare) throw end.error;
    failure = bareFailure(end.error); // For example, the message contains a secret.
    isBare = true;
  }
}

/** Returns the failure that an error describes: its own message, and of a `BatonError` code and hint too. */
function failureOf(error: unknown): Failure {
  const said = error instanceof Error ? error.message || error.name : String(error);
  const message = clip(said || "The handler failed.", FORMAT_LIMITS.textLength);
  const base = { class: "retryable", message } as const;
  if (!isBatonError(error)) return base;
  return { ...base, type: error.code, hints: error.hint === "" ? [] : [error.hint] };
}

const bareFailure = (refusal: unknown): Failure => ({
  class: "retryable",
  message: `The handler failed, and its error message was refused (${isBatonError(refusal) ? refusal.code : "error"}).`,
});

/** Releases work whose handler is overdue, without retries. */
async function release<T>(context: SettleContext<T>, work: Work<T>): Promise<WorkEnd<T>> {
  const noTime = { ...context, pause: async () => false };
  const end = await untilAnswered<T>(noTime, work, async () => {
    await work.release();
    return { kind: "released" };
  });
  if (end.kind !== "refused") return end;
  context.report(end.error, work);
  return { kind: "lost" };
}

type SettleAttempt<T> = WorkEnd<T> | { readonly kind: "refused"; readonly error: unknown };

/** Settles, and retries after errors that a retry can help. */
async function untilAnswered<T>(
  { pause, report }: SettleContext<T>,
  work: Work<T>,
  settle: () => Promise<WorkEnd<T>>,
): Promise<SettleAttempt<T>> {
  for (let failures = 1; ; failures++) {
    try {
      return await settle();
    } catch (error) {
      const end = endOf<T>(error);
      if (end?.kind === "lost" && failures > 1 && wasCompletedHere(work, error as BatonError)) {
        return { kind: "completed", next: undefined }; // By an earlier attempt, whose answer was lost.
      }
      if (end !== undefined) return end;
      if (!(isBatonError(error) && error.retryable)) return { kind: "refused", error };
      report(error, work);
      if (!(await pause(failures))) return { kind: "lost" };
    }
  }
}

/** Returns how the work ended, if that is what the error reports. */
function endOf<T>(error: unknown): WorkEnd<T> | undefined {
  switch (isBatonError(error) ? error.code : undefined) {
    case "work_extended":
      return { kind: "extended" };
    case "already_settled":
      return { kind: "settledByHandler" };
    case "lease_lost":
    case "cancelled":
    case "store_closed": // The hub was closed: the work returns when its lease ends.
      return { kind: "lost" };
    default:
      return undefined;
  }
}

function wasCompletedHere<T>({ delivery }: Work<T>, { details }: BatonError): boolean {
  const isOwn = details["holder"] === delivery.holder && details["attempt"] === delivery.attempt;
  return isOwn && details["state"] === "completed";
}
