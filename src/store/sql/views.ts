/**
 * The views SQL can read, as data: the only place where their columns are named. Definitions
 * (definitions.ts) are checked against it, and docs/SQL.md shows it. What is here is a promise:
 * columns are added, never renamed or taken away.
 */

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

export const VIEWS = {
  memories: {
    meaning: "What agents remembered and the reader may see, on every branch",
    columns: {
      id: text("`mem_…`"),
      branch: text("The branch it is on; `main` unless somebody branched"),
      seq: integer("Its place on the branch"),
      type: text("`finding`, `decision`, `plan`, `handoff`, …"),
      content: text("What it says"),
      agent: text("Who wrote it"),
      session: text("The session it belongs to"),
      run: text("The run, or NULL"),
      task: text("The task, or NULL"),
      tags: json("A list; `[]` without any"),
      concepts: json("A list; `[]` without any"),
      refs: json("Ids of the memories it builds on; `[]` without any"),
      data: json("What was attached to it, or NULL"),
      importance: real("From 0 to 1, or NULL"),
      confidence: real("From 0 to 1, or NULL"),
      scope: text("`team`, `user`, `session` or `agent`"),
      created_at: integer("When its author wrote it"),
      stored_at: integer("When the store had it"),
      valid_from: integer("When it begins to be true, or NULL"),
      valid_until: integer("When it ceases to be true, or NULL"),
      superseded: integer(
        "1 when a memory the reader sees, from its branch or on this one, supersedes or corrects it, else 0",
      ),
      handoff: text("The handoff it vouches for (`env_…`), or NULL"),
      signed: integer("1 when its author signed it, else 0"),
      link: text("Its link in the branch's chain"),
      embedding: text("Its vector as a JSON array, or NULL"),
    },
  },
  relations: {
    meaning: "How memories are related, where the reader sees both ends",
    columns: {
      source: text("The memory that says so"),
      kind: text("`supersedes`, `derived-from`, `continues-from`, …"),
      target: text("The memory it is about"),
      valid_from: integer("When it begins to hold, or NULL"),
      valid_until: integer("When it ceases to hold, or NULL"),
    },
  },
  handoffs: {
    meaning: "Every envelope that was sent",
    columns: {
      id: text("`env_…`"),
      task: text("The task whose line it is on"),
      run: text("The run, or NULL"),
      from_agent: text("Who sent it"),
      from_role: text("The sender's role, or NULL"),
      to_agent: text("Whom it was sent to: an agent, `role:…` or `channel:…`"),
      context_type: text("The payload's type, or NULL without a payload"),
      action: text("What the sender did: `delegated`, `completed`, `needs_review`, …"),
      intent: text("What the user originally wanted"),
      state: text("Where the task stood, or NULL"),
      payload: json("The payload's data, or NULL"),
      done: json("A list of what has been done"),
      next: json("A list of what is to do"),
      constraints: json("A list of `{ id, level, rule }`"),
      refs: json("A list of `{ id, digest, summary }`: the memories that travel along"),
      parents: json("A list of the envelopes it continues from"),
      hop: integer("Handoffs before it on the line"),
      priority: text("`urgent`, `high`, `normal`, `low`, or NULL"),
      memory: text("The memory that vouches for it; NULL while that is quarantined"),
      created_at: integer("When its sender sealed it"),
      stored_at: integer("When the store had it"),
      envelope: json("All of it"),
      embedding: text("Its vector as a JSON array, or NULL; so while its memory is quarantined"),
      quarantined: integer("1 when its memory, or one that travels along, is quarantined, else 0"),
    },
  },
  deliveries: {
    meaning: "Each handoff at each of its receivers, as it stands",
    columns: {
      id: text("`dlv_…`"),
      handoff: text("The handoff it points to now"),
      task: text("The task"),
      from_agent: text("Who sent it"),
      to_agent: text("Whose inbox it is in: an agent's, or a role's (`role:…`)"),
      state: text("`ready`, `claimed`, `accepted`, `completed`, `dead`, …"),
      in_turn: integer("0 while earlier work of the same receiver and task is open, else 1"),
      place: integer("Its place in the inbox"),
      attempt: integer("Claims so far"),
      max_attempts: integer("Claims it may have"),
      holder: text("Who has it, or had it last; NULL when nobody did"),
      instance: text("The holder's session, or NULL"),
      sent_at: integer("When it was sent"),
      seen_at: integer("When it was first claimed, or NULL"),
      accepted_at: integer("When it was accepted, or NULL"),
      settled_at: integer("When it ended, or NULL"),
      ready_at: integer("When it may be claimed, or NULL for at once"),
      lease_until: integer("Until when its holder may be silent, or NULL"),
      deadline: integer("By when it must be settled, or NULL"),
      accepted_by: text("The memory that accepted it, or NULL"),
      settled_by: text("The memory its end left, or NULL"),
    },
  },
  attempts: {
    meaning: "Tries that ended without completing",
    columns: {
      delivery: text("The delivery"),
      attempt: integer("Which try"),
      agent: text("Who tried, or NULL"),
      instance: text("Its session, or NULL"),
      ended_at: integer("When it ended"),
      outcome: text("`failed`, `released`, `expired`, `declined`, …"),
      reason: json("What went wrong, or NULL"),
    },
  },
  tasks: {
    meaning: "What was handed on, task by task; derived from deliveries and handoffs",
    columns: {
      task: text("The task"),
      run: text("Its run, or NULL"),
      handoffs: integer("Envelopes that deliveries point to"),
      deliveries: integer("Deliveries"),
      open: integer("Of them, not settled"),
      completed: integer("Of them, completed"),
      dead: integer("Of them, in dead letters"),
      first_at: integer("When the first was sent"),
      last_at: integer("When one was last sent, accepted or settled"),
    },
  },
  agents: {
    meaning: "The registry",
    columns: {
      id: text("The canonical id"),
      role: text("Its role, or NULL"),
      status: text("`active`, `paused` or `disabled`"),
      kind: text("`agent` or `person`"),
      name: text("What it is called, or NULL"),
      description: text("What it does, or NULL"),
      model: text("Its model, or NULL"),
      owner: text("Whom it belongs to, or NULL"),
      context_window: integer("Its context window in tokens, or NULL"),
      aliases: json("A list of other names"),
      capabilities: json("A list; `[]` without any"),
      public_key: text("Its Ed25519 key in hex, or NULL"),
    },
  },
  events: {
    meaning: "What happened to deliveries, in order",
    columns: {
      number: integer("Rises with every event"),
      at: integer("When"),
      kind: text("`sent`, `claimed`, `accepted`, `completed`, …"),
      agent: text("Who did it, or NULL"),
      task: text("The task, or NULL"),
      delivery: text("The delivery, or NULL"),
      handoff: text("The handoff, or NULL"),
      attempt: integer("Which try"),
    },
  },
} as const satisfies Record<string, View>;

export type ViewName = keyof typeof VIEWS;

export const VIEW_NAMES = Object.keys(VIEWS) as readonly ViewName[];

export const isViewName = (name: string): name is ViewName => Object.hasOwn(VIEWS, name);

export const columnsOf = (view: ViewName): readonly string[] => Object.keys(VIEWS[view].columns);

/** What to say to somebody who named something else. */
export const VIEWS_HINT = `There are the views ${VIEW_NAMES.join(", ")}.`;
