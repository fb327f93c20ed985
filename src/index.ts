/** The public surface of the library. */
export { Agent } from "./agent.ts";
export type { Clock } from "./clock.ts";
export type { CatchUp, CatchUpQuery } from "./context/catch-up.ts";
export type { AcceptOptions } from "./delivery/accept.ts";
export type { Asked } from "./delivery/ask.ts";
export type { BreakerInfo } from "./delivery/breaker.ts";
export type { ChannelInfo, ChannelState, SubscribeOptions } from "./delivery/channels.ts";
export type { DeadLetter, DeadQuery, RedriveChanges } from "./delivery/dead.ts";
export type { InboxOptions } from "./delivery/inbox.ts";
export type { LineStep } from "./delivery/line.ts";
export type { Noted } from "./delivery/note.ts";
export { Offer } from "./delivery/offer.ts";
export type { Once } from "./delivery/once.ts";
export { type Ended, type HandoffResult, reasonOf } from "./delivery/outcome.ts";
export type { Approval, Edit } from "./delivery/person.ts";
export type { FailureClass } from "./delivery/policy.ts";
export type { Receipt, ReceiptSource } from "./delivery/receipt.ts";
export type { Result } from "./delivery/result.ts";
export type { Route, RouteInfo } from "./delivery/routes.ts";
export {
  type AcceptedAnswer,
  type CompletedAnswer,
  type CompletedOptions,
  Sent,
  type TimedOut,
  type WaitOptions,
} from "./delivery/sent.ts";
export type { Failure } from "./delivery/settle.ts";
export type { Shown } from "./delivery/show.ts";
export { TRANSITIONS } from "./delivery/transitions.ts";
export type { Waiting, WaitingQuery } from "./delivery/waiting.ts";
export { type Settling, Work } from "./delivery/work.ts";
export type { LeaseKind } from "./delivery/worker.ts";
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
export type { StandardSchemaV1 } from "./envelope/standard-schema.ts";
export { BatonError, ERROR_CODES, type ErrorCode, isBatonError, type Violation } from "./errors.ts";
export { Hub, type HubOptions, type SessionOptions } from "./hub.ts";
export type { Ids } from "./ids.ts";
export { generateKey } from "./keys.ts";
export { DEFAULT_LIMITS, FORMAT_LIMITS, type LimitName, type Limits } from "./limits.ts";
export type { AgentInfo, AgentProfile } from "./memory/agents.ts";
export type { RecentQuery, RelationsQuery } from "./memory/read.ts";
export {
  MEMORY_TYPES,
  type Memory,
  type MemoryInput,
  RELATION_KINDS,
  type RelationKind,
} from "./memory/record.ts";
export { openHub } from "./open-hub.ts";
export type {
  AttemptRow,
  DeliveryRow,
  DeliveryState,
  EventKind,
  EventRow,
  RelationEdge,
} from "./store/rows.ts";
export type {
  Books,
  IndexState,
  Problem,
  Store,
  VerifyProgress,
  VerifyReport,
} from "./store/store.ts";
export type { Leaving, Processes, RouteFunction } from "./store/workspace.ts";
