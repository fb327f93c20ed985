/** The jobs that the housekeeper thread runs, and their results. */
import type { CopiedWorkspace } from "../../archive.ts";
import type {
  DeliveryTotals,
  EventSurvey,
  PruneTraceResult,
  ScrubResult,
  SeekText,
  SeekTextResult,
  SurveyEvents,
  SurveyTrace,
} from "../../store.ts";
import type { ChainPoint, Problem, VerifyReport } from "../../verify-report.ts";

/** A job that a caller waits for. */
export type Job =
  | {
      readonly kind: "verify";
      readonly workspace: string;
      readonly expected: readonly ChainPoint[];
    }
  | { readonly kind: "countDeliveries"; readonly workspace: string }
  /** Checks the whole file: its pages, its indexes, and every workspace in it. */
  | { readonly kind: "inspect" }
  | { readonly kind: "surveyTrace"; readonly of: SurveyTrace }
  | { readonly kind: "surveyEvents"; readonly of: SurveyEvents }
  /** Fills the index up to the newest record. */
  | { readonly kind: "index" }
  | { readonly kind: "seek"; readonly of: SeekText }
  /** Removes what redacted bodies have left in the log, in free space and in the index. */
  | { readonly kind: "scrub"; readonly forms: readonly string[] }
  /** Deletes an index that cannot be read, and starts a new one. */
  | { readonly kind: "remake" };

/** The result of each kind of job. */
export interface JobResults {
  readonly verify: VerifyReport;
  readonly countDeliveries: DeliveryTotals;
  readonly inspect: Inspection;
  readonly surveyTrace: PruneTraceResult;
  readonly surveyEvents: EventSurvey;
  readonly index: undefined;
  readonly seek: SeekTextResult;
  readonly scrub: ScrubResult;
  readonly remake: undefined;
}

/** The result of checking a whole file. */
export interface Inspection {
  readonly workspaces: readonly CopiedWorkspace[];
  readonly problems: readonly Problem[];
}
