/**
 * What speaks against the operations of a group, before anything of it is written: per operation
 * the first reason, or null when all may go ahead. Reasons are ranked as the checks of one
 * operation follow each other: its lease, its receiver, its parents, its records, the work it
 * would extend, its ids. Whether an id is taken is not looked up (the unique indexes do that)
 * unless something else is wrong, or the hub asks for care after a group has run into one that was.
 *
 * Here and in the other functions a row is looked up in a subquery of its own, never in a join: a
 * join can be planned from either side, and on tables that were empty when the plan was made it is
 * planned from the wrong one. For the same reason an update finds its rows by their place (ctid), and guards
 * with state + 0, which no partial index answers to.
 */
export const REFUSE = `
  create function refuse(w bigint, t bigint, p_careful boolean, p_holds hold_part[],
    p_records record_part[], p_mentions mention_part[], p_sends send_part[],
    p_parents parent_part[], p_takes take_part[], p_authors author_part[]) returns json
  language plpgsql stable as $$
  #variable_conflict use_column
  declare
    found json;
    faulty boolean;
  begin
    -- Authors are few: each is looked at once.
    select bool_or(author_fault(w, agent, key) is not null) into faulty from (
      select r.agent, r.key from unnest(p_records) r
      union select a.agent, a.key from unnest(p_authors) a) x;
    select json_agg(json_build_array(i, kind, what)) into found from (
      select distinct on (i) i, kind, what from (
        select h.i, 0 as rank, 0 as ord,
          case when d.id is null or d.state not in (2, 3) or d.fence <> h.fence or d.lease_until <= t
            then 'lease_lost'
            when h.newest and d.envelope <> h.envelope then 'extended'
            else 'lease_lost' end as kind, h.delivery as what
        from unnest(p_holds) as h
        left join lateral (select x.* from deliveries x
          where x.workspace = w and x.id = h.delivery limit 1) d on true
        where d.id is null or d.state not in (2, 3) or d.fence <> h.fence or d.lease_until <= t
          or (h.newest and d.envelope <> h.envelope) or (1 << d.state) & h.states = 0
      union all
        select s.i, 1, 0,
          case when a.id is null then 'unknown_receiver' else 'receiver_disabled' end, s.receiver
        from unnest(p_sends) as s
        left join lateral (select x.* from agents x
          where x.workspace = w and x.id = s.receiver limit 1) a on true
        where a.id is null or a.status = 'disabled'
      union all
        select p.i, 2, p.n, 'missing_parent', p.envelope
        from unnest(p_parents) as p
        where (select e.pos from envelopes e
          where e.workspace = w and e.id = p.envelope) is null
      union all
        select r.i, 3, r.ord * 3, author_fault(w, r.agent, r.key), r.agent
        from unnest(p_records) as r
        where faulty and author_fault(w, r.agent, r.key) is not null
      union all
        select a.i, 3, 0, author_fault(w, a.agent, a.key), a.agent
        from unnest(p_authors) as a
        where faulty and author_fault(w, a.agent, a.key) is not null
      union all
        select m.i, 3, m.ord * 3 + 1, 'missing_reference', m.record || ' ' || m.id
        from unnest(p_mentions) as m
        where (select x.pos from memories x where x.workspace = w and x.id = m.id) is null
          and not exists (select from unnest(p_records) as b
            where b.id = m.id and b.ord < m.ord)
      union all
        select r.i, 3, r.ord * 3 + 2, 'id_taken', r.id
        from unnest(p_records) as r
        where p_careful and (r.twice or (select x.pos from memories x where x.workspace = w and x.id = r.id) is not null)
      union all
        select s.i, 4, 0, 'changed', ''
        from unnest(p_sends) as s
        left join lateral (
          select d.id, d.envelope, d.state in (2, 3, 4) as held from deliveries d
          where d.workspace = w and d.receiver = s.receiver and d.task = s.task and d.settled_at = 0
            and d.sender = s.sender and d.parent = s.parent and d.id is distinct from s.settles
          order by d.place limit 1) o on true
        where (o.id, o.envelope, o.held) is distinct from (s.extend, s.extended, s.held)
      union all
        select s.i, 5, 0, 'id_taken', s.id
        from unnest(p_sends) as s
        where p_careful
          and (select e.pos from envelopes e where e.workspace = w and e.id = s.id) is not null
      union all
        select s.i, 5, 1, 'id_taken', s.delivery
        from unnest(p_sends) as s
        where p_careful and (select d.place from deliveries d
          where d.workspace = w and d.id = s.delivery) is not null
      union all
        -- Somebody was quicker, or its sender has changed it: the hub picks another.
        select k.i, 6, k.ord, 'taken', k.delivery
        from unnest(p_takes) as k
        left join lateral (select x.* from deliveries x
          where x.workspace = w and x.id = k.delivery limit 1) d on true
        where d.id is null or d.state <> 1 or d.turn <> 1 or d.fence <> k.fence
          or d.envelope <> k.envelope
      ) every order by i, rank, ord
    ) first;
    -- A taken id may come before what was found: among the reasons the first counts.
    if found is not null and not p_careful then
      return refuse(w, t, true, p_holds, p_records, p_mentions, p_sends, p_parents, p_takes,
        p_authors);
    end if;
    return found;
  end $$;

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
`;
