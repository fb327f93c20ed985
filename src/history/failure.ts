/**
 * What went wrong, in the same words whoever failed and however: what a holder reported, that it fell
 * silent, that nobody took it, that a line had to stop. Read from the try that came last.
 */
import type { Envelope, FailureClass } from "../envelope/schema.ts";
import { type AttemptRow, parseText } from "../store/rows.ts";

type ReportedFailure = NonNullable<Envelope["failure"]>;

/** A failure, as far as its try tells. */
export type AttemptFailure = Pick<
  ReportedFailure,
  "attempted" | "by" | "class" | "hints" | "message" | "type"
>;

/** A try as it ended, or is about to. */
export interface EndedAttempt extends Pick<AttemptRow, "outcome" | "reason"> {
  readonly holder: string;
}

/** Whatever was written down about a try; a reason that was redacted says nothing of this. */
interface RecordedReason {
  readonly acceptMs?: number;
  readonly attempted?: string;
  readonly class?: FailureClass;
  readonly hints?: readonly string[];
  readonly message?: string;
  readonly reason?: string;
  readonly type?: string;
}

/** Nobody was heard in time. */
export const SILENT = "silent";
/** Whoever has it will not do it. */
export const DECLINED = "declined";
/** What a failure is called that its holder gave no type. */
export const UNTYPED = "error";
/** A task it waits for will never be done. */
export const DEPENDENCY = "dependency";

export function failureOf(ended: EndedAttempt | undefined, late = false): AttemptFailure {
  const by = ended?.holder === undefined || ended.holder === "" ? {} : { by: ended.holder };
  const said = ended === undefined || ended.reason === "" ? {} : parseRecordedReason(ended);
  if (late) return { ...by, ...silent("its deadline passed before it was done") };
  switch (ended?.outcome) {
    case "failed":
      return { ...by, ...toReportedFailure(said) };
    case "released":
      return { ...by, ...retryable("released", "it was given back without an end") };
    case "unaccepted":
      return { ...by, ...silent(`nobody accepted it within ${said.acceptMs ?? 0} ms`) };
    case "declined":
      return { ...by, ...permanent(DECLINED, said.reason ?? REDACTED_MESSAGE) };
    case "stopped":
      return permanent(said.reason ?? "stopped", said.message ?? stopMessageOf(said.reason));
    case "expired":
      return {
        ...by,
        ...silent(`its holder was not heard any more: ${said.reason || "its lease ran out"}`),
      };
    case "asked":
    case "cancelled":
    case undefined:
      return { ...by, ...silent("nobody settled it in time") };
  }
}

/** What a redaction has taken away. */
const REDACTED_MESSAGE = "what was said of it has been taken away";

const parseRecordedReason = ({ reason }: EndedAttempt): RecordedReason =>
  parseText<RecordedReason>({ id: "the try", text: reason });

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
      return "the line is longer than it may be";
    case "join_impossible":
      return "too many of those it waits for ended otherwise";
    default:
      return "it was stopped before anybody could try";
  }
}
