/**
 * Which columns `verify` answers for. Every column that is not listed here must be: change it, and a
 * problem names the record. A column added later is therefore checked from its first day, or the
 * test fails until somebody says here why it cannot be.
 */
import type { StoreRow } from "../support/store-dump.ts";

export type ColumnRule =
  /** No record says what it should be: by design, with the reason. Must not raise a false alarm. */
  | { readonly kind: "uncheckable"; readonly why: string }
  /**
   * Records do say what it should be, and `verify` does not look yet. Expected to fail: when it
   * does look, the entry has to go. `except` names rows for which it already looks.
   */
  | {
      readonly kind: "gap";
      readonly how: string;
      readonly except?: (row: StoreRow) => boolean;
      /** Rows of which even then nothing is known. */
      readonly never?: (row: StoreRow) => boolean;
    };

const uncheckable = (why: string): ColumnRule => ({ kind: "uncheckable", why });
const gap = (
  how: string,
  rows: Pick<Extract<ColumnRule, { kind: "gap" }>, "except" | "never"> = {},
): ColumnRule => ({ kind: "gap", how, ...rows });

const SCHEDULED = 0;
const READY = 1;
const ACCEPTED = 3;
const COMPLETED = 5;
const SUPERSEDED = 10;

const isTrailed = (row: StoreRow): boolean =>
  row["state"] === ACCEPTED || row["state"] === COMPLETED;
const isCompleted = (row: StoreRow): boolean => row["state"] === COMPLETED;

const ATTEMPTS_GAP = `write delivery id and attempt into the data of the settlement's record
  ("mistake", "action"); then every failed or declined attempt row has a record to agree with.
  Released and expired tries leave no record`;
const isUnrecordedAttempt = (row: StoreRow): boolean =>
  row["outcome"] === "released" || row["outcome"] === "expired";

export const COLUMN_RULES: Readonly<Record<string, ColumnRule>> = {
  "migrations.version": uncheckable("says how the file is laid out, nothing anybody wrote"),
  "migrations.name": uncheckable("for people who look into the file"),
  "migrations.at": uncheckable("for people who look into the file"),

  "workspaces.key": gap(
    "count rows of all tables whose workspace has no row in workspaces: they belong to nobody",
  ),
  "workspaces.name": gap(
    "under the old name there is no such workspace, which is what a new name looks like too; verify under the new name finds it (tested). An option to verify all workspaces of the file would",
  ),

  "chains.stored_at": gap("must equal the storedAt of the chain's last record; show it in heads()"),
  "chains.workspace": gap(
    "the chain's memories keep the old workspace: count memories per workspace and compare with those walked",
  ),

  "agents.aliases": gap(
    "text that is no JSON any more must be a problem of that agent, not an exception of verify",
    { except: (row) => row["aliases"] !== "[]" },
  ),

  "memories.pos": uncheckable(
    "a row number: what refers to it (relations, envelopes) is found broken (tested), a record nobody refers to has nothing that could disagree",
  ),
  "memories.workspace": gap("read m.workspace with the chain's rows and compare with the chain's"),
  "relations.n": gap("must be the position in the text's list: compare with the loop's index"),

  "deliveries.pos": uncheckable("a row number nothing refers to"),
  "deliveries.workspace": gap(
    "a delivery that left its workspace: see deliveries.id, whoever counts deliveries per envelope misses it",
    { except: (row) => row["workspace"] === 1 },
  ),
  "deliveries.id": gap(
    "write the delivery's id into the handoff record's data beside the envelope's; then a missing, renamed or doubled delivery is found as a missing envelope is",
  ),
  "deliveries.state": gap(
    "completed, declined and failed leave a record (settled_by): its data says which; superseded needs a newer envelope that names this one as its parent; open states must have settled_at = 0; an unknown number must be a problem, not an exception",
    { never: (row) => row["state"] === SCHEDULED || row["state"] === READY },
  ),
  "deliveries.place": gap(
    "must be the position of a handoff record of the same task, sender and receiver",
  ),
  "deliveries.attempt": gap(
    "must be the number of attempt rows, plus one while held or when completed",
  ),
  "deliveries.max_attempts": uncheckable("policy of whoever sent it; on no record"),
  "deliveries.fence": gap("rises with attempt, and so must equal it"),
  "deliveries.lease_until": uncheckable("changes with every heartbeat; a lease leaves no record"),
  "deliveries.ready_at": uncheckable("when a retry falls due is chance (jitter)"),
  "deliveries.sent_at": gap(
    "store it as the handoff record's storedAt (now it is the transaction's time, which can be earlier), and compare",
  ),
  "deliveries.seen_at": uncheckable("being shown leaves no record"),
  "deliveries.accepted_at": gap(
    "compare whenever accepted_by is set, in every state; without accepted_by it must be 0",
    { except: isTrailed },
  ),
  "deliveries.settled_at": gap(
    "compare whenever settled_by is set, in every state; 0 while the state is open",
    { except: isCompleted, never: (row) => row["state"] === SUPERSEDED },
  ),
  "deliveries.parent": gap("must be empty or one of the envelope's parents"),
  "deliveries.holder": gap("compare with accepted_by's author in every state", {
    except: (row) => isTrailed(row) || row["state"] === 2,
  }),
  "deliveries.instance": gap("compare with the instance in accepted_by's text in every state", {
    except: isTrailed,
    never: (row) => row["accepted_by"] === "",
  }),
  "deliveries.accepted_by": gap(
    "whenever it is set: must exist and continue from the envelope's handoff record (or an earlier one of the same line)",
    { except: isTrailed },
  ),
  "deliveries.settled_by": gap("whenever it is set: must exist and continue from accepted_by", {
    except: isCompleted,
  }),

  "attempts.key": uncheckable("a row number nothing refers to"),
  "attempts.delivery": gap(ATTEMPTS_GAP, { never: isUnrecordedAttempt }),
  "attempts.attempt": gap(ATTEMPTS_GAP, { never: isUnrecordedAttempt }),
  "attempts.ended_at": gap(ATTEMPTS_GAP, { never: isUnrecordedAttempt }),
  "attempts.outcome": gap(ATTEMPTS_GAP, { never: isUnrecordedAttempt }),
  "attempts.holder": gap(ATTEMPTS_GAP, { never: isUnrecordedAttempt }),
  "attempts.instance": gap(ATTEMPTS_GAP, { never: isUnrecordedAttempt }),
  "attempts.reason": gap(ATTEMPTS_GAP, { never: isUnrecordedAttempt }),

  ...Object.fromEntries(
    ["number", "workspace", "at", "attempt", "kind", "agent", "task", "delivery", "envelope"].map(
      (column) => [
        `events.${column}`,
        uncheckable("the operational log: prunable, and no knowledge lives in it alone"),
      ],
    ),
  ),
};

/** Where a problem about a column is named as something else than the column. */
export const FIELD_NAMES: Readonly<Record<string, string>> = {
  "memories.seq": "seq",
  "memories.stored_at": "link",
  "memories.id": "id",
  "memories.link": "link",
  "memories.signature": "signature",
  "memories.text": "link",
  "envelopes.task": "task",
  "envelopes.sender": "sender",
  "envelopes.text": "text",
  "deliveries.envelope": "envelope",
  "deliveries.task": "task",
  "deliveries.sender": "sender",
  "deliveries.receiver": "receiver",
  "chains.seq": "seq",
  "chains.link": "link",
};
