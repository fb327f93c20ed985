/** The public surface of the library. */
export type { Bearer, Refused } from "./access/authenticate.ts";
export { ACCESS_LEVELS, type Access } from "./access/levels.ts";
export type {
  IssuedToken,
  TokenInfo,
  TokenInput,
  TokenState,
  Tokens,
} from "./access/tokens.ts";
export type { BackupOptions, BackupReport } from "./archive/backup.ts";
export type {
  ExportOptions,
  ExportProgress,
  ExportReport,
  ExportToOptions,
} from "./archive/export.ts";
export type { ImportOptions, ImportReport, ImportSource } from "./archive/import.ts";
export type { DocumentOptions, DocumentReport, TakenEntry } from "./archive/markdown/take.ts";
export type { KeepingQuery } from "./archive/query.ts";
export type { Clock } from "./base/clock.ts";
export {
  BatonError,
  ERROR_CODES,
  type ErrorCode,
  isBatonError,
  type Violation,
} from "./base/errors.ts";
export type { Ids } from "./base/ids.ts";
export { generateKey } from "./base/keys.ts";
export { DEFAULT_LIMITS, FORMAT_LIMITS, type LimitName, type Limits } from "./base/limits.ts";
export { type HttpSummarizerOptions, httpSummarizer } from "./context/detail/summarize.ts";
export type { LintRules } from "./context/lint/lint-rules.ts";
export type {
  AllLintRules,
  Binding,
  Finding,
  FindingLevel,
  Repeat,
  RuleName,
} from "./context/lint/rule.ts";
export type { ViewOptions } from "./context/view/compose.ts";
export type { FileArtifact } from "./context/view/files.ts";
export type { CheckedContext, CheckedReference } from "./context/view/gaps.ts";
export type {
  CheckedArtifact,
  Freshness,
  OmittedMemory,
  SectionUse,
  ShownMemory,
  View,
  ViewBudget,
} from "./context/view/view.ts";
export type { CatchUp, CatchUpQuery } from "./coordination/catch-up/catch-up.ts";
export type { Decision, DecisionAnswer } from "./coordination/failures/decision.ts";
export type { FailureInfo } from "./coordination/failures/info.ts";
export type { FailuresQuery, ListedFailure } from "./coordination/failures/list.ts";
export type { CoordinateFunction, Proposal } from "./coordination/failures/proposals.ts";
export type { FailureRule, FailureRuleInfo } from "./coordination/failures/rules.ts";
export type { ReservationConflict } from "./coordination/reservations/conflicts.ts";
export type { ReservationsQuery } from "./coordination/reservations/list.ts";
export type { Reservation, ReservationMode } from "./coordination/reservations/reservation.ts";
export type { Reserved, ReserveOptions } from "./coordination/reservations/reserve.ts";
export type { Adopted, AdoptOptions } from "./coordination/shared-context/adopt.ts";
export type { ContextProposal, ProposeOptions } from "./coordination/shared-context/propose.ts";
export type { NewTask } from "./coordination/tasks/add.ts";
export type { Board, BoardQuery } from "./coordination/tasks/board.ts";
export type { CloseOptions } from "./coordination/tasks/close.ts";
export type { ClosedQuery, ClosedTasks } from "./coordination/tasks/closed.ts";
export type { TaskDelivery, TaskInfo } from "./coordination/tasks/info.ts";
export type { OpenTaskState, TaskState } from "./coordination/tasks/state.ts";
export type { TaskTree } from "./coordination/tasks/tree.ts";
export type {
  TimelineDecision,
  TimelineKind,
  TimelineStep,
} from "./coordination/timeline/step.ts";
export type { Timeline, TimelineQuery } from "./coordination/timeline/timeline.ts";
export type { AcceptOptions } from "./delivery/receive/accept.ts";
export type { InboxOptions } from "./delivery/receive/inbox.ts";
export type { Receipt, ReceiptSource } from "./delivery/receive/receipt.ts";
export type { LeaseKind } from "./delivery/receive/worker.ts";
export type { LintReport } from "./delivery/send/lint.ts";
export type { Preview } from "./delivery/send/preview.ts";
export type { Result } from "./delivery/send/result.ts";
export type { BreakerInfo } from "./delivery/settings/breaker.ts";
export type { ChannelInfo, ChannelState, SubscribeOptions } from "./delivery/settings/channels.ts";
export type { HandoffRules, HandoffRulesInput } from "./delivery/settings/handoff-rules.ts";
export type {
  PayloadTypeInfo,
  PayloadTypeVersion,
  RegisterOptions,
} from "./delivery/settings/payload-types.ts";
export type { Route, RouteInfo } from "./delivery/settings/routes.ts";
export type { Asked } from "./delivery/settle/ask.ts";
export type { DeadLetter, DeadQuery, RedriveChanges } from "./delivery/settle/dead-letters.ts";
export type { Failure } from "./delivery/settle/settle.ts";
export { TRANSITIONS } from "./delivery/settle/transitions.ts";
export type {
  AcceptedAnswer,
  CompletedAnswer,
  CompletedOptions,
  TimedOut,
  WaitOptions,
} from "./delivery/watch/answers.ts";
export type { Waiting, WaitingQuery } from "./delivery/watch/inbox-listing.ts";
export type { Shown } from "./delivery/watch/show.ts";
export type { LineStep } from "./delivery/watch/task-line.ts";
export type { Noted } from "./delivery/work/note.ts";
export type { Once } from "./delivery/work/once.ts";
export type { Approval, Edit } from "./delivery/work/person.ts";
export type { ReadMemory, ReadOptions, TextBy } from "./delivery/work/read-record.ts";
export type { ShownView, WorkViewOptions } from "./delivery/work/views.ts";
export type { Warning } from "./delivery/work/warnings.ts";
export { ENVELOPE_VERSIONS, envelopeJsonSchema, type JsonSchema } from "./envelope/json-schema.ts";
export type { PayloadType } from "./envelope/payload.ts";
export {
  addressOf,
  type Draft,
  type DraftOf,
  ENVELOPE_VERSION,
  type Envelope,
  type EnvelopeOf,
  type PolicyInput,
  PRIORITIES,
  type Priority,
  type SealedPolicy,
} from "./envelope/schema.ts";
export type { SecretAt } from "./envelope/secrets-within.ts";
export type { StandardSchemaV1 } from "./envelope/standard-schema.ts";
export type { Deprecated, Form, MajorStep, Versions } from "./envelope/versions.ts";
export type { KeptDecision } from "./history/failure-decisions.ts";
export { type Ended, type HandoffResult, reasonOf } from "./history/outcome.ts";
export type { Agent } from "./hub/agent.ts";
export type { Failures, HubFailures } from "./hub/failures.ts";
export { type Hub, type HubOptions, LocalHub, type SessionOptions } from "./hub/hub.ts";
export type { Offer } from "./hub/offer.ts";
export type { Sent } from "./hub/sent.ts";
export type {
  ContextRetireOptions,
  ContextWriteOptions,
  DecisionInput,
  HubContext,
  ProposalSent,
  SharedContext,
} from "./hub/shared-context.ts";
export type { AddedTask, TaskBoard, TaskQueue } from "./hub/tasks.ts";
export type { Settling, Work } from "./hub/work.ts";
export type {
  Ledger,
  LedgerConstraint,
  LedgerDecision,
  LedgerIntent,
  LedgerProgress,
  LedgerRelease,
} from "./ledger/ledger.ts";
export type { ReleaseInput } from "./ledger/releasing.ts";
export type { AgentInfo, AgentProfile } from "./memory/agents.ts";
export type { AsOf } from "./memory/as-of.ts";
export type { BeginOptions, BranchesQuery, BranchInfo } from "./memory/branches/branches.ts";
export type { BranchDiff, Conflict, DiffQuery, Replacement } from "./memory/branches/compare.ts";
export type { Merged, MergeOptions } from "./memory/branches/merge.ts";
export type { WorkMerge } from "./memory/branches/work-branch.ts";
export type { Pinned, PinsQuery } from "./memory/pins.ts";
export type {
  Impact,
  ImpactAgent,
  ImpactDelivery,
  ImpactMemory,
  ImpactQuery,
} from "./memory/quarantine/blast-radius.ts";
export type {
  LiftOptions,
  LiftWhat,
  Quarantined,
  QuarantinedMemory,
  QuarantineOptions,
  QuarantineQuery,
  QuarantineWhat,
} from "./memory/quarantine/quarantine.ts";
export type { QuarantineMark } from "./memory/quarantine/quarantine-mark.ts";
export type { RecentMemory, RecentQuery, RelationsQuery } from "./memory/read.ts";
export type { HitHandoff } from "./memory/recall/hit-handoff.ts";
export type { Known, KnownOffer } from "./memory/recall/known.ts";
export type { Hit, Recalled, RecallQuery } from "./memory/recall/recall.ts";
export type { Remembered, RememberOptions } from "./memory/recall/search-first.ts";
export {
  MEMORY_TYPES,
  type Memory,
  type MemoryInput,
  RELATION_KINDS,
  type RelationKind,
} from "./memory/record.ts";
export type { RedactOptions, RedactReport, RedactTarget } from "./memory/redaction/redact.ts";
export type { Told } from "./memory/redaction/secret-policy.ts";
export type { FoundSecrets, SecretFound, SecretsQuery } from "./memory/redaction/secrets-found.ts";
export type { Embed, SqlAnswer, SqlOptions } from "./memory/sql.ts";
export type {
  PrunedSession,
  PruneOptions,
  PruneProgress,
  PruneReport,
} from "./memory/traces/prune.ts";
export type { RetentionRules } from "./memory/traces/retention.ts";
export { STEP_KINDS, type TraceData, type TraceStep } from "./memory/traces/trace.ts";
export type { TraceCounts } from "./memory/traces/trace-log.ts";
export type { TraceInfo, TraceSessionsQuery, TracesQuery } from "./memory/traces/traces.ts";
export type { ViewGap } from "./memory/view-gap.ts";
export { openHub } from "./open/open-hub.ts";
export { type Restored, type RestoreOptions, restore } from "./open/restore-store.ts";
export type { FullProfile, RoleProfile } from "./profiles/role-profiles.ts";
export type { Section } from "./profiles/view-parts.ts";
export type { RoleProfileInfo } from "./profiles/workspace-profiles.ts";
export type { Embedder } from "./search/embedding/embedder.ts";
export { httpEmbedder } from "./search/embedding/http-embedder.ts";
export type { HttpEmbedderOptions } from "./search/embedding/http-options.ts";
export type {
  ContextChange,
  ContextChanges,
  ContextChangesQuery,
} from "./shared-context/changes.ts";
export type { Contradiction } from "./shared-context/contradictions.ts";
export { projectFromGit } from "./shared-context/git.ts";
export {
  CONTEXT_SECTIONS,
  type ContextInput,
  type ContextItem,
  type ContextSection,
  contextJsonSchema,
} from "./shared-context/items.ts";
export type {
  ContextOmitted,
  ContextQuery,
  SharedContextText,
} from "./shared-context/read.ts";
export type { QueryAnswer, QueryBounds, QueryOutcome, RunQuery, SqlValue } from "./store/query.ts";
export type { Redacted, Redaction } from "./store/redaction.ts";
export type {
  AttemptRow,
  DeliveryRow,
  DeliveryState,
  EventKind,
  EventRow,
  RelationEdge,
} from "./store/rows.ts";
export type { IndexState } from "./store/search.ts";
export type { Books, Store } from "./store/store.ts";
export type { Problem, VerifyProgress, VerifyReport } from "./store/verify-report.ts";
export type {
  KnownMode,
  Leaving,
  Processes,
  RouteFunction,
  SecretMode,
  Summarizer,
} from "./workspace/workspace.ts";
