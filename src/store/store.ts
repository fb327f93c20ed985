/**
 * The store interface: the only boundary between Baton and a database engine. It consists of whole
 * operations, each atomic, each returning a closed union of what can happen. There is no transaction to hold
 * open and no query to build. An operation compares rows and never decides by policy.
 *
 * An outcome other than success has changed nothing.
 *
 * Every store passes the suite in store-contract/.
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
import type { ChainHead, ChainPoint, VerifyProgress, VerifyReport } from "./verify-report.ts";
import type { Visibility } from "./visibility.ts";

/**
 * Refused because of the author, which is checked inside the write: no other write can intervene.
 */
export type AuthorRefusal =
  | { readonly kind: "unknown_agent"; readonly agent: string }
  | { readonly kind: "agent_disabled"; readonly agent: string }
  /** The record is unsigned, or signed with a key that is not the agent's current key. */
  | { readonly kind: "key_changed"; readonly agent: string };

/** Refused because of the record. `missing_reference`: `memory` names a `reference` that does not exist. */
export type RecordRefusal =
  | AuthorRefusal
  | { readonly kind: "missing_reference"; readonly memory: string; readonly reference: string }
  | { readonly kind: "id_taken"; readonly id: string }
  /** The branch has an entry of kind `CLOSED_BRANCH` with its name. */
  | { readonly kind: "branch_closed"; readonly branch: string };

/** The kind of the entry that closes a branch; records can no longer be added to it. */
export const CLOSED_BRANCH = "closed";

/** Where the store put a record on its chain. */
export interface ChainPosition {
  readonly id: string;
  readonly seq: number;
  readonly storedAt: number;
  readonly link: string;
}

// Agents -----------------------------------------------------------------------------------------

/** Creates or changes an agent. */
export interface RegisterAgent {
  readonly workspace: string;
  readonly agent: Omit<AgentRow, "revision" | "keyedAt" | "digest">;
  /** The revision this change is based on; 0 to create the agent. */
  readonly basedOn: number;
  /**
   * Records of the change, each appended to its branch in the same operation, not before the time from which
   * a new key counts. They mention no other memory. Their author may be the agent itself, as it is after the
   * change; the author of a record on `KEYS_BRANCH` is not checked.
   */
  readonly records?: readonly { readonly branch: string; readonly memory: NewMemory }[];
}

/** What a registration did. */
export type RegisterOutcome =
  | { readonly kind: "registered"; readonly agent: AgentRow }
  /** The agent was changed concurrently: read it again and decide again. */
  | { readonly kind: "changed" }
  /** The id or an alias belongs to another agent (`by`). */
  | { readonly kind: "name_taken"; readonly name: string; readonly by: string }
  /** The record is refused; the agent was not changed. */
  | RecordRefusal;

// Memories ---------------------------------------------------------------------------------------

/** Proof that the caller still holds a delivery. */
export interface Lease {
  readonly delivery: string;
  readonly fence: number;
  /** The envelope the holder knows; an extension may have replaced it with a newer one. */
  readonly envelope: string;
  /** Length of the renewed lease in milliseconds. */
  readonly leaseMs: number;
}

/** Appends memories to a branch. */
export interface AppendMemories {
  readonly workspace: string;
  readonly branch: string;
  /** All or none are written. A memory may mention an earlier one of the same list. */
  readonly memories: readonly NewMemory[];
  /** The lease of the work that writes them: it is renewed, or the write is refused. */
  readonly lease?: Lease;
  /** Written together with the records or not at all. Each entry at most once. */
  readonly entries?: readonly PutEntry[];
  /** A branch and its last known record; nothing is written if the branch has grown since. */
  readonly tip?: { readonly branch: string; readonly seq: number };
}

/** What an append did. */
export type AppendOutcome =
  /** `envelope` is the delivery's current envelope; empty if no lease was passed. */
  | {
      readonly kind: "appended";
      readonly places: readonly ChainPosition[];
      readonly envelope: string;
    }
  /** An entry exists already or has changed; `entry` is the first such entry, as it is now. */
  | { readonly kind: "entry_changed"; readonly entry: EntryRow | undefined }
  | { readonly kind: "tip_moved" }
  | RecordRefusal
  | LeaseLost;

/** Asks for the newest memories a reader may see. */
export interface RecentMemories {
  readonly workspace: string;
  readonly sight: Visibility;
  readonly filter: MemoryFilter;
  readonly limit: number;
  /** Only records stored before this one (the last of a page). If it does not exist, none are returned. */
  readonly before?: string;
}

/** A point in the history of a workspace: a time, or the storing of a record (including that record). */
export type Moment =
  | { readonly kind: "time"; readonly at: number }
  | { readonly kind: "memory"; readonly id: string };

/** Asks for the last record of branches. */
export interface FindTips {
  readonly workspace: string;
  readonly branches: readonly string[];
  /** The moment to look at; default: now. */
  readonly moment?: Moment;
}

/** The last record of a branch; 0 and empty if it has none. */
export interface Tip {
  readonly seq: number;
  readonly memory: string;
}

/** Asks for the edges of one memory. */
export interface FindRelations {
  readonly workspace: string;
  readonly memory: string;
  readonly direction: "in" | "out";
  /** The reader; edges with an invisible record at the other end are left out. */
  readonly sight: Visibility;
  readonly kinds?: readonly string[];
  /** Only edges valid at this time. */
  readonly at?: number;
  readonly limit: number;
}

/**
 * Asks for edges that point to any of these memories, regardless of visibility: to trace what was built on
 * them.
 */
export interface FindInbound {
  readonly workspace: string;
  readonly memories: readonly string[];
  readonly kinds: readonly string[];
  readonly limit: number;
}

// Entries ----------------------------------------------------------------------------------------

/** A change of an entry by compare-and-set. */
export interface PutEntry {
  readonly kind: string;
  readonly name: string;
  /** Canonical JSON; undefined deletes the entry. */
  readonly value: string | undefined;
  /** The revision this change is based on; 0 to create the entry. */
  readonly basedOn: number;
}

/** What a change of an entry did. */
export type PutOutcome =
  /** The entry as it is now; undefined if it was deleted. */
  | { readonly kind: "put"; readonly entry: EntryRow | undefined }
  /** The entry was changed concurrently; `entry` is its current value. */
  | { readonly kind: "changed"; readonly entry: EntryRow | undefined };

/** Asks for the entries of a kind. */
export interface ListEntries {
  readonly workspace: string;
  readonly kind: string;
  /** Only names that start with this. */
  readonly prefix?: string;
  /** Only names after this one (the last of the page before). */
  readonly after?: string;
  readonly limit: number;
}

// Handoffs ---------------------------------------------------------------------------------------

/**
 * Value of `SendHandoff.breaker` that ignores the receiver's circuit breaker: for handoffs to many receivers.
 */
export const IGNORE_BREAKER = -1;

/** Sends a sealed envelope to its receivers. */
export interface SendHandoff {
  readonly workspace: string;
  readonly branch: string;
  readonly memory: NewMemory;
  readonly envelope: NewEnvelope;
  /** At least one: the envelope at each receiver, each receiver at most once. */
  readonly deliveries: readonly NewDelivery[];
  /** The envelope that this one continues from; empty at the start of a line. */
  readonly parent: string;
  /**
   * The open delivery of the same task, sender, receiver and parent as the sender last saw it: this handoff
   * extends it. If absent, there must be no such delivery. Not checked for several receivers, because a
   * publication is new work at each of them.
   */
  readonly extend?: {
    readonly delivery: string;
    readonly envelope: string;
    /** True if an agent had it (the delivery stays), false if it was waiting (it is replaced). */
    readonly held: boolean;
  };
  /**
   * The revision of the receiver's breaker entry that the sender knows; 0: there must be none;
   * `IGNORE_BREAKER`: any. Not checked when this handoff extends open work.
   */
  readonly breaker: number;
  /**
   * Written with the handoff or not at all: an idempotency key, the task's ledger. Each entry at most once.
   */
  readonly entries?: readonly PutEntry[];
  /** The sender's own delivery, which this handoff completes (handing on). */
  readonly settles?: Lease;
}

/** What a send did. */
export type SendOutcome =
  | {
      readonly kind: "sent";
      readonly place: ChainPosition;
      /** In the order of `SendHandoff.deliveries`. */
      readonly deliveries: readonly DeliveryRow[];
      /** The unclaimed delivery that the new one replaced; empty: none. */
      readonly superseded: string;
    }
  /**
   * The open work is not what the sender assumed. `open` is the delivery that is open now, with its handoff
   * record; undefined: none is. Seal the envelope again for that and retry.
   */
  | {
      readonly kind: "changed";
      readonly open: { readonly delivery: DeliveryRow; readonly memory: string } | undefined;
    }
  /** An entry exists already or has changed; `entry` is the first such entry, as it is now. */
  | { readonly kind: "entry_changed"; readonly entry: EntryRow | undefined }
  /** The receiver's breaker entry does not have the assumed revision. */
  | { readonly kind: "breaker_changed"; readonly entry: EntryRow | undefined }
  | { readonly kind: "missing_parent"; readonly envelope: string }
  | ReceiverRefusal
  | RecordRefusal
  | LeaseRefusal;

/** What sending several handoffs did: all of them, or none. */
export type SendManyOutcome =
  | {
      readonly kind: "sent";
      /** In the order of the handoffs. */
      readonly sent: readonly Extract<SendOutcome, { kind: "sent" }>[];
    }
  /** These handoffs were refused, in their order. */
  | { readonly kind: "refused"; readonly refused: readonly RefusedHandoff[] };

/** One of several handoffs that was refused, and why. */
export interface RefusedHandoff {
  readonly index: number;
  readonly refusal: SendRefusal;
}

/** Why a handoff was not sent. */
export type SendRefusal = Exclude<SendOutcome, { kind: "sent" }>;

/**
 * Refused because of the receiver. For the inbox of a role: no agent with the role exists, or all are
 * disabled.
 */
export type ReceiverRefusal =
  | { readonly kind: "unknown_receiver"; readonly receiver: string }
  | { readonly kind: "receiver_disabled"; readonly receiver: string };

/** The caller does not hold the delivery (any more). */
export interface LeaseLost {
  readonly kind: "lease_lost";
  /** The delivery as it is now; undefined if it does not exist. */
  readonly delivery: DeliveryRow | undefined;
}

/** Refused because of the lease. */
export type LeaseRefusal =
  | LeaseLost
  /** The sender has extended the handoff; `envelope` is the current one. */
  | { readonly kind: "extended"; readonly envelope: EnvelopeRow };

/** A delivery with its current envelope. */
export interface DeliveryWithEnvelopeRow {
  readonly delivery: DeliveryRow;
  readonly envelope: EnvelopeRow;
}

/**
 * Claims ready deliveries from the inboxes of an agent and of its role, lowest place first, then lowest id.
 * Deliveries past their deadline are skipped. Retries that are due become ready first. A paused agent gets
 * nothing.
 */
export interface ClaimDeliveries {
  readonly workspace: string;
  readonly branch: string;
  readonly receiver: string;
  readonly instance: string;
  /** The key the receiver acts with; must be the one it is registered with. Empty: no key. */
  readonly publicKey: string;
  /** Maximum number of deliveries to claim. */
  readonly limit: number;
  /** Length of the lease in milliseconds. */
  readonly leaseMs: number;
  /** The longest hold in milliseconds, however often the lease is renewed. */
  readonly holdMs: number;
  /** The process the lease is bound to besides time; empty: none (the lease of a session). */
  readonly process: string;
  /** Only deliveries of this task. */
  readonly task?: string;
  /** Claims this delivery instead of the first ones. It must be in turn. */
  readonly delivery?: string;
  /**
   * Accepts in the same operation: returns the receiver's continues-from record for a claimed delivery. Must
   * have no side effects, because it is called again if the store has to repeat its work.
   */
  readonly accept?: (claimed: DeliveryWithEnvelopeRow) => NewMemory;
}

/** What a claim returned. */
export type ClaimOutcome =
  | {
      readonly kind: "claimed";
      readonly claimed: readonly DeliveryWithEnvelopeRow[];
      /**
       * Milliseconds of store time until something in the workspace falls due (a retry, an expiring lease, a
       * decision). 0: now, see `listDue`. Infinity: nothing will, or `limit` deliveries were claimed and it
       * was not determined. A duration, because clocks differ.
       */
      readonly nextDueMs: number;
    }
  | RecordRefusal;

/** Accepts a claimed delivery. */
export interface AcceptDelivery {
  readonly workspace: string;
  readonly branch: string;
  readonly lease: Lease;
  /** The receiver's continues-from record. */
  readonly memory: NewMemory;
}

/** What an accept did. */
export type AcceptOutcome =
  | { readonly kind: "accepted"; readonly place: ChainPosition; readonly delivery: DeliveryRow }
  | RecordRefusal
  | LeaseRefusal;

/**
 * How a holder ends an attempt, and what happens to the delivery; decided by delivery/settings/policy.ts.
 * `lapseMs`: milliseconds until the next decision about it is due; 0: only at its deadline.
 */
export type Settlement =
  /** Also closes the receiver's circuit breaker by deleting its entry. */
  | { readonly kind: "completed" }
  | { readonly kind: "declined" }
  /** Waits for an answer. The attempt does not count, so one more is allowed. */
  | { readonly kind: "asked" }
  | { readonly kind: "failed" | "released"; readonly becomes: "dead" }
  | {
      readonly kind: "released";
      readonly becomes: "ready";
      readonly lapseMs: number;
      /** False: the attempt does not count, because the holder only read it; one more is allowed. */
      readonly counts: boolean;
    }
  | {
      readonly kind: "failed" | "released";
      readonly becomes: "scheduled";
      readonly delayMs: number;
      readonly lapseMs: number;
    };

/** What to claim and accept in the transaction of a settlement: at most one delivery. */
export interface ClaimNext extends Omit<ClaimDeliveries, "accept" | "limit" | "workspace"> {
  readonly accept: NonNullable<ClaimDeliveries["accept"]>;
}

/** Ends the attempt of a holder. */
export interface SettleDelivery {
  readonly workspace: string;
  readonly branch: string;
  readonly lease: Lease;
  /** The states from which this settlement is allowed (delivery/settle/transitions.ts). */
  readonly from: readonly DeliveryState[];
  readonly settlement: Settlement;
  /** The record of the settlement; absent for a release. */
  readonly memory?: NewMemory;
  /** Canonical JSON of the reason, for the attempt's row; empty for a completion. */
  readonly reason: string;
  /**
   * Claims and accepts the next delivery in the same transaction, if the settlement is accepted. It never
   * fails or undoes the settlement: if nothing is ready, or if the claim would be refused or its `accept`
   * throws, the outcome has no `next`, and an ordinary claim reports why. What only this settlement makes
   * ready may be left to the next claim.
   */
  readonly next?: ClaimNext;
}

/** What a settlement did. */
export type SettleOutcome =
  | {
      readonly kind: "settled";
      readonly delivery: DeliveryRow;
      /** What `next` claimed and accepted; absent if it claimed nothing. */
      readonly next?: DeliveryWithEnvelopeRow;
    }
  | RecordRefusal
  | LeaseRefusal;

/** What a renewal did. */
export type RenewOutcome = { readonly kind: "renewed"; readonly delivery: DeliveryRow } | LeaseLost;

/** One session of an agent. */
export interface Session {
  readonly workspace: string;
  readonly agent: string;
  readonly instance: string;
}

/** Asks for deliveries to decide about: past their lease or time, or held by a process that has ended. */
export interface ListDue {
  readonly workspace: string;
  /** Processes that ended without settling their deliveries. */
  readonly gone: readonly string[];
  readonly limit: number;
}

/** The deliveries that are due. */
export interface DueDeliveries {
  /** Store time of the read. */
  readonly now: number;
  /**
   * Each once: those past their time (longest overdue first), then past their lease, then of ended processes.
   */
  readonly due: readonly DeliveryWithEnvelopeRow[];
  /** How many retries are due, counted up to `limit`: `makeRetriesReady` makes them ready, and so does a claim. */
  readonly retries: number;
}

/** When something in a workspace falls due: a retry, the end of a lease, or a decision. */
export interface NextDue {
  readonly workspace: string;
  /** Milliseconds of store time. 0: now. A duration, because clocks differ. */
  readonly dueMs: number;
}

/**
 * Changes deliveries from outside, not as their holder: all of them, or none if one is not as it was seen.
 * Every decision of a policy or a person about a delivery uses this operation.
 */
export interface MoveDeliveries {
  readonly workspace: string;
  readonly branch: string;
  /** The agent that the events name as their cause. */
  readonly agent: string;
  /** The record it appends. Required with an envelope, and for a move that queues a delivery again. */
  readonly memory?: NewMemory;
  /** A new envelope, vouched for by the memory, that replaces the envelope of the deliveries. */
  readonly envelope?: NewEnvelope;
  /** Empty to write only the record and the entries. */
  readonly moves: readonly Move[];
  /** Written with it or not at all. Each entry at most once. */
  readonly entries?: readonly PutEntry[];
}

/** The change of one delivery. */
export interface Move {
  readonly delivery: string;
  /** The delivery as the caller saw it; otherwise the outcome is `changed`. */
  readonly seen: {
    readonly state: DeliveryState;
    readonly fence: number;
    readonly envelope: string;
    /** Compared if present: a holder that seemed lost may have renewed its lease. */
    readonly leaseUntil?: number;
    /** Compared if present: it can change without a change of the state. */
    readonly lapseAt?: number;
    readonly followers?: string;
  };
  /** The new state. If it is the state it has already, only the fields given here change. */
  readonly to: DeliveryState;
  readonly event: EventKind;
  /** The new receiver: the delivery goes to the end of that inbox, in turn among those of its task. */
  readonly receiver?: string;
  /** Milliseconds until it is ready; for `scheduled` only. */
  readonly delayMs?: number;
  /** As in `Settlement`. Default: only at its deadline, or unchanged if the state stays the same. */
  readonly lapseMs?: number;
  readonly maxAttempts?: number;
  readonly deadline?: number;
  readonly followers?: string;
  /**
   * How the attempt ended, with canonical JSON of the reason. Required if the delivery was held; otherwise it
   * is recorded as an attempt without a claim.
   */
  readonly ends?: { readonly outcome: AttemptRow["outcome"]; readonly reason: string };
}

/** What a move did. */
export type MoveOutcome =
  | { readonly kind: "moved"; readonly deliveries: readonly DeliveryRow[] }
  /** The first delivery that is not as it was seen, as it is now. */
  | { readonly kind: "changed"; readonly delivery: DeliveryRow | undefined }
  /** The first entry that exists already or has changed, as it is now. */
  | { readonly kind: "entry_changed"; readonly entry: EntryRow | undefined }
  | { readonly kind: "missing_parent"; readonly envelope: string }
  | ReceiverRefusal
  | RecordRefusal;

/** The end of a page. Several deliveries can have the same place; the id distinguishes them. */
export type InboxCursor = Pick<DeliveryRow, "place" | "id">;

/** Asks for the open deliveries of inboxes. */
export interface ListDeliveries {
  readonly workspace: string;
  /** The inboxes: of an agent, of its role. */
  readonly receivers: readonly string[];
  readonly states: readonly DeliveryState[];
  readonly task?: string;
  readonly limit: number;
  /** Only deliveries after this one (the last of the page before). */
  readonly after?: InboxCursor;
}

/** Asks for deliveries that stand still until a decision: dead letters, and questions to the sender. */
export interface ListParked {
  readonly workspace: string;
  readonly state: "dead" | "waiting";
  readonly sender?: string;
  readonly receiver?: string;
  readonly task?: string;
  readonly limit: number;
  /** Only deliveries after this one (the last of the page before). */
  readonly after?: InboxCursor;
}

/**
 * Asks for deliveries of every receiver, the highest id first. Ids are UUIDv7, so that is newest first as far
 * as the clocks of the senders agree. An id never changes: paging returns each delivery that existed at the
 * start exactly once.
 */
export interface BrowseDeliveries {
  readonly workspace: string;
  /** Default: every state. */
  readonly states?: readonly DeliveryState[];
  readonly sender?: string;
  /** The inbox of an agent or of a role. */
  readonly receiver?: string;
  readonly task?: string;
  /** Sent at this time or later. */
  readonly sentAfter?: number;
  /** Sent earlier than this time. */
  readonly sentBefore?: number;
  /** Only ids below this one: `next` of the page before. */
  readonly before?: string;
  readonly limit: number;
  /** How many deliveries a page reads at most, matching or not, because no index covers the filters. */
  readonly visits: number;
}

/** One page of `browseDeliveries`. */
export interface DeliveryPage {
  readonly rows: readonly DeliveryWithEnvelopeRow[];
  /** The last id that was read, if there are deliveries below it. A page can be short and still have it. */
  readonly next?: string;
}

/** An envelope of a task's line. */
export interface LineEntry {
  readonly envelope: EnvelopeRow;
  /** Deliveries that have this envelope now. */
  readonly deliveries: readonly DeliveryRow[];
}

// Retention --------------------------------------------------------------------------------------

/** What is left of a session's trace: the steps from `first` to `last`, without gaps. */
export interface TraceBranch {
  readonly branch: string;
  /** The first step left; `last` + 1 if all of it was pruned. */
  readonly first: number;
  readonly last: number;
  /** Store time of the first step left; 0 if there is none. */
  readonly firstAt: number;
  /** Store time of the last step ever written. */
  readonly lastAt: number;
  /** The link of the last step ever written. */
  readonly link: string;
}

/** Asks for the traces of a workspace. */
export interface ListTraces {
  readonly workspace: string;
  /** Only branches after this one (the last of the page before). */
  readonly after?: string;
  readonly limit: number;
}

/** The beginning of a trace, up to a step that may be pruned. */
export interface SurveyTrace {
  readonly workspace: string;
  readonly branch: string;
  readonly upTo: number;
}

/**
 * Deletes steps from the beginning of a trace permanently, with their edges. Stops before the first step that
 * a record after `upTo` or on another branch refers to, and before the newest record of the store, so that no
 * position is ever assigned twice. A record that permits it must be written before (store/pruning.ts).
 */
export interface PruneTrace extends SurveyTrace {
  /** Maximum number of steps; bounds how long other writes wait. */
  readonly limit: number;
}

/** What can be pruned, or was pruned. */
export interface PruneTraceResult {
  readonly records: number;
  /** Total size of their texts. */
  readonly bytes: number;
  /** The first step that stays because a record refers to it; 0: none. */
  readonly heldBy: number;
}

/** Asks for events older than a time, or beyond the newest `keep`. The newest event is never included. */
export interface SurveyEvents {
  readonly workspace: string;
  readonly before?: number;
  readonly keep?: number;
}

/** The events that can be pruned. */
export interface EventSurvey {
  /** The number of the last one; 0: there are none. */
  readonly upTo: number;
  readonly events: number;
}

// Redaction --------------------------------------------------------------------------------------

/** The replacement of one body, if it is still as it was seen. */
export type Erasure =
  | {
      readonly kind: "memory" | "envelope";
      readonly id: string;
      /** Digest of the text as it was seen. */
      readonly digest: string;
      /** The stub that replaces it. */
      readonly text: string;
    }
  | {
      readonly kind: "attempt";
      readonly delivery: string;
      readonly attempt: number;
      /** Digest of the reason as it was seen. */
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

/** Erases bodies: all of them, together with the record that vouches for the stubs, or none. */
export interface RedactBodies {
  readonly workspace: string;
  readonly branch: string;
  readonly memory: NewMemory;
  readonly erasures: readonly Erasure[];
}

/** What a redaction did. */
export type RedactOutcome =
  | { readonly kind: "redacted"; readonly place: ChainPosition }
  /** The first body that is not as it was seen, or does not exist. */
  | { readonly kind: "changed"; readonly erasure: Erasure }
  | RecordRefusal;

/**
 * Searches stored texts and names, one slice per call; memories of every branch come last, in order of
 * storing.
 */
export interface SeekText {
  readonly workspace: string;
  /** Texts to find, exactly as they appear in the stored text; any of them matches. */
  readonly forms: readonly string[];
  /** `next` of the slice before; empty at the start. */
  readonly after: string;
}

/** A row that contains one of the texts. */
export type TextOccurrence =
  | { readonly kind: "memory"; readonly row: MemoryRow }
  | { readonly kind: "envelope"; readonly row: EnvelopeRow }
  | { readonly kind: "attempt"; readonly row: AttemptRow }
  | { readonly kind: "entry"; readonly row: EntryRow }
  | { readonly kind: "agent"; readonly row: AgentRow };

/** One slice of a text search. */
export interface SeekTextResult {
  readonly found: readonly TextOccurrence[];
  /** Pass it in `after` for the next slice; undefined at the end. */
  readonly next: string | undefined;
  readonly checked: number;
  readonly total: number;
}

/** What a scrub could not reach. */
export interface ScrubResult {
  /** Places that may still contain erased text, and why the store cannot change that; as text for people. */
  readonly beyond: readonly string[];
}

// Housekeeping -----------------------------------------------------------------------------------

/** How many deliveries are in each state, and how many envelopes were sent in total. */
export interface DeliveryTotals {
  readonly envelopes: number;
  readonly deliveries: number;
  readonly byState: Readonly<Record<DeliveryState, number>>;
}

/** An agent that a commit concerns: a receiver with new work, a holder of changed work, or a sender. */
export interface WakeTarget {
  readonly workspace: string;
  readonly agent: string;
}

/** The operations of a store. All times are store time in milliseconds. */
export interface Store {
  /** Name of the store for people: `sqlite .baton/hub.db`. */
  readonly name: string;

  registerAgent(operation: RegisterAgent): Promise<RegisterOutcome>;
  /** Finds an agent by its id or an alias. */
  findAgent(workspace: string, name: string): Promise<AgentRow | undefined>;
  listAgents(workspace: string): Promise<readonly AgentRow[]>;

  appendMemories(operation: AppendMemories): Promise<AppendOutcome>;
  /** Returns memories in the order of `ids`; unknown ids are left out. */
  readMemories(workspace: string, ids: readonly string[]): Promise<readonly MemoryRow[]>;
  /** Returns what the reader sees in the order of storing, newest first, across branches. */
  recentMemories(operation: RecentMemories): Promise<readonly MemoryRow[]>;
  /** Returns one tip per branch, in the order of `branches`. */
  findTips(operation: FindTips): Promise<readonly Tip[]>;
  /** Returns edges, oldest first. */
  findRelations(operation: FindRelations): Promise<readonly RelationEdge[]>;
  /** Returns edges, oldest first. */
  findInbound(operation: FindInbound): Promise<readonly RelationEdge[]>;
  /** Returns hits, best first. */
  search(operation: SearchMemories): Promise<SearchResult>;
  /** Returns records without a vector of the model, oldest first. */
  findUnembedded(operation: FindUnembedded): Promise<UnembeddedSlice>;
  /** Stores vectors together with the progress of the model. Replaces earlier vectors of the same records. */
  putVectors(operation: PutVectors): Promise<void>;
  listModels(workspace: string): Promise<readonly ModelState[]>;
  /** Deletes the vectors of a model. */
  dropModel(workspace: string, model: string): Promise<void>;

  /** Changes an entry, and writes the event with it. */
  putEntry(
    workspace: string,
    entry: PutEntry,
    event?: { readonly kind: EventKind; readonly agent: string },
  ): Promise<PutOutcome>;
  findEntry(workspace: string, kind: string, name: string): Promise<EntryRow | undefined>;
  /** Returns entries in the order of their names (by code point). */
  listEntries(operation: ListEntries): Promise<readonly EntryRow[]>;

  sendHandoff(operation: SendHandoff): Promise<SendOutcome>;
  /**
   * Sends several handoffs on one branch of one workspace, or none of them. None may complete a delivery, no
   * two may have a receiver and a task in common, or an entry.
   */
  sendHandoffs(operations: readonly SendHandoff[]): Promise<SendManyOutcome>;
  claimDeliveries(operation: ClaimDeliveries): Promise<ClaimOutcome>;
  acceptDelivery(operation: AcceptDelivery): Promise<AcceptOutcome>;
  settleDelivery(operation: SettleDelivery): Promise<SettleOutcome>;
  moveDeliveries(operation: MoveDeliveries): Promise<MoveOutcome>;
  listDue(operation: ListDue): Promise<DueDeliveries>;
  /**
   * Returns when something falls due next, in each of these workspaces. Leaves out workspaces in which nothing
   * will. Default: all workspaces of the store.
   */
  nextDue(workspaces?: readonly string[]): Promise<readonly NextDue[]>;
  /** Makes retries ready that are due. */
  makeRetriesReady(workspace: string): Promise<void>;
  /** Renews a lease, at most until the longest hold. */
  renewLease(workspace: string, lease: Lease): Promise<RenewOutcome>;
  /** Renews every current lease of a session to its full time, except those bound to a process. */
  renewSession(session: Session, leaseMs: number): Promise<void>;
  /** Returns the processes that hold deliveries in the workspace, each once, in no particular order. */
  listProcesses(workspace: string): Promise<readonly string[]>;

  findDelivery(workspace: string, id: string): Promise<DeliveryWithEnvelopeRow | undefined>;
  /** Returns deliveries in inbox order; reading never consumes. */
  listDeliveries(operation: ListDeliveries): Promise<readonly DeliveryWithEnvelopeRow[]>;
  /** Returns deliveries in the order of their places. */
  listParked(operation: ListParked): Promise<readonly DeliveryWithEnvelopeRow[]>;
  browseDeliveries(operation: BrowseDeliveries): Promise<DeliveryPage>;
  /** Counts the open deliveries of an inbox, up to `most`, so that the cost is bounded. */
  countOpen(workspace: string, receiver: string, most: number): Promise<number>;
  /** Returns an envelope and the deliveries that have it now. */
  findEnvelope(workspace: string, id: string): Promise<LineEntry | undefined>;
  /**
   * Returns the envelopes of a task in the order they were sent; with `newest`, only that many of the last
   * ones.
   */
  readLine(workspace: string, task: string, newest?: number): Promise<readonly LineEntry[]>;
  readAttempts(workspace: string, delivery: string): Promise<readonly AttemptRow[]>;
  /** Returns events with a number above `after`, oldest first. */
  readEvents(workspace: string, after: number, limit: number): Promise<readonly EventRow[]>;

  /** Returns traces in the order of their names (by code point). */
  listTraces(operation: ListTraces): Promise<readonly TraceBranch[]>;
  /** Returns how much of the trace could be pruned because no remaining record refers to it. */
  surveyTrace(operation: SurveyTrace): Promise<PruneTraceResult>;
  pruneTrace(operation: PruneTrace): Promise<PruneTraceResult>;
  surveyEvents(operation: SurveyEvents): Promise<EventSurvey>;
  /**
   * Deletes the oldest events, at most `limit` and none after `upTo`; returns how many. Never deletes the
   * newest one: numbers are assigned once, and any cursor stays valid.
   */
  pruneEvents(workspace: string, upTo: number, limit: number): Promise<number>;

  redactBodies(operation: RedactBodies): Promise<RedactOutcome>;
  seekText(operation: SeekText): Promise<SeekTextResult>;
  /**
   * Removes traces of redacted bodies from the store's own files: logs, free space, indexes. With `forms`,
   * checks whether any of these texts are left.
   */
  scrub(workspace: string, forms: readonly string[]): Promise<ScrubResult>;

  countDeliveries(workspace: string): Promise<DeliveryTotals>;
  /** Returns the end of every chain of the workspace, in the order of the branches' names. */
  listHeads(workspace: string): Promise<readonly ChainHead[]>;
  /** Verifies a workspace. Each of the `expected` points must still be on its chain. */
  verify(
    workspace: string,
    onProgress?: (progress: VerifyProgress) => void,
    expected?: readonly ChainPoint[],
  ): Promise<VerifyReport>;
  indexState(): Promise<IndexState>;
  /** Runs one read-only query over the views (sql/views.ts) in one snapshot. */
  query(operation: RunQuery): Promise<QueryOutcome>;

  /**
   * Yields everything in a workspace from one snapshot: a summary, then the rows. Call `return()` or leave
   * the `for await` to stop early.
   */
  exportWorkspace(workspace: string): AsyncGenerator<ExportItem, void, undefined>;
  /** Writes an archive into an empty workspace; it becomes visible only after it was verified. */
  importWorkspace(
    workspace: string,
    archive: Archive,
    onProgress?: (progress: ImportProgress) => void,
  ): Promise<ImportOutcome>;
  /** Copies the whole store to a file, as of one moment, without blocking writers. */
  backup(file: string, onProgress?: (progress: BackupProgress) => void): Promise<BackupOutcome>;

  /**
   * Calls the listener after a commit that concerns an agent, or for `DUE_TIMES` (due-announcer.ts) after one
   * that sets a due time. A hint: it carries no data and may be lost. Returns a function that stops it.
   */
  onWake(whom: WakeTarget, listener: () => void): () => void;
  /** Finishes submitted operations, then closes. Can be called more than once. */
  close(): Promise<void>;
}
