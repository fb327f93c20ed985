/**
 * SQL functions that check the operations of a group before anything is written. They return the first
 * reason against each refused operation, or null if all can proceed. Reasons are ranked in the order of the
 * checks of one operation: its lease, its receivers, its parents, its records, its entries, the work it
 * would extend or the branch it has read, its receiver's circuit breaker, its ids. Whether an id is taken
 * is not looked up (the unique indexes ensure that), except if something else is wrong, or if the hub asks
 * for the careful check after a group failed because of a taken id.
 *
 * Whether anything is wrong is checked first, part by part, and only for the parts that a group has:
 * preparing the one query that ranks all reasons takes longer than carrying out a small group.
 *
 * Here and in the other functions, rows are looked up in separate subqueries, never in a join: a join can
 * be planned from either side, and if the tables were empty when the plan was made, it is planned from the
 * wrong one. For the same reason, updates find their rows by location (ctid), and guard with state + 0,
 * which matches no partial index.
 */

import { CLOSED_BRANCH, IGNORE_BREAKER } from "../../store.ts";
import { MAIN_BRANCH } from "../../visibility.ts";

/** Queries for the parts of a group that are not allowed, by kind of check. */
const VIOLATIONS = {
  holds: `from unnest(p_holds) as h
        left join lateral (select x.* from deliveries x
          where x.workspace = w and x.id = h.delivery limit 1) d on true
        where d.id is null or d.state not in (2, 3) or d.fence <> h.fence or d.lease_until <= t
          or (h.newest and d.envelope <> h.envelope) or (1 << d.state) & h.states = 0`,
  receivers: `from unnest(p_posts) as p
        where case when coalesce((select a.status from agents a
            where a.workspace = w and a.id = p.receiver), 'disabled') = 'disabled'
          then receiver_fault(w, p.receiver) end is not null`,
  parents: `from unnest(p_parents) as p
        where (select e.pos from envelopes e
          where e.workspace = w and e.id = p.envelope) is null`,
  mentions: `from unnest(p_mentions) as m
        where (select x.pos from memories x where x.workspace = w and x.id = m.id) is null
          and not exists (select from unnest(p_records) as b
            where b.id = m.id and b.ord < m.ord)`,
  /** The main branch and traces are never closed, so most records need no lookup. */
  closed: `from unnest(p_records) as r
        where r.branch <> '${MAIN_BRANCH}' and not starts_with(r.branch, 'trace/')
          and (select e.revision from entries e where e.workspace = w and e.kind = '${CLOSED_BRANCH}'
            and e.name = r.branch) is not null`,
  tips: `from unnest(p_tips) as p
        where coalesce((select c.seq from chains c
          where c.workspace = w and c.branch = p.branch), 0) <> p.seq`,
  entries: `from unnest(p_puts) as p
        where coalesce((select e.revision from entries e
          where e.workspace = w and e.kind = p.kind and e.name = p.name), 0) <> p.based_on`,
  work: `from unnest(p_posts) as p
        left join lateral (
          select d.id, d.envelope, d.state in (2, 3, 4) as held from deliveries d
          where d.workspace = w and d.receiver = p.receiver and d.task = p.task and d.settled_at = 0
            and d.sender = p.sender and d.parent = p.parent and d.id is distinct from p.settles
            and p.single
          order by d.place, d.id limit 1) o on true
        where (o.id, o.envelope, o.held) is distinct from (p.extend, p.extended, p.held)`,
  breakers: `from unnest(p_posts) as p
        where p.single and p.extend is null and p.breaker <> ${IGNORE_BREAKER}
          and coalesce((select e.revision from entries e where e.workspace = w
            and e.kind = 'breaker' and e.name = p.receiver), 0) <> p.breaker`,
  /** Taken by another holder, changed, or not allowed for this agent any more: the hub picks another. */
  takes: `from unnest(p_takes) as k
        left join lateral (select x.* from deliveries x
          where x.workspace = w and x.id = k.delivery limit 1) d on true
        where d.id is null or d.state <> 1 or d.turn <> 1 or d.fence <> k.fence
          or d.envelope <> k.envelope or (d.deadline <> 0 and d.deadline <= t)
          or (d.receiver <> k.receiver and d.receiver is distinct from (select 'role:' || a.role
            from agents a where a.workspace = w and a.id = k.receiver and a.role <> ''))`,
  paused: `from (select distinct receiver from unnest(p_takes)) as k
        where (select a.status from agents a
          where a.workspace = w and a.id = k.receiver) = 'paused'`,
} as const;

const ARGUMENTS = `p_holds hold_part[], p_records record_part[], p_mentions mention_part[],
    p_envelopes envelope_part[], p_posts post_part[], p_parents parent_part[], p_puts put_part[],
    p_tips tip_part[], p_takes take_part[], p_authors author_part[]`;

/** SQL that creates the checks. `refuse` finds out whether anything is wrong, `reasons` what it is. */
export const REFUSE = `
  -- Returns the refused operations (reasons), or null if nothing is wrong.
  create function refuse(w bigint, t bigint, p_careful boolean, ${ARGUMENTS}) returns json
  language plpgsql stable as $$
  #variable_conflict use_column
  declare
    wrong boolean := p_careful;
  begin
    if not wrong and (p_records is not null or p_authors is not null) then
      -- There are few authors: each is checked once.
      wrong := exists (select from (
          select r.agent, r.key from unnest(p_records) r
          union select a.agent, a.key from unnest(p_authors) a) x
        where author_fault(w, agent, key) is not null);
    end if;
    if not wrong and p_records is not null then
      wrong := exists (select ${VIOLATIONS.closed});
    end if;
    if not wrong and p_holds is not null then
      wrong := exists (select ${VIOLATIONS.holds});
    end if;
    if not wrong and p_posts is not null then
      wrong := exists (select ${VIOLATIONS.receivers}) or exists (select ${VIOLATIONS.work});
      if not wrong and (has_breakers(w) or exists (select from unnest(p_posts) where breaker > 0)) then
        wrong := exists (select ${VIOLATIONS.breakers});
      end if;
    end if;
    if not wrong and p_parents is not null then
      wrong := exists (select ${VIOLATIONS.parents});
    end if;
    if not wrong and p_mentions is not null then
      wrong := exists (select ${VIOLATIONS.mentions});
    end if;
    if not wrong and p_puts is not null then
      wrong := exists (select ${VIOLATIONS.entries});
    end if;
    if not wrong and p_tips is not null then
      wrong := exists (select ${VIOLATIONS.tips});
    end if;
    if not wrong and p_takes is not null then
      wrong := exists (select ${VIOLATIONS.takes}) or exists (select ${VIOLATIONS.paused});
    end if;
    if wrong then
      return reasons(w, t, p_holds, p_records, p_mentions, p_envelopes, p_posts, p_parents, p_puts,
        p_tips, p_takes, p_authors);
    end if;
    return null;
  end $$;

  -- Returns [operation, reason, what the reason refers to] for each refused operation.
  create function reasons(w bigint, t bigint, ${ARGUMENTS}) returns json
  language plpgsql stable as $$
  #variable_conflict use_column
  begin
    return (select json_agg(json_build_array(i, kind, what)) from (
      select distinct on (i) i, kind, what from (
        select h.i, 0 as rank, 0 as ord,
          case when d.id is null or d.state not in (2, 3) or d.fence <> h.fence or d.lease_until <= t
            then 'lease_lost'
            when h.newest and d.envelope <> h.envelope then 'extended'
            else 'lease_lost' end as kind, h.delivery as what
        ${VIOLATIONS.holds}
      union all
        select p.i, 1, p.n, receiver_fault(w, p.receiver), p.receiver
        ${VIOLATIONS.receivers}
      union all
        select p.i, 2, p.n, 'missing_parent', p.envelope
        ${VIOLATIONS.parents}
      union all
        select r.i, 3, r.ord * 4, author_fault(w, r.agent, r.key), r.agent
        from unnest(p_records) as r
        where author_fault(w, r.agent, r.key) is not null
      union all
        select a.i, 3, 0, author_fault(w, a.agent, a.key), a.agent
        from unnest(p_authors) as a
        where author_fault(w, a.agent, a.key) is not null
      union all
        select m.i, 3, m.ord * 4 + 1, 'missing_reference', m.record || ' ' || m.id
        ${VIOLATIONS.mentions}
      union all
        select r.i, 3, r.ord * 4 + 2, 'id_taken', r.id
        from unnest(p_records) as r
        where r.twice
          or (select x.pos from memories x where x.workspace = w and x.id = r.id) is not null
      union all
        select r.i, 3, r.ord * 4 + 3, 'branch_closed', r.branch
        ${VIOLATIONS.closed}
      union all
        select p.i, 4, 0, 'entry_changed', ''
        ${VIOLATIONS.entries}
      union all
        select p.i, 5, 0, 'changed', ''
        ${VIOLATIONS.work}
      union all
        select p.i, 5, 0, 'tip_moved', ''
        ${VIOLATIONS.tips}
      union all
        select p.i, 6, 0, 'breaker_changed', ''
        ${VIOLATIONS.breakers}
      union all
        select v.i, 7, -1, 'id_taken', v.id
        from unnest(p_envelopes) as v
        where (select e.pos from envelopes e where e.workspace = w and e.id = v.id) is not null
      union all
        select p.i, 7, p.n, 'id_taken', p.delivery
        from unnest(p_posts) as p
        where (select d.place from deliveries d
          where d.workspace = w and d.id = p.delivery) is not null
      union all
        select k.i, 8, k.ord, 'taken', k.delivery
        ${VIOLATIONS.takes}
      union all
        select k.i, 8, k.ord, 'taken', k.delivery
        from unnest(p_takes) as k
        where k.receiver in (select k.receiver ${VIOLATIONS.paused})
      ) every order by i, rank, ord
    ) first);
  end $$;

  -- Returns why an agent cannot write: it is unknown, disabled, or has another key.
  create function author_fault(w bigint, p_agent text, p_key text) returns text
  language plpgsql stable as $$
  declare
    a record;
  begin
    select x.status, x.public_key into a from agents x where x.workspace = w and x.id = p_agent;
    return case when not found then 'unknown_agent'
      when a.status = 'disabled' then 'agent_disabled'
      when a.public_key <> p_key then 'key_changed' end;
  end $$;

  -- Returns why a receiver cannot take a delivery: neither the agent nor any agent with the role is enabled.
  create function receiver_fault(w bigint, p_receiver text) returns text
  language plpgsql stable as $$
  declare
    able boolean;
  begin
    select bool_or(a.status <> 'disabled') into able from (
      (select x.status from agents x where x.workspace = w and x.id = p_receiver)
      union all
      (select x.status from agents x where x.workspace = w and x.role <> ''
        and x.role = case when starts_with(p_receiver, 'role:') then substr(p_receiver, 6) end)) a;
    return case when able is null then 'unknown_receiver'
      when not able then 'receiver_disabled' end;
  end $$;
`;
