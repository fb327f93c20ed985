/**
 * SQL function that sends handoffs: writes the envelope of each, and its delivery at each receiver. Work
 * that a handoff extends is either held (its delivery stays and gets the new envelope) or waiting (the new
 * delivery replaces it).
 */
export const DELIVER = `
  create function deliver(w bigint, t bigint, first bigint, ats bigint[], inout ev bigint,
    p_envelopes envelope_part[], p_posts post_part[], p_texts bytea, out sent json, out wakes text[])
  language plpgsql as $$
  #variable_conflict use_column
  declare
    p post_part;
    o record;
    n bigint;
    left_by text[]; -- Receivers and tasks of waiting work that was replaced by a dead letter.
    left_of text[];
  begin
    insert into envelopes (workspace, pos, id, task, sender, text)
      select w, first + e.ord, e.id, e.task, e.sender,
        convert_from(substr(p_texts, e.at, e.bytes), 'UTF8')
      from unnest(p_envelopes) as e;
    if p_posts is null then return; end if;

    -- Extensions and deliveries that are dead-lettered at once are rare: process them one by one.
    for p in select * from unnest(p_posts) as p where p.extend is not null or p.state = 7
    loop
      if p.extend is not null then
        select d.task, d.id, d.envelope, d.attempt into o from deliveries d
          where d.workspace = w and d.id = p.extend;
        if p.held then
          -- The newest envelope counts. Accepted work has a deadline, but no other time limit.
          update deliveries d set envelope = p.envelope, deadline = p.deadline,
              lapse_at = case when d.state <> 2 or p.lapse = 0 then p.deadline
                when p.deadline = 0 then t + p.lapse else least(p.deadline, t + p.lapse) end
            where d.workspace = w and d.id = p.extend;
        else
          update deliveries d set state = 10, settled_at = ats[p.ord], lapse_at = 0
            where d.workspace = w and d.id = p.extend;
        end if;
        ev := ev + 1;
        insert into events (workspace, number, at, attempt, kind, agent, task, delivery, envelope)
          values (w, ev, t, o.attempt, case when p.held then 'extended' else 'superseded' end,
            p.author, o.task, o.id, case when p.held then p.envelope else o.envelope end);
      end if;
      if p.state = 7 and p.held is not true then
        insert into attempts (workspace, delivery, attempt, ended_at, outcome, holder, instance,
            reason)
          values (w, p.delivery, 1, ats[p.ord], 'stopped', '', '', p.reason);
        if p.extend is not null then
          left_by := left_by || p.receiver;
          left_of := left_of || p.task;
        end if;
      end if;
    end loop;

    insert into deliveries (workspace, place, lease_until, hold_until, ready_at, deadline, lapse_at,
        sent_at, seen_at, accepted_at, settled_at, attempt, max_attempts, fence, state, turn, id,
        envelope, parent, task, sender, receiver, holder, instance, process, accepted_by, settled_by)
      select w, c.place, 0, 0, case when p.state = 0 then t + p.delay else 0 end, p.deadline,
        -- The earlier of the deadline and the time of the next decision; 0 if there is neither.
        case when p.state = 7 then 0 when p.lapse = 0 then p.deadline
          when p.deadline = 0 then t + p.lapse else least(p.deadline, t + p.lapse) end,
        ats[p.ord], 0, 0, case when p.state = 7 then ats[p.ord] else 0 end, (p.state = 7)::int,
        p.attempts, (p.state = 7)::int, p.state,
        (p.state = 7 or l.place is null or (o.place is not null and o.place < (
          select min(x.place) from deliveries x where x.workspace = w and x.receiver = p.receiver
            and x.task = p.task and x.settled_at = 0)))::int,
        p.delivery, p.envelope, p.parent, p.task, p.sender, p.receiver, '', '', '', '', ''
      from unnest(p_posts) as p
      left join lateral (select x.place from deliveries x
        where x.workspace = w and x.id = p.extend limit 1) o on true
      left join lateral (select x.place from deliveries x where x.workspace = w
        and x.receiver = p.receiver and x.task = p.task and x.settled_at = 0
        order by x.place desc limit 1) l on true
      -- No delivery goes ahead of earlier work of the same receiver and task.
      cross join lateral (select coalesce(o.place, greatest(first + p.ord, l.place + 1)
        - case when l.place is null then p.ahead else 0 end) as place) c
      where p.held is not true;

    insert into events (workspace, number, at, attempt, kind, agent, task, delivery, envelope)
      select w, ev + row_number() over (order by p.ord, p.n), t, (p.state = 7)::int,
        case when p.state = 7 then 'dead' else 'sent' end, p.author, p.task, p.delivery, p.envelope
      from unnest(p_posts) as p
      where p.held is not true;
    get diagnostics n = row_count;
    ev := ev + n;
    if left_by is not null then
      perform pass_turn(w, left_by, left_of);
    end if;

    select json_agg(json_build_array(p.i, delivery_row(d)) order by p.ord, p.n),
      array_agg(distinct case when p.held then d.holder else d.receiver end)
      into sent, wakes
    from unnest(p_posts) as p
    cross join lateral (select x.* from deliveries x where x.workspace = w
      and x.id = case when p.held then p.extend else p.delivery end limit 1) d;
  end $$;
`;
