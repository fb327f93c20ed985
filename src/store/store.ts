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
  EnvelopeRow,
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

// Handoffs ---------------------------------------------------------------------------------------

export interface SendHandoff {
  readonly workspace: string;
  readonly branch: string;
  readonly memory: NewMemory;
  readonly envelope: NewEnvelope;
  readonly delivery: NewDelivery;
  /** The envelope this one continues from; empty at the start of a line. */
  readonly parent: string;
  /**
   * The open delivery of the same task, sender, receiver and parent, as the sender last saw it:
   * this handoff extends it. Without one, there must be none.
   */
  readonly extend?: {
    readonly delivery: string;
    readonly envelope: string;
    /** Whether somebody had it (the delivery stays) or it was waiting (it is replaced). */
    readonly held: boolean;
  };
  /** Handing on: the sender's own delivery is completed by this very handoff. */
  readonly settles?: Lease;
}

export type SendOutcome =
  | {
      readonly kind: "sent";
      readonly place: Place;
      readonly delivery: DeliveryRow;
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
  | { readonly kind: "missing_parent"; readonly envelope: string }
  | { readonly kind: "unknown_receiver"; readonly receiver: string }
  | { readonly kind: "receiver_disabled"; readonly receiver: string }
  | RecordRefusal
  | LeaseRefusal;

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

export interface ClaimDeliveries {
  readonly workspace: string;
  readonly branch: string;
  readonly receiver: string;
  readonly instance: string;
  /** The key the receiver acts with; must be the one it is registered with. Empty: none. */
  readonly publicKey: string;
  readonly limit: number;
  readonly leaseMs: number;
  /** What the lease is bound to besides time; empty: nothing (a session's). */
  readonly process: string;
  /** Processes that have ended without settling: what they hold goes back now, as after expiry. */
  readonly gone: readonly string[];
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
       * expiring lease), at least 1; 0: nothing will. A duration, because clocks differ.
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

/** How a holder ends its hold, and what becomes of the delivery. Decided by delivery/policy.ts. */
export type Settlement =
  | { readonly kind: "completed" }
  | { readonly kind: "declined" }
  | { readonly kind: "failed" | "released"; readonly becomes: "ready" | "dead" }
  | { readonly kind: "failed"; readonly becomes: "scheduled"; readonly delayMs: number };

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

export interface ListDeliveries {
  readonly workspace: string;
  readonly receiver: string;
  readonly states: readonly DeliveryState[];
  readonly task?: string;
  readonly limit: number;
  /** Only what comes after this place in the inbox: the cursor for the next page. */
  readonly after?: number;
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

  sendHandoff(operation: SendHandoff): Promise<SendOutcome>;
  claimDeliveries(operation: ClaimDeliveries): Promise<ClaimOutcome>;
  acceptDelivery(operation: AcceptDelivery): Promise<AcceptOutcome>;
  settleDelivery(operation: SettleDelivery): Promise<SettleOutcome>;
  renewLease(workspace: string, lease: Lease): Promise<RenewOutcome>;
  /** Gives every good lease a session holds (not those bound to a process) its full time again. */
  renewSession(session: Session, leaseMs: number): Promise<void>;
  /** The processes that hold something in the workspace, each once, in no order. */
  listProcesses(workspace: string): Promise<readonly string[]>;

  findDelivery(workspace: string, id: string): Promise<Claimed | undefined>;
  /** In inbox order; looking never consumes. */
  listDeliveries(operation: ListDeliveries): Promise<readonly Claimed[]>;
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
