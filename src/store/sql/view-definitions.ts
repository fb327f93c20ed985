/**
 * Definitions of the SQL views, shared by all engines. Every definition is bound to one workspace and one
 * reader, and selects exactly the columns of views.ts, in their order.
 *
 * Every table is restricted by workspace, even where a position already implies it: if a definition reads
 * nothing but the position of a table, SQLite's authorizer reports the read as if the query had named the
 * table itself.
 *
 * Engines put an optimization fence around each definition, so that no expression of the query is evaluated
 * on rows that the definition excludes: an error about a hidden row would reveal its content.
 */

import { DELIVERY_STATES, OPEN_STATES } from "../rows.ts";
import type { RunQuery } from "../sql-query.ts";
import type { BranchRange, Visibility } from "../visibility.ts";
import type { Dialect, Sql } from "./dialect.ts";
import { handoffEmbedding, memoryEmbedding } from "./embedding.ts";
import { columnsOf, type ViewName } from "./views.ts";

type ViewVisibility = Pick<Visibility, "lines" | "reader" | "traces" | "quarantined">;

/** Views that a definition selects from, in addition to tables. */
export const VIEW_DEPENDENCIES: Readonly<Partial<Record<ViewName, readonly ViewName[]>>> = {
  tasks: ["deliveries", "handoffs"],
};

/** What a view definition is built for: the engine, the reader and the source of vectors. */
export interface ViewContext {
  readonly dialect: Dialect;
  readonly sight: ViewVisibility;
  readonly vectors: RunQuery["vectors"];
  /** Returns how a definition refers to another view. */
  readonly view: (name: ViewName) => Sql;
}

/** Returns the SELECT of a view, without the fence. Throws if its columns differ from views.ts. */
export function definitionOf(view: ViewName, definer: ViewContext): Sql {
  const { columns, from } = DEFINITIONS[view](definer);
  const wanted = columnsOf(view);
  if (wanted.join() !== Object.keys(columns).join()) {
    throw new Error(`the columns of the view ${view} differ from views.ts`);
  }
  const list = Object.entries(columns).map(([name, sql]) => `${sql} as ${quoteName(name)}`);
  return `select ${list.join(", ")} from ${from}`;
}

/** Quotes a column name: some are keywords. */
export const quoteName = (name: string): Sql => `"${name}"`;

interface Definition {
  readonly columns: Readonly<Record<string, Sql>>;
  readonly from: Sql;
}

const DEFINITIONS: Readonly<Record<ViewName, (definer: ViewContext) => Definition>> = {
  memories,
  relations,
  handoffs,
  deliveries,
  attempts,
  tasks,
  agents,
  events,
};

/** Maps 0 and the empty text, which mean "no value" in the tables, to NULL. */
const orNull = (column: Sql, nothing: "0" | "''" = "''"): Sql => `nullif(${column}, ${nothing})`;
const timeOrNull = (column: Sql): Sql => orNull(column, "0");

function memories({ dialect: d, sight, vectors }: ViewContext): Definition {
  const list = (name: string): Sql => `coalesce(${d.json("m.text", name)}, ${d.emptyList})`;
  return {
    columns: {
      id: "m.id",
      branch: "c.branch",
      seq: "m.seq",
      type: d.text("m.text", "type"),
      content: d.text("m.text", "content"),
      agent: d.text("m.text", "agent"),
      session: sessionOf(d, "m"),
      run: d.text("m.text", "run"),
      task: d.text("m.text", "task"),
      tags: list("tags"),
      concepts: list("concepts"),
      refs: list("refs"),
      data: d.json("m.text", "data"),
      importance: d.real("m.text", "importance"),
      confidence: d.real("m.text", "confidence"),
      scope: `coalesce(${d.text("m.text", "scope")}, 'team')`,
      created_at: d.integer("m.text", "createdAt"),
      stored_at: "m.stored_at",
      valid_from: d.integer("m.text", "validFrom"),
      valid_until: d.integer("m.text", "validUntil"),
      superseded: isSuperseded(d, sight),
      handoff: d.text("m.text", "envelope", "id"),
      signed: "case when m.signature = '' then 0 else 1 end",
      link: "m.link",
      embedding: memoryEmbedding(d, vectors),
    },
    from: `${memoriesWithChain(d, "m", "c")} where ${isVisible(d, sight, { row: "m", chain: "c" })}`,
  };
}

const memoriesWithChain = (d: Dialect, row: string, chain: string): Sql =>
  `(${d.table("memories")} ${row} join ${d.table("chains")} ${chain}
    on ${chain}.key = ${row}.chain${d.together(chain, row)})`;

/** Returns the condition that a reader may see a memory: workspace, traces, scope and quarantine. */
function isVisible(
  d: Dialect,
  { reader, traces, quarantined }: ViewVisibility,
  { row, chain }: { readonly row: string; readonly chain: string },
): Sql {
  const said = (field: string): Sql => d.text(`${row}.text`, field);
  const equals = (sql: Sql, who: string): Sql =>
    who === "" ? "false" : `coalesce(${sql} = ${d.literal(who)}, false)`;
  return [
    `${row}.workspace = ${d.workspace}`,
    `${chain}.workspace = ${d.workspace}`,
    ...(traces ? [] : [`substr(${chain}.branch, 1, 6) <> 'trace/'`]),
    ...(quarantined.length === 0 ? [] : [`not ${isQuarantined(d, { quarantined }, row)}`]),
    // No reader may see an unknown scope.
    `case coalesce(${said("scope")}, 'team') when 'team' then true
      when 'agent' then ${equals(said("agent"), reader.agent)}
      when 'session' then ${equals(sessionOf(d, row), reader.session)}
      when 'user' then ${equals(said("user"), reader.user)} else false end`,
  ].join(" and ");
}

/** Returns the condition that a memory is quarantined. */
const isQuarantined = (
  d: Dialect,
  { quarantined }: Pick<ViewVisibility, "quarantined">,
  row: string,
): Sql =>
  quarantined.length === 0
    ? "(1 = 0)"
    : `(${row}.id in (${quarantined.map((id) => d.literal(id)).join(", ")}))`;

const sessionOf = (d: Dialect, row: string): Sql =>
  `coalesce(${d.text(`${row}.text`, "session")}, ${d.text(`${row}.text`, "instance")})`;

/** Superseded by a memory that the reader sees on its branches, or by one on the memory's own branch. */
function isSuperseded(d: Dialect, sight: ViewVisibility): Sql {
  return `case when exists (select 1 from ${d.table("relations")} r
    join ${memoriesWithChain(d, "s", "sc")} on s.pos = r.source${d.together("s", "r")}
    where r.target = m.pos${d.together("r", "m")} and r.kind in ('supersedes', 'corrects')
      and (sc.branch = c.branch or substr(sc.branch, 1, 6) = 'trace/' or ${isOnLine(d, sight.lines)})
      and ${isVisible(d, sight, { row: "s", chain: "sc" })}) then 1 else 0 end`;
}

/** A `case` instead of a chain of `or`: conditions nest, and engines limit the depth. */
function isOnLine(d: Dialect, lines: readonly BranchRange[]): Sql {
  if (lines.length === 0) return "false";
  const each = lines.map(({ branch, upTo }) => `when ${d.literal(branch)} then s.seq <= ${upTo}`);
  return `case sc.branch ${each.join(" ")} else false end`;
}

/** SQL for 1 if the memory of a handoff, or one that it summarizes (and so carries along), is quarantined. */
function carriesQuarantined(d: Dialect, sight: ViewVisibility): Sql {
  if (sight.quarantined.length === 0) return "0";
  return `case when ${isQuarantined(d, sight, "m")} or exists (select 1 from ${d.table("relations")} r
    join ${d.table("memories")} t on t.pos = r.target${d.together("t", "r")}
    where r.source = m.pos${d.together("r", "m")} and r.kind = 'summarizes'
      and t.workspace = ${d.workspace} and ${isQuarantined(d, sight, "t")}) then 1 else 0 end`;
}

function relations({ dialect: d, sight }: ViewContext): Definition {
  return {
    columns: {
      source: "s.id",
      kind: "r.kind",
      target: "t.id",
      valid_from: timeOrNull("r.valid_from"),
      valid_until: timeOrNull("r.valid_until"),
    },
    from: `${d.table("relations")} r
      join ${memoriesWithChain(d, "s", "sc")} on s.pos = r.source${d.together("s", "r")}
      join ${memoriesWithChain(d, "t", "tc")} on t.pos = r.target${d.together("t", "r")}
      where ${isVisible(d, sight, { row: "s", chain: "sc" })}
        and ${isVisible(d, sight, { row: "t", chain: "tc" })}`,
  };
}

function handoffs({ dialect: d, sight, vectors }: ViewContext): Definition {
  const said = (...path: readonly string[]): Sql => d.text("e.text", ...path);
  const list = (name: string): Sql => `coalesce(${d.json("e.text", name)}, ${d.emptyList})`;
  const inSight = (sql: Sql): Sql =>
    `case when not ${isQuarantined(d, sight, "m")} then ${sql} end`;
  return {
    columns: {
      id: "e.id",
      task: "e.task",
      run: said("run"),
      from_agent: "e.sender",
      from_role: said("from", "role"),
      to_agent: `case ${said("to", "kind")} when 'agent' then ${said("to", "agent")}
        when 'role' then 'role:' || ${said("to", "role")}
        else 'channel:' || ${said("to", "channel")} end`,
      context_type: said("payload", "type"),
      action: said("action"),
      intent: said("intent"),
      state: said("state"),
      payload: d.json("e.text", "payload", "data"),
      done: list("done"),
      next: list("next"),
      constraints: list("constraints"),
      refs: list("refs"),
      parents: list("parents"),
      hop: d.integer("e.text", "hop"),
      priority: said("priority"),
      memory: inSight("m.id"),
      created_at: d.integer("e.text", "metadata", "createdAt"),
      stored_at: "m.stored_at",
      envelope: d.json("e.text"),
      embedding: inSight(handoffEmbedding(d, vectors)),
      quarantined: carriesQuarantined(d, sight),
    },
    from: `${d.table("envelopes")} e join ${d.table("memories")} m
      on m.pos = e.pos${d.together("m", "e")}
      where e.workspace = ${d.workspace} and m.workspace = ${d.workspace}`,
  };
}

const STATE = `case d.state ${DELIVERY_STATES.map((state, n) => `when ${n} then '${state}'`).join(
  " ",
)} end`;

function deliveries({ dialect: d }: ViewContext): Definition {
  return {
    columns: {
      id: "d.id",
      handoff: "d.envelope",
      task: "d.task",
      from_agent: "d.sender",
      to_agent: "d.receiver",
      state: STATE,
      in_turn: "d.turn",
      place: "d.place",
      attempt: "d.attempt",
      max_attempts: "d.max_attempts",
      holder: orNull("d.holder"),
      instance: orNull("d.instance"),
      sent_at: "d.sent_at",
      seen_at: timeOrNull("d.seen_at"),
      accepted_at: timeOrNull("d.accepted_at"),
      settled_at: timeOrNull("d.settled_at"),
      ready_at: timeOrNull("d.ready_at"),
      lease_until: timeOrNull("d.lease_until"),
      deadline: timeOrNull("d.deadline"),
      accepted_by: orNull("d.accepted_by"),
      settled_by: orNull("d.settled_by"),
    },
    from: `${d.table("deliveries")} d where d.workspace = ${d.workspace}`,
  };
}

function attempts({ dialect: d }: ViewContext): Definition {
  return {
    columns: {
      delivery: "a.delivery",
      attempt: "a.attempt",
      agent: orNull("a.holder"),
      instance: orNull("a.instance"),
      ended_at: "a.ended_at",
      outcome: "a.outcome",
      reason: `case when a.reason <> '' then ${d.json("a.reason")} end`,
    },
    from: `${d.table("attempts")} a where a.workspace = ${d.workspace}`,
  };
}

function tasks({ view }: ViewContext): Definition {
  const open = OPEN_STATES.map((state) => `'${state}'`).join(", ");
  const counted = (condition: Sql): Sql => `count(case when ${condition} then 1 end)`;
  return {
    columns: {
      task: "d.task",
      run: "min(h.run)",
      handoffs: "count(distinct d.handoff)",
      deliveries: "count(*)",
      open: counted(`d.state in (${open})`),
      completed: counted("d.state = 'completed'"),
      dead: counted("d.state = 'dead'"),
      first_at: "min(d.sent_at)",
      last_at: "max(coalesce(d.settled_at, d.accepted_at, d.sent_at))",
    },
    from: `${view("deliveries")} d join ${view("handoffs")} h on h.id = d.handoff group by d.task`,
  };
}

function agents({ dialect: d }: ViewContext): Definition {
  return {
    columns: {
      id: "a.id",
      role: orNull("a.role"),
      status: "a.status",
      kind: `coalesce(${d.text("a.profile", "kind")}, 'agent')`,
      name: d.text("a.profile", "name"),
      description: d.text("a.profile", "description"),
      model: d.text("a.profile", "model"),
      owner: d.text("a.profile", "owner"),
      context_window: d.integer("a.profile", "window"),
      aliases: d.json("a.aliases"),
      capabilities: `coalesce(${d.json("a.profile", "capabilities")}, ${d.emptyList})`,
      public_key: orNull("a.public_key"),
    },
    from: `${d.table("agents")} a where a.workspace = ${d.workspace}`,
  };
}

function events({ dialect: d }: ViewContext): Definition {
  return {
    columns: {
      number: "v.number",
      at: "v.at",
      kind: "v.kind",
      agent: orNull("v.agent"),
      task: orNull("v.task"),
      delivery: orNull("v.delivery"),
      handoff: orNull("v.envelope"),
      attempt: "v.attempt",
    },
    from: `${d.table("events")} v where v.workspace = ${d.workspace}`,
  };
}
