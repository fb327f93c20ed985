/**
 * Describes how an attempt failed, in one form for all causes: a failure reported by the holder, a holder
 * that stopped responding, a delivery that was not accepted, a line that was stopped. Derived from the last
 * attempt.
 */
import type { Envelope, FailureClass } from "../envelope/schema.ts";
import { type AttemptRow, parseText } from "../store/rows.ts";

type ReportedFailure = NonNullable<Envelope["failure"]>;

/** A failure, as far as its attempt describes it. */
export type AttemptFailure = Pick<
  ReportedFailure,
  "attempted" | "by" | "class" | "hints" | "message" | "type"
>;

/** An attempt that has ended or is about to. */
export interface EndedAttempt extends Pick<AttemptRow, "outcome" | "reason"> {
  /** The agent that made the attempt; empty if the delivery was not claimed. */
  readonly holder: string;
}

/** What was recorded about an attempt; empty after a redaction. */
interface RecordedReason {
  readonly acceptMs?: number;
  readonly attempted?: string;
  readonly class?: FailureClass;
  readonly hints?: readonly string[];
  readonly message?: string;
  readonly reason?: string;
  readonly type?: string;
}

/** Failure type: no response in time. */
export const SILENT = "silent";
/** Failure type: the receiver declined the work. */
export const DECLINED = "declined";
/** Failure type if the holder gave none. */
export const UNTYPED = "error";
/** Failure type: a task it waits for will never be completed. */
export const DEPENDENCY = "dependency";

/** Describes the failure of an attempt. `late` is true if the deadline passed. */
export function failureOf(ended: EndedAttempt | undefined, late = false): AttemptFailure {
  const by = ended?.holder === undefined || ended.holder === "" ? {} : { by: ended.holder };
  const said = ended === undefined || ended.reason === "" ? {} : parseRecordedReason(ended);
  if (late) return { ...by, ...silent("the deadline passed before it was completed") };
  switch (ended?.outcome) {
    case "failed":
      return { ...by, ...toReportedFailure(said) };
    case "released":
      return { ...by, ...retryable("released", "the holder released it without settling it") };
    case "accept_timeout":
      return { ...by, ...silent(`it was not accepted within ${said.acceptMs ?? 0} ms`) };
    case "declined":
      return { ...by, ...permanent(DECLINED, said.reason ?? REDACTED_MESSAGE) };
    case "stopped":
      return permanent(said.reason ?? "stopped", said.message ?? stopMessageOf(said.reason));
    case "expired":
      return {
        ...by,
        ...silent(`the holder stopped responding: ${said.reason || "its lease expired"}`),
      };
    case "asked":
    case "cancelled":
    case undefined:
      return { ...by, ...silent("it was not settled in time") };
  }
}

/** Replaces a message that was redacted. */
const REDACTED_MESSAGE = "(redacted)";

const parseRecordedReason = ({ reason }: EndedAttempt): RecordedReason =>
  parseText<RecordedReason>({ id: "the attempt", text: reason });

function toReportedFailure({
  attempted,
  class: kind = "retryable",
  hints = [],
  message,
  type,
}: RecordedReason) {
  return {
    ...(attempted === undefined ? {} : { attempted }),
    class: kind,
    hints: [...hints],
    message: message ?? REDACTED_MESSAGE,
    type: type ?? UNTYPED,
  };
}

const retryable = (type: string, message: string) =>
  ({ class: "retryable", hints: [] as string[], message, type }) as const;

const permanent = (type: string, message: string) =>
  ({ class: "permanent", hints: [] as string[], message, type }) as const;

const silent = (message: string) => retryable(SILENT, message);

function stopMessageOf(reason: string | undefined): string {
  switch (reason) {
    case "hop_limit":
      return "the line reached the limit of handoffs (hops)";
    case "join_impossible":
      return "too many of the handoffs it waits for did not complete";
    default:
      return "it was stopped before the first attempt";
  }
}
