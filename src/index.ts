/**
 * The public exports of the library. `docs/api-report.md` lists them with the members of every interface, and
 * a test compares the two: change both in one commit. Types that only occur in the signature of a method
 * (queries, options, parts of a result) are not exported; derive them with `Parameters` and `Awaited`.
 */

export { ACCESS_LEVELS, type Access } from "./access/levels.ts";
export type { IssuedToken, TokenInfo, TokenInput } from "./access/tokens.ts";
export { signHead } from "./archive/heads.ts";
export type { Clock } from "./base/clock.ts";
export {
  BatonError,
  ERROR_CODES,
  type ErrorCode,
  isBatonError,
  type Violation,
} from "./base/errors.ts";
export type { IdGenerator } from "./base/ids.ts";
export { DEFAULT_LIMITS, FORMAT_LIMITS, type Limits } from "./base/limits.ts";
export type { Page } from "./base/page.ts";
export { generateKey, publicKeyOf } from "./base/signing-keys.ts";
export { httpSummarizer } from "./context/detail/http-summarizer.ts";
export type { Finding, Repeat } from "./context/lint/rule.ts";
export type { FileArtifact } from "./context/view/artifact-files.ts";
export type { CheckedContext } from "./context/view/gaps.ts";
export type { OmittedMemory, ShownMemory, View } from "./context/view/view.ts";
export type { CatchUp, CatchUpQuery } from "./coordination/catch-up/catch-up.ts";
export type { DecideResult, Decision } from "./coordination/failures/decision.ts";
export type { ListedFailure } from "./coordination/failures/list.ts";
export type { CoordinateFunction } from "./coordination/failures/proposals.ts";
export type { FailureRule } from "./coordination/failures/rules.ts";
export type { ReservationConflict } from "./coordination/reservations/conflicts.ts";
export type { Reservation } from "./coordination/reservations/reservation.ts";
// Tasks and teams.
export type { NewTask } from "./coordination/tasks/add.ts";
export type { TaskInfo } from "./coordination/tasks/info.ts";
export type { TaskState } from "./coordination/tasks/state.ts";
export type { TaskTree } from "./coordination/tasks/tree.ts";
export type { TimelineStep } from "./coordination/timeline/step.ts";
export type { Timeline } from "./coordination/timeline/timeline.ts";
export type { Receipt } from "./delivery/receive/receipt.ts";
export type { AcceptOptions, InboxOptions } from "./delivery/receive/receive-options.ts";
export type { LintReport } from "./delivery/send/lint-handoff.ts";
export type { Preview } from "./delivery/send/preview.ts";
export type { Result } from "./delivery/send/result.ts";
export type { BreakerInfo } from "./delivery/settings/breaker.ts";
export type { ChannelInfo, ChannelState } from "./delivery/settings/channels.ts";
export type { PayloadTypeInfo } from "./delivery/settings/payload-types.ts";
export type { Route, RouteInfo } from "./delivery/settings/routes.ts";
export type { DeadLetter } from "./delivery/settle/dead-letters.ts";
export type { OpenQuestion } from "./delivery/settle/questions.ts";
export type { Failure } from "./delivery/settle/settle.ts";
export { TRANSITIONS } from "./delivery/settle/transitions.ts";
export type {
  AcceptedOutcome,
  CompletedOutcome,
} from "./delivery/watch/await-outcome.ts";
export type { DeliveryDetails } from "./delivery/watch/delivery-details.ts";
export type { DeliveryWithEnvelope } from "./delivery/watch/inbox-listing.ts";
export type { LineStep } from "./delivery/watch/task-line.ts";
export type { WaitOptions } from "./delivery/watch/wait-options.ts";
export type { NoteResult } from "./delivery/work/note.ts";
export type { OnceResult } from "./delivery/work/once.ts";
export type { Approval, Edit } from "./delivery/work/person-decisions.ts";
export type { ReadMemory, ReadOptions } from "./delivery/work/read-record.ts";
export type { ShownView } from "./delivery/work/views.ts";
export type { Warning } from "./delivery/work/warnings.ts";
export { ENVELOPE_VERSIONS, envelopeJsonSchema, type JsonSchema } from "./envelope/json-schema.ts";
export type { DetectedSecret } from "./envelope/mask-secrets.ts";
export type { PayloadType } from "./envelope/payload-types.ts";
// Handoffs.
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
} from "./envelope/schema.ts";
export type { StandardSchemaV1 } from "./envelope/standard-schema.ts";
export type { EnvelopeVersions } from "./envelope/versions.ts";
export type { Attempt } from "./history/attempt.ts";
export type { Delivery, HeldDelivery } from "./history/delivery.ts";
export type { HubEvent } from "./history/event.ts";
export type { DeliveryOutcome, HandoffResult } from "./history/outcome.ts";
// Agents.
export type { Agent } from "./hub/agent.ts";
// Running a hub.
export type { Settings, SettingsInput } from "./hub/groups/settings.ts";
export type { AddedTask } from "./hub/groups/tasks.ts";
export { type Hub, LocalHub } from "./hub/hub.ts";
// Deliveries and work.
export type { Offer } from "./hub/offer.ts";
export type { SessionOptions } from "./hub/option-checks.ts";
export type { HubOptions } from "./hub/options.ts";
export type { Sent } from "./hub/sent.ts";
export type { SettleResult, Work } from "./hub/work.ts";
export type { Ledger } from "./ledger/ledger.ts";
export { signRotation } from "./memory/agent-keys.ts";
export type { AgentInfo, AgentProfile } from "./memory/agents.ts";
export type { BranchInfo } from "./memory/branches/branches.ts";
export type { Impact } from "./memory/quarantine/blast-radius.ts";
export type { QuarantinedMemory } from "./memory/quarantine/quarantine.ts";
export type { RecentMemory, Relation } from "./memory/read.ts";
export type { Hit, RecallQuery, RecallResult } from "./memory/recall/recall.ts";
export type { RememberResult } from "./memory/recall/remember-checked.ts";
export type { SimilarMemory } from "./memory/recall/similar-memories.ts";
// Memories.
export {
  MEMORY_TYPES,
  type Memory,
  type MemoryInput,
  RELATION_KINDS,
  type RelationKind,
} from "./memory/record.ts";
export type { RedactReport } from "./memory/redaction/redact.ts";
export type { SqlOptions, SqlResult } from "./memory/sql.ts";
export { STEP_KINDS, type TraceStep } from "./memory/traces/trace.ts";
export type { ViewGap } from "./memory/view-gap.ts";
// Opening a hub.
export { openHub } from "./open/open-hub.ts";
export { restore } from "./open/restore-store.ts";
export type { Embedder } from "./search/embedding/embedder.ts";
export { httpEmbedder } from "./search/embedding/http-embedder.ts";
export type { ContextChange } from "./shared-context/changes.ts";
export { projectFromGit } from "./shared-context/git.ts";
export {
  CONTEXT_SECTIONS,
  type ContextInput,
  type ContextItem,
  type ContextSection,
  contextJsonSchema,
} from "./shared-context/items.ts";
export type { SharedContextText } from "./shared-context/read.ts";
export type { DeliveryState, EventKind } from "./store/rows.ts";
export type { DeliveryTotals, Store } from "./store/store.ts";
export type { VerifyReport } from "./store/verify-report.ts";
export type { RouteFunction, Summarizer } from "./workspace/workspace.ts";
