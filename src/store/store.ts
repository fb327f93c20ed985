/**
 * The one interface between Baton and an engine: whole operations, each of them atomic, each
 * answering with a closed union of what can happen. There is no transaction to hold open and no
 * query to build; what an operation decides is a comparison of rows, never a policy.
 *
 * Every store passes the suite in testing/store-contract.ts.
 *
 * An outcome other than the good one has changed nothing.
 */
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

/** The author of a write is checked inside the write: nobody slips in between. */
export type AuthorRefusal =
  | { readonly kind: "unknown_agent"; readonly agent: string }
  | { readonly kind: "agent_disabled"; readonly agent: string }
  /** The record was signed with another key than the agent has now, or not at all. */
  | { readonly kind: "key_changed"; readonly agent: string };

export type RecordRefusal =
  | AuthorRefusal
  | { readonly kind: "missing_reference"; readonly memory: string; readonly reference: string }
  | { readonly kind: "id_taken"; readonly id: string };

export interface Place {
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
}

export type AppendOutcome =
  /** With the envelope that counts now, when it was written under a lease. */
  | { readonly kind: "appended"; readonly places: readonly Place[]; readonly envelope: string }
  | RecordRefusal
  | LeaseLost;

export interface MemoryFilter {
  readonly branch: string;
  readonly task?: string;
  readonly agent?: string;
  readonly session?: string;
  readonly tag?: string;
  readonly type?: string;
}

export interface RecentMemories {
  readonly workspace: string;
  readonly filter: MemoryFilter;
  readonly limit: number;
  /** Only records before this sequence number: the cursor for the next page. */
  readonly before?: number;
}

export interface FindRelations {
  readonly workspace: string;
  readonly memory: string;
  readonly direction: "in" | "out";
  readonly kinds?: readonly string[];
  /** Only edges valid at this time. */
  readonly at?: number;
  readonly limit: number;
}

export interface SearchCandidates {
  readonly workspace: string;
  readonly branch: string;
  /** Lower-case words; a candidate has at least one of them. */
  readonly words: readonly string[];
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
export const NOT_MINDED = -1;

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
  /** Written with the handoff, or nothing is: an idempotency key. */
  readonly entry?: PutEntry;
  /** Handing on: the sender's own delivery is completed by this very handoff. */
  readonly settles?: Lease;
}

export type SendOutcome =
  | {
      readonly kind: "sent";
      readonly place: Place;
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
  /** The entry it brings is there already, or has changed. */
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
export interface Claimed {
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
  readonly accept?: (claimed: Claimed) => NewMemory;
}

export type ClaimOutcome =
  | {
      readonly kind: "claimed";
      readonly claimed: readonly Claimed[];
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
  | { readonly kind: "accepted"; readonly place: Place; readonly delivery: DeliveryRow }
  | RecordRefusal
  | LeaseRefusal;

/**
 * How a holder ends its hold, and what becomes of the delivery. Decided by delivery/policy.ts.
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
  /** The states this settlement may start from (delivery/transitions.ts). */
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

export interface Due {
  /** The store's time. */
  readonly now: number;
  /** Each once: past their time (the longest first), then past their lease, then of the gone. */
  readonly due: readonly Claimed[];
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
  readonly moves: readonly Move[];
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

export interface LineEntry {
  readonly envelope: EnvelopeRow;
  /** Deliveries that point to this envelope now. */
  readonly deliveries: readonly DeliveryRow[];
}

// Housekeeping -----------------------------------------------------------------------------------

/** How many deliveries are in each state, and how many envelopes were ever sent. */
export interface Books {
  readonly envelopes: number;
  readonly deliveries: number;
  readonly byState: Readonly<Record<DeliveryState, number>>;
}

/** One thing that is not as it was written. */
export interface Problem {
  readonly record: string;
  readonly field: string;
  readonly message: string;
}

export interface VerifyReport {
  readonly memories: number;
  readonly relations: number;
  readonly envelopes: number;
  readonly deliveries: number;
  readonly agents: number;
  readonly problems: readonly Problem[];
}

export interface VerifyProgress {
  readonly checked: number;
  readonly total: number;
}

export interface IndexState {
  /** Records acknowledged, and how many of them the index covers; the rest is scanned. */
  readonly records: number;
  readonly indexed: number;
}

/** Whom a commit concerns: a receiver with new work, a holder whose work changed, a sender. */
export interface Wake {
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
  /** Newest first. */
  recentMemories(operation: RecentMemories): Promise<readonly MemoryRow[]>;
  /** Oldest edge first. */
  findRelations(operation: FindRelations): Promise<readonly RelationEdge[]>;
  /** Newest first, unranked. */
  searchCandidates(operation: SearchCandidates): Promise<readonly MemoryRow[]>;

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
  listDue(operation: ListDue): Promise<Due>;
  /** Not beyond the longest hold. */
  renewLease(workspace: string, lease: Lease): Promise<RenewOutcome>;
  /** Gives every good lease a session holds (not those bound to a process) its full time again. */
  renewSession(session: Session, leaseMs: number): Promise<void>;
  /** The processes that hold something in the workspace, each once, in no order. */
  listProcesses(workspace: string): Promise<readonly string[]>;

  findDelivery(workspace: string, id: string): Promise<Claimed | undefined>;
  /** In inbox order; looking never consumes. */
  listDeliveries(operation: ListDeliveries): Promise<readonly Claimed[]>;
  /** In the order of their places. */
  listParked(operation: ListParked): Promise<readonly Claimed[]>;
  /** How many deliveries are open in an inbox; `most` at most, so that it costs no more than that. */
  countOpen(workspace: string, receiver: string, most: number): Promise<number>;
  /** Envelopes of a task in the order they were sent. */
  readLine(workspace: string, task: string): Promise<readonly LineEntry[]>;
  readAttempts(workspace: string, delivery: string): Promise<readonly AttemptRow[]>;
  /** Events after a number, oldest first. */
  readEvents(workspace: string, after: number, limit: number): Promise<readonly EventRow[]>;

  countDeliveries(workspace: string): Promise<Books>;
  verify(workspace: string, onProgress?: (progress: VerifyProgress) => void): Promise<VerifyReport>;
  indexState(): Promise<IndexState>;

  /**
   * Calls back after a commit that concerns an agent. A hint: it carries no data and may be lost.
   * Returns how to stop.
   */
  onWake(whom: Wake, listener: () => void): () => void;
  /** Finishes what was submitted, then closes. Calling it twice is fine. */
  close(): Promise<void>;
}
