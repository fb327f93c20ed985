/**
 * The views that SQL queries can read, as data: the only place that lists their columns. The definitions
 * (view-definitions.ts) are checked against this list, and docs/SQL.md shows it. The list is a stable
 * interface: columns are added, never renamed or removed.
 */

/** Type of a column's values; times are integers in milliseconds since the epoch. */
export type ColumnType = "text" | "integer" | "real" | "json";

interface Column {
  readonly type: ColumnType;
  readonly meaning: string;
}

interface View {
  readonly meaning: string;
  readonly columns: Readonly<Record<string, Column>>;
}

const text = (meaning: string): Column => ({ type: "text", meaning });
const integer = (meaning: string): Column => ({ type: "integer", meaning });
const real = (meaning: string): Column => ({ type: "real", meaning });
const json = (meaning: string): Column => ({ type: "json", meaning });

/** All views with their columns, in the order in which the documentation shows them. */
export const VIEWS = {
  memories: {
    meaning: "Memories on every branch that the reader may see",
    columns: {
      id: text("`mem_…`"),
      branch: text("The branch of the memory; default: `main`"),
      seq: integer("Position on the branch"),
      type: text("`finding`, `decision`, `plan`, `handoff`, …"),
      content: text("The text of the memory"),
      agent: text("The agent that wrote it"),
      session: text("The session in which it was written"),
      run: text("The run, or NULL"),
      task: text("The task, or NULL"),
      tags: json("A list; `[]` if empty"),
      concepts: json("A list; `[]` if empty"),
      refs: json("Ids of the memories it builds on; `[]` if empty"),
      data: json("Attached data, or NULL"),
      importance: real("From 0 to 1, or NULL"),
      confidence: real("From 0 to 1, or NULL"),
      scope: text("`team`, `user`, `session` or `agent`"),
      created_at: integer("When the author wrote it"),
      stored_at: integer("When the store wrote it"),
      valid_from: integer("Start of its validity, or NULL"),
      valid_until: integer("End of its validity, or NULL"),
      superseded: integer(
        "1 if a memory that the reader sees supersedes or corrects it (on the reader's or on this branch), else 0",
      ),
      handoff: text("The handoff it vouches for (`env_…`), or NULL"),
      signed: integer("1 if the author signed it, else 0"),
      link: text("Hash link in the chain of its branch"),
      embedding: text("The vector as a JSON array, or NULL"),
    },
  },
  relations: {
    meaning: "Relations between memories, if the reader sees both ends",
    columns: {
      source: text("The memory that has the relation"),
      kind: text("`supersedes`, `derived-from`, `continues-from`, …"),
      target: text("The memory that the relation points to"),
      valid_from: integer("Start of the relation's validity, or NULL"),
      valid_until: integer("End of the relation's validity, or NULL"),
    },
  },
  handoffs: {
    meaning: "All envelopes that were sent",
    columns: {
      id: text("`env_…`"),
      task: text("The task"),
      run: text("The run, or NULL"),
      from_agent: text("The sender"),
      from_role: text("The sender's role, or NULL"),
      to_agent: text("The addressee: an agent, `role:…` or `channel:…`"),
      context_type: text("The type of the payload, or NULL without a payload"),
      action: text("What the sender did: `delegated`, `completed`, `needs_review`, …"),
      intent: text("What the task is meant to achieve"),
      state: text("The state of the task when it was sent, or NULL"),
      payload: json("The payload's data, or NULL"),
      done: json("A list of completed steps"),
      next: json("A list of next steps"),
      constraints: json("A list of `{ id, level, rule }`"),
      refs: json("A list of `{ id, digest, summary }`: the referenced memories"),
      parents: json("A list of the envelopes it continues from"),
      hop: integer("Number of handoffs before it on the line"),
      priority: text("`urgent`, `high`, `normal`, `low`, or NULL"),
      memory: text("The memory that vouches for it; NULL while that memory is quarantined"),
      created_at: integer("When the sender sealed it"),
      stored_at: integer("When the store wrote it"),
      envelope: json("The whole envelope"),
      embedding: text("The vector as a JSON array, or NULL; NULL while its memory is quarantined"),
      quarantined: integer("1 if its memory or a referenced memory is quarantined, else 0"),
    },
  },
  deliveries: {
    meaning: "The current state of each handoff at each of its receivers",
    columns: {
      id: text("`dlv_…`"),
      handoff: text("The handoff it currently points to"),
      task: text("The task"),
      from_agent: text("The sender"),
      to_agent: text("The inbox: an agent, or a role (`role:…`)"),
      state: text("`ready`, `claimed`, `accepted`, `completed`, `dead`, …"),
      in_turn: integer("0 while earlier work of the same receiver and task is open, else 1"),
      place: integer("Position in the inbox"),
      attempt: integer("Number of claims so far"),
      max_attempts: integer("Maximum number of claims"),
      holder: text("The current or last holder; NULL if it was never claimed"),
      instance: text("The holder's session, or NULL"),
      sent_at: integer("When it was sent"),
      seen_at: integer("When it was first claimed, or NULL"),
      accepted_at: integer("When it was accepted, or NULL"),
      settled_at: integer("When it was settled, or NULL"),
      ready_at: integer("The earliest time it can be claimed; NULL: immediately"),
      lease_until: integer("When the lease expires, or NULL"),
      deadline: integer("The time by which it must be settled, or NULL"),
      accepted_by: text("The memory that accepted it, or NULL"),
      settled_by: text("The memory that settled it, or NULL"),
    },
  },
  attempts: {
    meaning: "Attempts that ended without completing",
    columns: {
      delivery: text("The delivery"),
      attempt: integer("Number of the attempt"),
      agent: text("The agent that made the attempt, or NULL"),
      instance: text("The agent's session, or NULL"),
      ended_at: integer("When it ended"),
      outcome: text("`failed`, `released`, `expired`, `declined`, …"),
      reason: json("What went wrong, or NULL"),
    },
  },
  tasks: {
    meaning: "Totals per task, derived from deliveries and handoffs",
    columns: {
      task: text("The task"),
      run: text("The run, or NULL"),
      handoffs: integer("Number of envelopes that deliveries point to"),
      deliveries: integer("Number of deliveries"),
      open: integer("Number of deliveries that are not settled"),
      completed: integer("Number of completed deliveries"),
      dead: integer("Number of dead letters"),
      first_at: integer("When the first delivery was sent"),
      last_at: integer("When a delivery was last sent, accepted or settled"),
    },
  },
  agents: {
    meaning: "All registered agents",
    columns: {
      id: text("The canonical id"),
      role: text("Its role, or NULL"),
      status: text("`active`, `paused` or `disabled`"),
      kind: text("`agent` or `person`"),
      name: text("The display name, or NULL"),
      description: text("What it does, or NULL"),
      model: text("Its model, or NULL"),
      owner: text("The owner, or NULL"),
      context_window: integer("The context window in tokens, or NULL"),
      aliases: json("A list of other names"),
      capabilities: json("A list; `[]` if empty"),
      public_key: text("Its Ed25519 key in hex, or NULL"),
    },
  },
  events: {
    meaning: "Events of deliveries, in order",
    columns: {
      number: integer("Number of the event; increases with every event"),
      at: integer("When it happened"),
      kind: text("`sent`, `claimed`, `accepted`, `completed`, …"),
      agent: text("The agent that caused it, or NULL"),
      task: text("The task, or NULL"),
      delivery: text("The delivery, or NULL"),
      handoff: text("The handoff, or NULL"),
      attempt: integer("Number of the attempt"),
    },
  },
} as const satisfies Record<string, View>;

/** Name of a view. */
export type ViewName = keyof typeof VIEWS;

/** Names of all views. */
export const VIEW_NAMES = Object.keys(VIEWS) as readonly ViewName[];

/** Returns whether a name is that of a view. */
export const isViewName = (name: string): name is ViewName => Object.hasOwn(VIEWS, name);

/** Returns the column names of a view, in order. */
export const columnsOf = (view: ViewName): readonly string[] => Object.keys(VIEWS[view].columns);

/** Hint for queries that name anything else than a view. */
export const VIEWS_HINT = `Available views: ${VIEW_NAMES.join(", ")}.`;
