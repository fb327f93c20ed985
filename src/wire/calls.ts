/**
 * Every call that crosses the wire: what goes in, what comes out, by name. The HTTP hub answers each of
 * them (src/http/operations), the client makes each of them (src/client), and the compiler holds both to
 * this file. An input is flat: what stands in the address, the query and the body together.
 */
import type { Access } from "../access/levels.ts";
import type { TokenInfo, TokenInput } from "../access/tokens.ts";
import type { DocumentOptions, DocumentReport } from "../archive/markdown/take.ts";
import type { KeepingQuery } from "../archive/query.ts";
import type { LintRules } from "../context/lint/lint-rules.ts";
import type { AllLintRules } from "../context/lint/rule.ts";
import type { ViewOptions } from "../context/view/compose.ts";
import type { CheckedContext } from "../context/view/gaps.ts";
import type { CatchUp, CatchUpQuery } from "../coordination/catch-up/catch-up.ts";
import type { Decision, DecisionAnswer } from "../coordination/failures/decision.ts";
import type { FailuresQuery, ListedFailure } from "../coordination/failures/list.ts";
import type { FailureRule, FailureRuleInfo } from "../coordination/failures/rules.ts";
import type { ReservationConflict } from "../coordination/reservations/conflicts.ts";
import type { ReservationsQuery } from "../coordination/reservations/list.ts";
import type { Reservation } from "../coordination/reservations/reservation.ts";
import type { Reserved, ReserveOptions } from "../coordination/reservations/reserve.ts";
import type { Adopted, AdoptOptions } from "../coordination/shared-context/adopt.ts";
import type { ContextProposal, ProposeOptions } from "../coordination/shared-context/propose.ts";
import type { NewTask } from "../coordination/tasks/add.ts";
import type { Board, BoardQuery } from "../coordination/tasks/board.ts";
import type { CloseOptions } from "../coordination/tasks/close.ts";
import type { ClosedQuery, ClosedTasks } from "../coordination/tasks/closed.ts";
import type { TaskInfo } from "../coordination/tasks/info.ts";
import type { TaskTree } from "../coordination/tasks/tree.ts";
import type { Timeline, TimelineQuery } from "../coordination/timeline/timeline.ts";
import type { Receipt } from "../delivery/receive/receipt.ts";
import type { LintReport } from "../delivery/send/lint.ts";
import type { Preview } from "../delivery/send/preview.ts";
import type { Result } from "../delivery/send/result.ts";
import type { BreakerInfo } from "../delivery/settings/breaker.ts";
import type { ChannelInfo, ChannelState, SubscribeOptions } from "../delivery/settings/channels.ts";
import type { HandoffRules, HandoffRulesInput } from "../delivery/settings/handoff-rules.ts";
import type { PayloadTypeInfo, PayloadTypeVersion } from "../delivery/settings/payload-types.ts";
import type { Route, RouteInfo } from "../delivery/settings/routes.ts";
import type { Asked } from "../delivery/settle/ask.ts";
import type { DeadLetter, DeadQuery, RedriveChanges } from "../delivery/settle/dead-letters.ts";
import type { Failure } from "../delivery/settle/settle.ts";
import type { AcceptedAnswer, CompletedAnswer } from "../delivery/watch/answers.ts";
import type { Waiting, WaitingQuery } from "../delivery/watch/inbox-listing.ts";
import type { Shown } from "../delivery/watch/show.ts";
import type { LineStep } from "../delivery/watch/task-line.ts";
import type { Noted } from "../delivery/work/note.ts";
import type { Once } from "../delivery/work/once.ts";
import type { Approval, Edit } from "../delivery/work/person.ts";
import type { ReadMemory, ReadOptions } from "../delivery/work/read-record.ts";
import type { ShownView, WorkViewOptions } from "../delivery/work/views.ts";
import type { Warning } from "../delivery/work/warnings.ts";
import type { JsonSchema } from "../envelope/json-schema.ts";
import type { Draft, Level } from "../envelope/schema.ts";
import type { OfferForm, SentForm, WorkForm } from "../hub/forms.ts";
import type { ContextRetireOptions, ContextWriteOptions } from "../hub/shared-context.ts";
import type { Settling } from "../hub/work.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { ReleaseInput } from "../ledger/releasing.ts";
import type { AgentInfo, AgentProfile } from "../memory/agents.ts";
import type { BeginOptions, BranchesQuery, BranchInfo } from "../memory/branches/branches.ts";
import type { BranchDiff, DiffQuery } from "../memory/branches/compare.ts";
import type { Merged, MergeOptions } from "../memory/branches/merge.ts";
import type { Pinned, PinsQuery } from "../memory/pins.ts";
import type { Impact, ImpactQuery } from "../memory/quarantine/blast-radius.ts";
import type {
  LiftOptions,
  LiftWhat,
  Quarantined,
  QuarantinedMemory,
  QuarantineOptions,
  QuarantineQuery,
  QuarantineWhat,
} from "../memory/quarantine/quarantine.ts";
import type { RecentMemory, RecentQuery, RelationsQuery } from "../memory/read.ts";
import type { Known } from "../memory/recall/known.ts";
import type { Recalled, RecallQuery } from "../memory/recall/recall.ts";
import type { Remembered, RememberOptions } from "../memory/recall/search-first.ts";
import type { Memory, MemoryInput } from "../memory/record.ts";
import type { RedactOptions, RedactReport, RedactTarget } from "../memory/redaction/redact.ts";
import type { Told } from "../memory/redaction/secret-policy.ts";
import type { FoundSecrets, SecretsQuery } from "../memory/redaction/secrets-found.ts";
import type { PruneOptions, PruneReport } from "../memory/traces/prune.ts";
import type { RetentionRules } from "../memory/traces/retention.ts";
import type { TraceStep } from "../memory/traces/trace.ts";
import type { TraceCounts } from "../memory/traces/trace-log.ts";
import type { TraceInfo, TraceSessionsQuery, TracesQuery } from "../memory/traces/traces.ts";
import type { RoleProfile } from "../profiles/role-profiles.ts";
import type { RoleProfileInfo } from "../profiles/workspace-profiles.ts";
import type {
  ContextChange,
  ContextChanges,
  ContextChangesQuery,
} from "../shared-context/changes.ts";
import type { Contradiction } from "../shared-context/contradictions.ts";
import type { ProjectItem } from "../shared-context/git.ts";
import type { ContextInput, ContextItem, ContextSection } from "../shared-context/items.ts";
import type { ContextQuery, SharedContextText } from "../shared-context/read.ts";
import type { AttemptRow, DeliveryRow, EventRow, RelationEdge } from "../store/rows.ts";
import type { IndexState, ModelState } from "../store/search.ts";
import type { Books } from "../store/store.ts";
import type { VerifyReport } from "../store/verify-report.ts";
import type { EmbedProgress, SecretMode } from "../workspace/workspace.ts";

/** One call: `Call<what goes in, what comes out>`. */
interface Call<Input, Output> {
  readonly input: Input;
  readonly output: Output;
}

/** Nothing goes in. */
type None = Record<never, never>;

/** How long the hub may hold the answer back until there is something to say. */
export interface Waits {
  readonly waitMs?: number | undefined;
}

/** A piece of work by its handle, and the newest envelope its holder was told of. */
export interface Held {
  readonly handle: string;
  readonly envelope?: string | undefined;
}

/** What cannot be written down stays with the caller. */
type Written<Options, Left extends PropertyKey = "onProgress"> = Omit<Options, Left>;

type Yes = { readonly done: true };

export interface Calls {
  // Who is calling, and who there is.
  whoAmI: Call<None, WhoAmI>;
  /** What is said of it stands apart: a profile has a name of its own, for people. */
  registerAgent: Call<{ name: string; profile?: AgentProfile | undefined }, AgentInfo>;
  getAgent: Call<{ name: string }, AgentInfo>;
  listAgents: Call<None, AgentInfo[]>;
  pauseAgent: Call<{ name: string }, Yes>;
  resumeAgent: Call<{ name: string }, Yes>;
  addToken: Call<TokenInput, { token: string; info: TokenInfo }>;
  listTokens: Call<None, readonly TokenInfo[]>;
  revokeToken: Call<{ id: string; reason?: string | undefined }, TokenInfo>;

  // What is known.
  remember: Call<{ memories: readonly MemoryInput[] } & RememberOptions, Remembered[]>;
  known: Call<{ memory: MemoryInput }, readonly Known[]>;
  readMemory: Call<{ id: string } & ReadOptions, ReadMemory>;
  recent: Call<RecentQuery, RecentMemory[]>;
  recall: Call<{ question: string } & RecallQuery, Recalled>;
  relations: Call<{ id: string } & RelationsQuery, readonly RelationEdge[]>;
  impact: Call<{ id: string } & ImpactQuery, Impact>;
  pin: Call<{ id: string }, Yes>;
  unpin: Call<{ id: string }, Yes>;
  pins: Call<PinsQuery, Pinned[]>;
  quarantine: Call<{ what: QuarantineWhat; reason: string } & QuarantineOptions, Quarantined>;
  lift: Call<{ what: LiftWhat; reason: string } & LiftOptions, Quarantined>;
  quarantined: Call<QuarantineQuery, QuarantinedMemory[]>;
  redact: Call<{ target: RedactTarget; reason: string } & Written<RedactOptions>, RedactReport>;
  sql: Call<SqlForm, SqlAnswerForm>;
  exportMarkdown: Call<KeepingQuery, { text: string }>;
  importMarkdown: Call<{ text: string } & DocumentOptions, DocumentReport>;
  catchUp: Call<CatchUpQuery, CatchUp>;

  // Traces.
  trace: Call<{ steps: readonly TraceStep[] }, Told<Memory>[]>;
  traces: Call<TracesQuery, Memory[]>;
  traceSessions: Call<TraceSessionsQuery, TraceInfo[]>;
  traceCounts: Call<None, TraceCounts>;

  // Branches. The branch a caller works on stands in a header.
  listBranches: Call<BranchesQuery, BranchInfo[]>;
  beginBranch: Call<{ name: string } & BeginOptions, { name: string }>;
  findBranch: Call<{ name: string }, { name: string }>;
  diffBranch: Call<{ name: string } & DiffQuery, BranchDiff>;
  mergeBranch: Call<{ name: string } & MergeOptions, Merged>;
  abandonBranch: Call<{ name: string; reason: string }, Memory>;

  // Handing over.
  handoff: Call<{ draft: Draft; receivers?: readonly string[] | undefined }, SentForm>;
  joinHandoffs: Call<
    { of: readonly string[]; draft: Draft; need?: "all" | "any" | number | undefined },
    SentForm
  >;
  lintDraft: Call<{ draft: Draft }, LintReport>;
  preview: Call<{ draft: Draft } & ViewOptions, Preview>;
  lintEnvelope: Call<{ id: string }, LintReport>;

  // What became of it.
  showDelivery: Call<{ id: string }, Shown>;
  /** The delivery when it is no longer `seen` (a digest of what was shown last), or after the wait. */
  awaitChange: Call<{ id: string; seen?: string | undefined } & Waits, ChangedDelivery>;
  awaitAccepted: Call<{ id: string } & Waits, AcceptedAnswer>;
  awaitCompleted: Call<{ id: string; line?: boolean | undefined } & Waits, CompletedAnswer>;
  attempts: Call<{ id: string }, readonly AttemptRow[]>;
  views: Call<{ id: string }, readonly ShownView[]>;
  primer: Call<{ id: string }, { text: string }>;
  deliveryWarnings: Call<{ id: string }, readonly Warning[]>;
  cancelDelivery: Call<{ id: string; reason: string }, readonly DeliveryRow[]>;
  cancelTask: Call<{ task: string; reason: string }, readonly DeliveryRow[]>;
  questions: Call<None, Asked[]>;
  answer: Call<{ id: string; text: string }, DeliveryRow>;
  dead: Call<DeadQuery, readonly DeadLetter[]>;
  redrive: Call<{ id: string } & RedriveChanges, DeliveryRow>;
  discard: Call<{ id: string; reason: string }, DeliveryRow>;
  approve: Call<{ id: string } & Approval, DeliveryRow>;
  reply: Call<{ id: string; text: string; seen?: string | undefined }, DeliveryRow>;
  reject: Call<{ id: string; reason: string; seen?: string | undefined }, DeliveryRow>;
  edit: Call<{ id: string; changes: Edit }, SentForm>;
  breakers: Call<None, BreakerInfo[]>;
  resetBreaker: Call<{ receiver: string }, Yes>;
  books: Call<None, Books>;
  carryOut: Call<None, Yes>;
  listEvents: Call<{ after?: number | undefined; limit?: number | undefined }, readonly EventRow[]>;

  // Receiving.
  waiting: Call<WaitingQuery, readonly Waiting[]>;
  claim: Call<
    { delivery?: string | undefined; task?: string | undefined } & Waits,
    { offer: OfferForm | null }
  >;
  accept: Call<
    {
      delivery?: string | undefined;
      task?: string | undefined;
      receipt?: Receipt | undefined;
    } & Waits,
    { work: WorkForm | null }
  >;
  refreshOffer: Call<{ handle: string }, OfferForm>;
  acceptOffer: Call<{ handle: string; receipt?: Receipt | undefined }, WorkForm>;
  declineOffer: Call<Held & { reason: string }, Settling<unknown>>;
  releaseOffer: Call<{ handle: string }, Yes>;
  offerConflicts: Call<{ handle: string }, readonly ReservationConflict[]>;

  // Working.
  resumeWork: Call<{ handle: string }, WorkForm>;
  renewWork: Call<Held, { leaseUntil: number; envelope: string }>;
  /** Answers when the work was lost, added to or warned of since `envelope` and `warned`, or after the wait. */
  awaitWork: Call<Held & { warned?: string | undefined } & Waits, WorkNews>;
  holder: Call<{ handle: string }, { agent: string }>;
  note: Call<Held & { note: MemoryInput }, Noted>;
  view: Call<Held & WorkViewOptions, ShownView>;
  freshness: Call<Held, CheckedContext>;
  readForWork: Call<Held & { id: string; level?: Level | undefined }, ReadMemory>;
  reserve: Call<
    Held & { globs?: string | readonly string[] | undefined } & ReserveOptions,
    Reserved
  >;
  unreserve: Call<Held, Yes>;
  complete: Call<Held & { result?: Result | undefined }, Settling<unknown>>;
  fail: Call<Held & { failure: Failure }, Settling<unknown>>;
  decline: Call<Held & { reason: string }, Settling<unknown>>;
  clarify: Call<Held & { question: string }, Settling<unknown>>;
  release: Call<Held, DeliveryRow>;
  handOn: Call<
    Held & {
      draft: Partial<Draft>;
      receivers?: readonly string[] | undefined;
      result?: string | undefined;
      completes?: Result | undefined;
    },
    SentForm | Extract<Settling<unknown>, { kind: "extended" }>
  >;
  /** Says that an effect begins, once under this key; `handle` makes the key the work's own. */
  beginOnce: Call<{ key: string } & Partial<Held>, { kind: "begun" } | Once<unknown>>;
  recordOnce: Call<{ key: string; result?: unknown } & Partial<Held>, Yes>;
  resolveOnce: Call<{ key: string; result?: unknown }, Yes>;

  // Channels and routes.
  listChannels: Call<None, ChannelInfo[]>;
  setChannel: Call<{ name: string; state?: ChannelState | undefined }, ChannelInfo>;
  subscribers: Call<{ name: string }, string[]>;
  subscribe: Call<{ name: string } & SubscribeOptions, { replayed: number }>;
  unsubscribe: Call<{ name: string }, Yes>;
  listRoutes: Call<None, RouteInfo[]>;
  setRoute: Call<{ name: string } & Route, Yes>;
  dropRoute: Call<{ name: string }, Yes>;

  // Tasks.
  getTask: Call<{ task: string }, TaskInfo>;
  board: Call<BoardQuery, Board>;
  closedTasks: Call<ClosedQuery, ClosedTasks>;
  taskTree: Call<{ task: string }, TaskTree>;
  line: Call<{ task: string }, LineStep[]>;
  timeline: Call<{ task: string } & TimelineQuery, Timeline>;
  addTask: Call<{ task: NewTask }, { task: TaskInfo; sent: SentForm }>;
  closeTask: Call<{ task: string } & CloseOptions, TaskInfo>;
  reopenTask: Call<{ task: string; reason: string }, TaskInfo>;
  cancelWholeTask: Call<{ task: string; reason: string }, TaskInfo>;
  ledger: Call<{ task: string }, { ledger: Ledger | null }>;
  releaseFromLedger: Call<{ task: string; released: ReleaseInput }, Ledger>;
  reservations: Call<ReservationsQuery, readonly Reservation[]>;

  // The shared context.
  readContext: Call<ContextQuery, SharedContextText>;
  contextItem: Call<{ section: ContextSection; key: string }, { item: ContextItem | null }>;
  contextChanges: Call<ContextChangesQuery, ContextChanges>;
  contextHistory: Call<{ section: ContextSection; key: string }, readonly ContextChange[]>;
  setContext: Call<{ item: ContextInput } & ContextWriteOptions, ContextItem>;
  retireContext: Call<
    { section: ContextSection; key: string } & ContextRetireOptions,
    { version: number; memory: string }
  >;
  updateProject: Call<{ items: readonly ProjectItem[] }, readonly ContextItem[]>;
  proposeContext: Call<
    { change: ContextProposal } & ProposeOptions,
    { sent: SentForm; contradictions: readonly Contradiction[] }
  >;
  adoptContext: Call<Held & AdoptOptions, Adopted>;

  // What failed.
  listFailures: Call<FailuresQuery, readonly ListedFailure[]>;
  showFailure: Call<{ id: string }, ListedFailure>;
  decideFailure: Call<
    { id: string; decision: Decision; handle?: string | undefined },
    DecisionAnswer
  >;
  failureRules: Call<None, FailureRuleInfo[]>;
  setFailureRule: Call<{ name: string; rule: FailureRule }, Yes>;
  dropFailureRule: Call<{ name: string }, Yes>;

  // How the workspace is kept.
  releasers: Call<None, readonly string[]>;
  setReleasers: Call<{ roles: readonly string[] }, readonly string[]>;
  keepers: Call<None, readonly string[]>;
  setKeepers: Call<{ roles: readonly string[] }, readonly string[]>;
  lintRules: Call<None, AllLintRules>;
  setLintRules: Call<{ rules: LintRules }, AllLintRules>;
  retention: Call<None, RetentionRules>;
  setRetention: Call<{ rules: RetentionRules }, RetentionRules>;
  secretPolicy: Call<None, { mode: SecretMode }>;
  setSecretPolicy: Call<{ mode: SecretMode }, { mode: SecretMode }>;
  secretsFound: Call<SecretsQuery, FoundSecrets>;
  payloadTypes: Call<None, PayloadTypeInfo[]>;
  payloadTypeVersions: Call<{ name: string }, PayloadTypeVersion[]>;
  setPayloadType: Call<{ name: string; schema: JsonSchema }, PayloadTypeInfo>;
  dropPayloadType: Call<{ name: string }, Yes>;
  handoffRules: Call<None, HandoffRules>;
  setHandoffRules: Call<{ rules: HandoffRulesInput }, HandoffRules>;
  profiles: Call<None, RoleProfileInfo[]>;
  setProfile: Call<{ role: string; profile: RoleProfile }, Yes>;
  dropProfile: Call<{ role: string }, Yes>;
  prune: Call<Written<PruneOptions>, PruneReport>;
  verify: Call<None, VerifyReport>;
  indexState: Call<None, IndexState>;
  models: Call<None, readonly ModelState[]>;
  dropModel: Call<{ model: string }, Yes>;
  embed: Call<None, { progress: EmbedProgress | null }>;
}

export type CallName = keyof Calls;
export type InputOf<Name extends CallName> = Calls[Name]["input"];
export type OutputOf<Name extends CallName> = Calls[Name]["output"];

/** Who the hub takes the caller for. */
export interface WhoAmI {
  readonly version: string;
  readonly workspace: string;
  /** The agent whose calls these are; absent where a caller may be any of them. */
  readonly agent?: string | undefined;
  readonly access: Access;
  /** How long a lease lasts: a client asks for more in time. */
  readonly leaseMs: number;
}

export interface ChangedDelivery {
  readonly delivery: DeliveryRow;
  /** To be said back as `seen`. */
  readonly digest: string;
}

/** What a holder is told of without having asked for anything else. */
export interface WorkNews {
  /** There when it is no longer the caller's: the error that every other call would be refused with. */
  readonly lost?: object | undefined;
  /** There when the sender has added to it. */
  readonly extended?: WorkForm["envelope"] | undefined;
  /** All that holds now; which of them are news its holder knows. */
  readonly warnings: readonly Warning[];
  /** A digest of the warnings, to be said back as `warned`. */
  readonly warned: string;
}

/** A query as JSON can say it: bytes of a parameter or an answer as `{ base64 }`. */
export interface SqlForm {
  readonly query: string;
  readonly params?: readonly unknown[] | undefined;
  readonly limit?: number | undefined;
  readonly timeoutMs?: number | undefined;
  readonly traces?: boolean | undefined;
}

export interface SqlAnswerForm {
  readonly columns: readonly string[];
  readonly rows: readonly Readonly<Record<string, unknown>>[];
}
