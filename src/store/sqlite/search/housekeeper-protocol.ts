/** What the housekeeper can be asked, and what it answers. */
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
import type { Problem, VerifyReport } from "../../verify-report.ts";

/** Jobs somebody waits for. */
export type Job =
  | { readonly kind: "verify"; readonly workspace: string }
  | { readonly kind: "books"; readonly workspace: string }
  /** The whole file: its pages, its indexes, and every workspace in it. */
  | { readonly kind: "inspect" }
  | { readonly kind: "surveyTrace"; readonly of: SurveyTrace }
  | { readonly kind: "surveyEvents"; readonly of: SurveyEvents }
  /** Brings the index up to the newest record. */
  | { readonly kind: "index" }
  | { readonly kind: "seek"; readonly of: SeekText }
  /** Away with what redacted bodies have left: in the log, in free space, in the index. */
  | { readonly kind: "scrub"; readonly forms: readonly string[] }
  /** The index cannot be read: away with it, and begin a new one. */
  | { readonly kind: "remake" };

export interface JobResults {
  readonly verify: VerifyReport;
  readonly books: DeliveryTotals;
  readonly inspect: Inspection;
  readonly surveyTrace: PruneTraceResult;
  readonly surveyEvents: EventSurvey;
  readonly index: undefined;
  readonly seek: SeekTextResult;
  readonly scrub: ScrubResult;
  readonly remake: undefined;
}

export interface Inspection {
  readonly workspaces: readonly CopiedWorkspace[];
  readonly problems: readonly Problem[];
}
