/**
 * The one interface between Baton and an engine: whole operations, each of them atomic, each
 * answering with a closed union of what can happen. There is no transaction to hold open and no
 * query to build; what an operation decides is a comparison of rows, never a policy.
 *
 * Every store passes the suite in store-contract/.
 *
 * An outcome other than the good one has changed nothing.
 */
import type {
  Archive,
  BackupOutcome,
  BackupProgress,
  ExportItem,
  ImportOutcome,
  ImportProgress,
} from "./archive.ts";
import type { MemoryFilter } from "./memory-filter.ts";
import type {
  AgentRow,
  AttemptRow,
  DeliveryRow,
  DeliveryState,
  EntryRow,
  EnvelopeRow,
  EventKind,
  EventRow,
  MemoryRow,
  NewDelivery,
  NewEnvelope,
  NewMemory,
  RelationEdge,
} from "./rows.ts";
import type {
  FindUnembedded,
  IndexState,
  ModelState,
  PutVectors,
  SearchMemories,
  SearchResult,
  UnembeddedSlice,
} from "./search.ts";
import type { QueryOutcome, RunQuery } from "./sql-query.ts";
import type { VerifyProgress, VerifyReport } from "./verify-report.ts";
import type { Visibility } from "./visibility.ts";

/** The author of a write is checked inside the write: nobody slips in between. */
export type AuthorRefusal =
  | { readonly kind: "unknown_agent"; readonly agent: string }
  | { readonly kind: "agent_disabled"; readonly agent: string }
  /** The record was signed with another key than the agent has now, or not at all. */
  | { readonly kind: "key_changed"; readonly agent: string };

export type RecordRefusal =
  | AuthorRefusal
  | { readonly kind: "missing_reference"; readonly memory: string; readonly reference: string }
  | { readonly kind: "id_taken"; readonly id: string }
  /** There is an entry that says so, of kind `CLOSED` with the branch's name. */
  | { readonly kind: "branch_closed"; readonly branch: string };

/** The kind of the entry that closes a branch: no record is added to it any more. */
export const CLOSED_BRANCH = "closed";

export interface ChainPosition {
  readonly id: string;
  readonly seq: number;
  readonly storedAt: number;
  readonly link: string;
}

// Agents -----------------------------------------------------------------------------------------

export interface RegisterAgent {
  readonly workspace: string;
  readonly agent: Omit<AgentRow, "revision" | "keyedAt" | "digest">;
  /** The revision this change is based on; 0 when the agent should not exist yet. */
  readonly basedOn: number;
}

export type RegisterOutcome =
  | { readonly kind: "registered"; readonly agent: AgentRow }
  /** Somebody else was quicker: read again and decide again. */
  | { readonly kind: "changed" }
  | { readonly kind: "name_taken"; readonly name: string; readonly by: string };

// Memories ---------------------------------------------------------------------------------------

/** Proof that the caller still holds a delivery. */
export interface Lease {
  readonly delivery: string;
  readonly fence: number;
  /** The envelope the holder knows; the delivery may have moved on to a newer one. */
  readonly envelope: string;
  readonly leaseMs: number;
}

export interface AppendMemories {
  readonly workspace: string;
  readonly branch: string;
  /** All or none. A memory may mention an earlier one of the same list. */
  readonly memories: readonly NewMemory[];
  /** Written under a lease: renews it, or is refused. */
  readonly lease?: Lease;
  /** Written with the records, or nothing is. No entry twice. */
  readonly entries?: readonly PutEntry[];
  /** A branch as it was last seen: nothing was added to it since, or nothing is written. */
  readonly tip?: { readonly branch: string; readonly seq: number };
}

export type AppendOutcome =
  /** With the envelope that counts now, when it was written under a lease. */
  | {
      readonly kind: "appended";
      readonly places: readonly ChainPosition[];
      readonly envelope: string;
    }
  /** An entry it brings is there already, or has changed: the first of them, as it is now. */
  | { readonly kind: "entry_changed"; readonly entry: EntryRow | undefined }
  | { readonly kind: "tip_moved" }
  | RecordRefusal
  | LeaseLost;

export interface RecentMemories {
  readonly workspace: string;
  readonly sight: Visibility;
  readonly filter: MemoryFilter;
  readonly limit: number;
  /** Only records stored before this one: the last of a page. Before one that is not there: none. */
  readonly before?: string;
}

/** A moment in the life of a workspace: a time, or when a record was stored (that one included). */
export type Moment =
  | { readonly kind: "time"; readonly at: number }
  | { readonly kind: "memory"; readonly id: string };

export interface FindTips {
  readonly workspace: string;
  readonly branches: readonly string[];
  /** As they were then; without it, as they are. */
  readonly moment?: Moment;
}

/** The last record of a branch: 0 and empty where there is none. */
export interface Tip {
  readonly seq: number;
  readonly memory: string;
}

export interface FindRelations {
  readonly workspace: string;
  readonly memory: string;
  readonly direction: "in" | "out";
  /** Edges whose other end is not seen are left out. */
  readonly sight: Visibility;
  readonly kinds?: readonly string[];
  /** Only edges valid at this time. */
  readonly at?: number;
  readonly limit: number;
}

/** Who points at any of these, whoever may see it: for following what came of them, many at once. */
export interface FindInbound {
  readonly workspace: string;
  readonly memories: readonly string[];
  readonly kinds: readonly string[];
  readonly limit: number;
}

// Entries ----------------------------------------------------------------------------------------

export interface PutEntry {
  readonly kind: string;
  readonly name: string;
  /** Canonical JSON; undefined takes the entry away. */
  readonly value: string | undefined;
  /** The revision this change is based on; 0 when there should be none yet. */
  readonly basedOn: number;
}

export type PutOutcome =
  /** The entry as it is now; undefined when it was taken away. */
  | { readonly kind: "put"; readonly entry: EntryRow | undefined }
  /** Somebody else was quicker: here is what there is. */
  | { readonly kind: "changed"; readonly entry: EntryRow | undefined };

export interface ListEntries {
  readonly workspace: string;
  readonly kind: string;
  /** Only names that begin so. */
  readonly prefix?: string;
  /** Only names after this one: the cursor for the next page. */
  readonly after?: string;
  readonly limit: number;
}

// Handoffs ---------------------------------------------------------------------------------------

/** Sent whatever the receiver's breaker says: to many at once, a single one does not matter. */
export const IGNORE_BREAKER = -1;

export interface SendHandoff {
  readonly workspace: string;
  readonly branch: string;
  readonly memory: NewMemory;
  readonly envelope: NewEnvelope;
  /** At least one: the envelope at each of its receivers, no receiver twice. */
  readonly deliveries: readonly NewDelivery[];
  /** The envelope this one continues from; empty at the start of a line. */
  readonly parent: string;
  /**
   * The open delivery of the same task, sender, receiver and parent, as the sender last saw it:
   * this handoff extends it. Without one, there must be none. Not looked at for several receivers:
   * what is published is new work at each of them.
   */
  readonly extend?: {
    readonly delivery: string;
    readonly envelope: string;
    /** Whether somebody had it (the delivery stays) or it was waiting (it is replaced). */
    readonly held: boolean;
  };
  /**
   * The revision of the receiver's breaker entry that the sender knows of and minds; 0: there must
   * be none, NOT_MINDED: whatever it says. Not looked at when this extends open work.
   */
  readonly breaker: number;
  /** Written with the handoff, or nothing is: an idempotency key, the task's ledger. No entry twice. */
  readonly entries?: readonly PutEntry[];
  /** Handing on: the sender's own delivery is completed by this very handoff. */
  readonly settles?: Lease;
}

export type SendOutcome =
  | {
      readonly kind: "sent";
      readonly place: ChainPosition;
      /** In the order asked for. */
      readonly deliveries: readonly DeliveryRow[];
      /** The delivery whose place the new one took, when the old had not been claimed. */
      readonly superseded: string;
    }
  /**
   * What this handoff would extend is not as the sender believed: `open` is the piece of work that
   * is open now (with its handoff record), or none is. Seal again for that, and send again.
   */
  | {
      readonly kind: "changed";
      readonly open: { readonly delivery: DeliveryRow; readonly memory: string } | undefined;
    }
  /** An entry it brings is there already, or has changed: the first of them, as it is now. */
  | { readonly kind: "entry_changed"; readonly entry: EntryRow | undefined }
  /** The receiver's breaker is not as the sender believed. */
  | { readonly kind: "breaker_changed"; readonly entry: EntryRow | undefined }
  | { readonly kind: "missing_parent"; readonly envelope: string }
  | ReceiverRefusal
  | RecordRefusal
  | LeaseRefusal;

/** For the inbox of a role: nobody is registered for it who could take it. */
export type ReceiverRefusal =
  | { readonly kind: "unknown_receiver"; readonly receiver: string }
  | { readonly kind: "receiver_disabled"; readonly receiver: string };

export interface LeaseLost {
  readonly kind: "lease_lost";
  /** Where the delivery stands now; undefined when there is none. */
  readonly delivery: DeliveryRow | undefined;
}

export type LeaseRefusal =
  | LeaseLost
  /** The sender has added to the handoff: here is the envelope that counts now. */
  | { readonly kind: "extended"; readonly envelope: EnvelopeRow };

/** A delivery together with the envelope it points to. */
export interface DeliveryWithEnvelopeRow {
  readonly delivery: DeliveryRow;
  readonly envelope: EnvelopeRow;
}

/**
 * From the agent's own inbox and from that of its role, the one that comes first (place, then id),
 * except what is past its deadline.
 * Retries whose time has come become ready before. An agent that is paused is given nothing.
 */
export interface ClaimDeliveries {
  readonly workspace: string;
  readonly branch: string;
  readonly receiver: string;
  readonly instance: string;
  /** The key the receiver acts with; must be the one it is registered with. Empty: none. */
  readonly publicKey: string;
  readonly limit: number;
  readonly leaseMs: number;
  /** The longest it can be held, however often the lease is renewed. */
  readonly holdMs: number;
  /** What the lease is bound to besides time; empty: nothing (a session's). */
  readonly process: string;
  readonly task?: string;
  /** One delivery by id, instead of the oldest ones. Only one that is in turn can be claimed. */
  readonly delivery?: string;
  /**
   * Claim and accept in one operation. Makes the receiver's continues-from record, while the store
   * holds the delivery. Has no effects: it is called again when the store has to redo its work.
   */
  readonly accept?: (claimed: DeliveryWithEnvelopeRow) => NewMemory;
}

export type ClaimOutcome =
  | {
      readonly kind: "claimed";
      readonly claimed: readonly DeliveryWithEnvelopeRow[];
      /**
       * Milliseconds of the store's time until something in the workspace falls due (a retry, an
       * expiring lease, a time to decide); 0: now, see `listDue`; Infinity: nothing will, or as many
       * were claimed as asked for and nobody looked. A duration, because clocks differ.
       */
      readonly nextDueMs: number;
    }
  | RecordRefusal;

export interface AcceptDelivery {
  readonly workspace: string;
  readonly branch: string;
  readonly lease: Lease;
  /** The receiver's continues-from record. */
  readonly memory: NewMemory;
}

export type AcceptOutcome =
  | { readonly kind: "accepted"; readonly place: ChainPosition; readonly delivery: DeliveryRow }
  | RecordRefusal
  | LeaseRefusal;

/**
 * How a holder ends its hold, and what becomes of the delivery. Decided by delivery/settings/policy.ts.
 * `lapseMs`: when somebody has to decide about it again; 0: only at its deadline.
 */
export type Settlement =
  /** Also closes the receiver's breaker: its entry goes. */
  | { readonly kind: "completed" }
  | { readonly kind: "declined" }
  /** Waits for an answer. The try does not count: one more is allowed. */
  | { readonly kind: "asked" }
  | { readonly kind: "failed" | "released"; readonly becomes: "dead" }
  | {
      readonly kind: "released";
      readonly becomes: "ready";
      readonly lapseMs: number;
      /** False: it was only looked at, and one more try is allowed. */
      readonly counts: boolean;
    }
  | {
      readonly kind: "failed" | "released";
      readonly becomes: "scheduled";
      readonly delayMs: number;
      readonly lapseMs: number;
    };

export interface SettleDelivery {
  readonly workspace: string;
  readonly branch: string;
  readonly lease: Lease;
  /** The states this settlement may start from (delivery/settle/transitions.ts). */
  readonly from: readonly DeliveryState[];
  readonly settlement: Settlement;
  /** What the settlement leaves on the chain; a release leaves nothing. */
  readonly memory?: NewMemory;
  /** Canonical JSON of why, for the attempt's record; empty for a completion. */
  readonly reason: string;
}

export type SettleOutcome =
  | { readonly kind: "settled"; readonly delivery: DeliveryRow }
  | RecordRefusal
  | LeaseRefusal;

export type RenewOutcome = { readonly kind: "renewed"; readonly delivery: DeliveryRow } | LeaseLost;

/** Whose leases: those of one session of an agent. */
export interface Session {
  readonly workspace: string;
  readonly agent: string;
  readonly instance: string;
}

/** What has to be decided about: past its lease or its time, or held by a process that has ended. */
export interface ListDue {
  readonly workspace: string;
  /** Processes that have ended without settling. */
  readonly gone: readonly string[];
  readonly limit: number;
}

export interface DueDeliveries {
  /** The store's time. */
  readonly now: number;
  /** Each once: past their time (the longest first), then past their lease, then of the gone. */
  readonly due: readonly DeliveryWithEnvelopeRow[];
}

/**
 * Changes deliveries other than by their holder: all of them, or none when one is not as it was
 * seen. Everything that policy and people decide about a delivery is said this way.
 */
export interface MoveDeliveries {
  readonly workspace: string;
  readonly branch: string;
  /** Who the events say did it. */
  readonly agent: string;
  /** What it leaves on the chain. With an envelope, or a move that puts it in line anew, it must. */
  readonly memory?: NewMemory;
  /** A new envelope, vouched for by the memory, that the deliveries go on to. */
  readonly envelope?: NewEnvelope;
  /** None, when only the record and the entries are to be written. */
  readonly moves: readonly Move[];
  /** Written with it, or nothing is. No name twice. */
  readonly entries?: readonly PutEntry[];
}

export interface Move {
  readonly delivery: string;
  readonly seen: {
    readonly state: DeliveryState;
    readonly fence: number;
    readonly envelope: string;
    /** Minded when it is there: who was silent may have spoken up. */
    readonly leaseUntil?: number;
    /** The same, for what changes without the state changing. */
    readonly lapseAt?: number;
    readonly followers?: string;
  };
  /** The state it has from now on. The same as before: nothing but what is named here changes. */
  readonly to: DeliveryState;
  readonly event: EventKind;
  /** Goes to another receiver: the last in line there, in its turn among those of its task. */
  readonly receiver?: string;
  /** For `scheduled`: milliseconds until it is ready. */
  readonly delayMs?: number;
  /** As for a settlement. Without it: only at its deadline, or (state unchanged) when it was. */
  readonly lapseMs?: number;
  readonly maxAttempts?: number;
  readonly deadline?: number;
  readonly followers?: string;
  /**
   * How the try ended, with canonical JSON of why: of what was held, always; of what was not, it
   * counts as a try nobody claimed.
   */
  readonly ends?: { readonly outcome: AttemptRow["outcome"]; readonly reason: string };
}

export type MoveOutcome =
  | { readonly kind: "moved"; readonly deliveries: readonly DeliveryRow[] }
  /** The first that is not as it was seen, as it is now. */
  | { readonly kind: "changed"; readonly delivery: DeliveryRow | undefined }
  /** The first entry it brings that is there already, or has changed. */
  | { readonly kind: "entry_changed"; readonly entry: EntryRow | undefined }
  | { readonly kind: "missing_parent"; readonly envelope: string }
  | ReceiverRefusal
  | RecordRefusal;

/** Where a page ends. Several deliveries can have the same place; their ids tell them apart. */
export type InboxCursor = Pick<DeliveryRow, "place" | "id">;

export interface ListDeliveries {
  readonly workspace: string;
  /** Inboxes: of an agent, of its role. */
  readonly receivers: readonly string[];
  readonly states: readonly DeliveryState[];
  readonly task?: string;
  readonly limit: number;
  /** Only what comes after this one: the last of a page is the cursor for the next. */
  readonly after?: InboxCursor;
}

/** What stands still until somebody does something: dead letters, and questions to the sender. */
export interface ListParked {
  readonly workspace: string;
  readonly state: "dead" | "waiting";
  readonly sender?: string;
  readonly receiver?: string;
  readonly task?: string;
  readonly limit: number;
  /** Only what comes after this one: the last of a page is the cursor for the next. */
  readonly after?: InboxCursor;
}

/**
 * Deliveries of every receiver, the highest id first. Ids are UUIDv7, so that is newest first as far as the
 * clocks of the senders agree. An id never changes: paging returns what was there from the start exactly once.
 */
export interface BrowseDeliveries {
  readonly workspace: string;
  /** Default: every state. */
  readonly states?: readonly DeliveryState[];
  readonly sender?: string;
  /** An inbox: of an agent, or of a role. */
  readonly receiver?: string;
  readonly task?: string;
  /** Sent at this time or later. */
  readonly sentAfter?: number;
  /** Sent earlier than this time. */
  readonly sentBefore?: number;
  /** Only ids below this one: `next` of the page before. */
  readonly before?: string;
  readonly limit: number;
  /** How many deliveries a page reads at most, matching or not: no index has the filters. */
  readonly visits: number;
}

export interface DeliveryPage {
  readonly rows: readonly DeliveryWithEnvelopeRow[];
  /** The last id that was read, if there are deliveries below it; a page can be short and still have it. */
  readonly next?: string;
}

export interface LineEntry {
  readonly envelope: EnvelopeRow;
  /** Deliveries that point to this envelope now. */
  readonly deliveries: readonly DeliveryRow[];
}

// Retention --------------------------------------------------------------------------------------

/** What there is of a session's trace: the steps from `first` to `last`, none left out. */
export interface TraceBranch {
  readonly branch: string;
  /** One more than `last` when all of it has gone. */
  readonly first: number;
  readonly last: number;
  /** Store time of the first step that is there; 0 when none is. */
  readonly firstAt: number;
  /** Store time of the last step there ever was. */
  readonly lastAt: number;
  /** The link of the last step there ever was. */
  readonly link: string;
}

export interface ListTraces {
  readonly workspace: string;
  /** Only branches after this one: the cursor for the next page. */
  readonly after?: string;
  readonly limit: number;
}

/** The beginning of a trace, up to a step that may go. */
export interface SurveyTrace {
  readonly workspace: string;
  readonly branch: string;
  readonly upTo: number;
}

/**
 * Takes steps off the beginning of a trace, for good: what they said, and their edges. Stops before
 * the first that a record after `upTo` or on another branch refers to, and before the newest record of
 * the store, so that no position is ever given twice. That it may be done was said on a record before
 * (store/pruning.ts).
 */
export interface PruneTrace extends SurveyTrace {
  /** So many at most: bounds how long others wait. */
  readonly limit: number;
}

/** What goes, or went. */
export interface PruneTraceResult {
  readonly records: number;
  /** Of their texts. */
  readonly bytes: number;
  /** The step that stays, and with it all after it, because something refers to it; 0: none does. */
  readonly heldBy: number;
}

/** Events that are older than a time, or more than the newest so many. The newest one always stays. */
export interface SurveyEvents {
  readonly workspace: string;
  readonly before?: number;
  readonly keep?: number;
}

export interface EventSurvey {
  /** The last event of them; 0: there are none. */
  readonly upTo: number;
  readonly events: number;
}

// Redaction --------------------------------------------------------------------------------------

/** One body that is replaced, if it is still as it was seen. */
export type Erasure =
  | {
      readonly kind: "memory" | "envelope";
      readonly id: string;
      /** Of the text as it was seen. */
      readonly digest: string;
      /** What stands there from now on. */
      readonly text: string;
    }
  | {
      readonly kind: "attempt";
      readonly delivery: string;
      readonly attempt: number;
      /** Of the reason as it was seen. */
      readonly digest: string;
      readonly reason: string;
    }
  | { readonly kind: "entry"; readonly entry: PutEntry & { readonly value: string } }
  | {
      readonly kind: "agent";
      readonly agent: string;
      readonly basedOn: number;
      readonly profile: string;
    };

/** Takes bodies away: all of them, with the record that vouches for what stands there now, or none. */
export interface RedactBodies {
  readonly workspace: string;
  readonly branch: string;
  readonly memory: NewMemory;
  readonly erasures: readonly Erasure[];
}

export type RedactOutcome =
  | { readonly kind: "redacted"; readonly place: ChainPosition }
  /** The first that is not as it was seen, or not there. */
  | { readonly kind: "changed"; readonly erasure: Erasure }
  | RecordRefusal;

/** Looks through stored texts and names, a slice at a time: memories of every branch come last, in their order. */
export interface SeekText {
  readonly workspace: string;
  /** Any of these, exactly as they would stand in the stored text. */
  readonly forms: readonly string[];
  /** Where the slice before this one ended; empty at the start. */
  readonly after: string;
}

export type TextOccurrence =
  | { readonly kind: "memory"; readonly row: MemoryRow }
  | { readonly kind: "envelope"; readonly row: EnvelopeRow }
  | { readonly kind: "attempt"; readonly row: AttemptRow }
  | { readonly kind: "entry"; readonly row: EntryRow }
  | { readonly kind: "agent"; readonly row: AgentRow };

export interface SeekTextResult {
  readonly found: readonly TextOccurrence[];
  /** Where the next slice begins; undefined when there is none. */
  readonly next: string | undefined;
  readonly checked: number;
  readonly total: number;
}

export interface ScrubResult {
  /** What may still hold what was taken away, and why the store cannot change that. */
  readonly beyond: readonly string[];
}

// Housekeeping -----------------------------------------------------------------------------------

/** How many deliveries are in each state, and how many envelopes were ever sent. */
export interface DeliveryTotals {
  readonly envelopes: number;
  readonly deliveries: number;
  readonly byState: Readonly<Record<DeliveryState, number>>;
}

/** Whom a commit concerns: a receiver with new work, a holder whose work changed, a sender. */
export interface WakeTarget {
  readonly workspace: string;
  readonly agent: string;
}

export interface Store {
  /** What this is, for people: `sqlite .baton/hub.db`. */
  readonly name: string;

  registerAgent(operation: RegisterAgent): Promise<RegisterOutcome>;
  /** By canonical id or alias. */
  findAgent(workspace: string, name: string): Promise<AgentRow | undefined>;
  listAgents(workspace: string): Promise<readonly AgentRow[]>;

  appendMemories(operation: AppendMemories): Promise<AppendOutcome>;
  /** In the order asked for; what does not exist is left out. */
  readMemories(workspace: string, ids: readonly string[]): Promise<readonly MemoryRow[]>;
  /** What the reader sees, newest first: in the order of storing, whatever line it is on. */
  recentMemories(operation: RecentMemories): Promise<readonly MemoryRow[]>;
  /** In the order asked for. */
  findTips(operation: FindTips): Promise<readonly Tip[]>;
  /** Oldest edge first. */
  findRelations(operation: FindRelations): Promise<readonly RelationEdge[]>;
  /** Oldest edge first. */
  findInbound(operation: FindInbound): Promise<readonly RelationEdge[]>;
  /** The best first. */
  search(operation: SearchMemories): Promise<SearchResult>;
  /** Oldest first: what has no vector of a model yet. */
  findUnembedded(operation: FindUnembedded): Promise<UnembeddedSlice>;
  /** Vectors and how far the model has come, together. What it said of a record before is replaced. */
  putVectors(operation: PutVectors): Promise<void>;
  listModels(workspace: string): Promise<readonly ModelState[]>;
  /** Takes a model's vectors away. */
  dropModel(workspace: string, model: string): Promise<void>;

  putEntry(
    workspace: string,
    entry: PutEntry,
    event?: { readonly kind: EventKind; readonly agent: string },
  ): Promise<PutOutcome>;
  findEntry(workspace: string, kind: string, name: string): Promise<EntryRow | undefined>;
  /** In the order of their names (by code point). */
  listEntries(operation: ListEntries): Promise<readonly EntryRow[]>;

  sendHandoff(operation: SendHandoff): Promise<SendOutcome>;
  claimDeliveries(operation: ClaimDeliveries): Promise<ClaimOutcome>;
  acceptDelivery(operation: AcceptDelivery): Promise<AcceptOutcome>;
  settleDelivery(operation: SettleDelivery): Promise<SettleOutcome>;
  moveDeliveries(operation: MoveDeliveries): Promise<MoveOutcome>;
  listDue(operation: ListDue): Promise<DueDeliveries>;
  /** Not beyond the longest hold. */
  renewLease(workspace: string, lease: Lease): Promise<RenewOutcome>;
  /** Gives every good lease a session holds (not those bound to a process) its full time again. */
  renewSession(session: Session, leaseMs: number): Promise<void>;
  /** The processes that hold something in the workspace, each once, in no order. */
  listProcesses(workspace: string): Promise<readonly string[]>;

  findDelivery(workspace: string, id: string): Promise<DeliveryWithEnvelopeRow | undefined>;
  /** In inbox order; looking never consumes. */
  listDeliveries(operation: ListDeliveries): Promise<readonly DeliveryWithEnvelopeRow[]>;
  /** In the order of their places. */
  listParked(operation: ListParked): Promise<readonly DeliveryWithEnvelopeRow[]>;
  browseDeliveries(operation: BrowseDeliveries): Promise<DeliveryPage>;
  /** How many deliveries are open in an inbox; `most` at most, so that it costs no more than that. */
  countOpen(workspace: string, receiver: string, most: number): Promise<number>;
  /** One envelope, and the deliveries that point to it now. */
  findEnvelope(workspace: string, id: string): Promise<LineEntry | undefined>;
  /** Envelopes of a task in the order they were sent; with `newest`, at most that many, the last ones. */
  readLine(workspace: string, task: string, newest?: number): Promise<readonly LineEntry[]>;
  readAttempts(workspace: string, delivery: string): Promise<readonly AttemptRow[]>;
  /** Events after a number, oldest first. */
  readEvents(workspace: string, after: number, limit: number): Promise<readonly EventRow[]>;

  /** Traces in the order of their names (by code point). */
  listTraces(operation: ListTraces): Promise<readonly TraceBranch[]>;
  /** How much of it nothing that stays refers to: what could go. */
  surveyTrace(operation: SurveyTrace): Promise<PruneTraceResult>;
  pruneTrace(operation: PruneTrace): Promise<PruneTraceResult>;
  surveyEvents(operation: SurveyEvents): Promise<EventSurvey>;
  /**
   * Takes away the oldest events, `limit` at most and none after `upTo`; answers how many went. Never
   * the newest: a number is given once, and a cursor goes on from wherever it was.
   */
  pruneEvents(workspace: string, upTo: number, limit: number): Promise<number>;

  redactBodies(operation: RedactBodies): Promise<RedactOutcome>;
  seekText(operation: SeekText): Promise<SeekTextResult>;
  /**
   * Removes what redacted bodies have left in the store's own files: logs, free space, indexes. With
   * `forms`, looks whether anything of that is left.
   */
  scrub(workspace: string, forms: readonly string[]): Promise<ScrubResult>;

  countDeliveries(workspace: string): Promise<DeliveryTotals>;
  verify(workspace: string, onProgress?: (progress: VerifyProgress) => void): Promise<VerifyReport>;
  indexState(): Promise<IndexState>;
  /** One read-only query over the views (sql/views.ts), as of one moment. */
  query(operation: RunQuery): Promise<QueryOutcome>;

  /**
   * Everything a workspace holds, of one moment: first a summary, then the rows. Whoever stops
   * reading early ends it (`return()`, or leaving a `for await`).
   */
  exportWorkspace(workspace: string): AsyncGenerator<ExportItem, void, undefined>;
  /** All of an archive into a workspace that holds nothing, verified before anybody sees it. */
  importWorkspace(
    workspace: string,
    archive: Archive,
    onProgress?: (progress: ImportProgress) => void,
  ): Promise<ImportOutcome>;
  /** A copy of the whole store in a file, of one moment, while others write. */
  backup(file: string, onProgress?: (progress: BackupProgress) => void): Promise<BackupOutcome>;

  /**
   * Calls back after a commit that concerns an agent. A hint: it carries no data and may be lost.
   * Returns how to stop.
   */
  onWake(whom: WakeTarget, listener: () => void): () => void;
  /** Finishes what was submitted, then closes. Calling it twice is fine. */
  close(): Promise<void>;
}
