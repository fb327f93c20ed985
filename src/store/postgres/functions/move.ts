/**
 * SQL functions that carry out what policy and people decide about deliveries, one after the other, because
 * one move may free the turn of the next. An operation of which any delivery has changed since it was read is
 * refused.
 */
export const MOVE = `
  -- Returns for each refused operation the first delivery that changed since it was read, else the first
  -- receiver that cannot take it.
  create function refuse_moves(w bigint, p_moves move_part[]) returns json
  language plpgsql stable as $$
  #variable_conflict use_column
  begin
    return (select json_agg(json_build_array(i, kind, what)) from (
      select distinct on (i) i, kind, what from (
        select m.i, m.n, 0 as rank, 'changed' as kind, m.delivery as what
        from unnest(p_moves) as m
        left join lateral (select x.* from deliveries x
          where x.workspace = w and x.id = m.delivery limit 1) d on true
        where d.id is null or d.state <> m.was or d.fence <> m.fence or d.envelope <> m.envelope
          or d.lease_until <> coalesce(m.lease, d.lease_until)
          or d.lapse_at <> coalesce(m.lapsed, d.lapse_at)
          or d.followers <> coalesce(m.followed, d.followers)
      union all
        select m.i, m.n, 1, receiver_fault(w, m.receiver), m.receiver
        from unnest(p_moves) as m
        where m.receiver is not null and receiver_fault(w, m.receiver) is not null
      ) every order by i, rank, n
    ) first);
  end $$;

  -- Carries out the moves in order. Returns the moved rows, and the agents to wake up.
  create function move(w bigint, t bigint, pos bigint, ats bigint[], inout ev bigint,
    p_moves move_part[], out moved json, out wakes text[])
  language plpgsql as $$
  #variable_conflict use_column
  declare
    m move_part;
    b deliveries;
    every jsonb := '[]';
  begin
    for m in select * from unnest(p_moves) as m order by m.i, m.n
    loop
      select * into b from deliveries x where x.workspace = w and x.id = m.delivery;
      if m.outcome is not null then
        -- An attempt that no agent claimed counts as well.
        insert into attempts (workspace, delivery, attempt, ended_at, outcome, holder, instance,
            reason)
          values (w, b.id, b.attempt + (b.state not in (2, 3))::int, coalesce(ats[m.ord], t),
            m.outcome, case when b.state in (2, 3) then b.holder else '' end,
            case when b.state in (2, 3) then b.instance else '' end, m.reason);
        if b.state not in (2, 3) then
          update deliveries d set attempt = d.attempt + 1, fence = d.fence + 1
            where d.workspace = w and d.id = m.delivery;
        end if;
      end if;
      update deliveries d set max_attempts = coalesce(m.attempts, d.max_attempts),
          deadline = coalesce(m.deadline, d.deadline),
          followers = coalesce(m.followers, d.followers),
          envelope = coalesce(m.goes_on, d.envelope)
        where d.workspace = w and d.id = m.delivery;
      if m.state <> b.state or m.receiver is not null or m.lapse is not null then
        update deliveries d set lapse_at = case when m.state >= 5 then 0
            when coalesce(m.lapse, 0) = 0 then d.deadline
            when d.deadline = 0 then t + m.lapse else least(d.deadline, t + m.lapse) end
          where d.workspace = w and d.id = m.delivery;
      end if;
      if m.state = b.state and m.state = 0 and m.receiver is null and m.delay is not null then
        update deliveries d set ready_at = t + m.delay where d.workspace = w and d.id = m.delivery;
      end if;
      wakes := wakes || array[b.sender, coalesce(m.receiver, b.receiver)]
        || case when b.state in (2, 3) then array[b.holder] end;
      if m.state <> b.state or m.receiver is not null then
        wakes := wakes || line_up(w, t, pos, ats[m.ord], m, b);
      end if;
      select * into b from deliveries x where x.workspace = w and x.id = m.delivery;
      ev := ev + 1;
      insert into events (workspace, number, at, attempt, kind, agent, task, delivery, envelope)
        values (w, ev, t, b.attempt, m.event, m.agent, b.task, b.id, b.envelope);
      every := every || jsonb_build_array(delivery_row(b));
    end loop;
    moved := every::json;
  end $$;

  -- Sets the state and the position in the inbox: last if the delivery is new there. If it leaves an
  -- inbox, the next delivery there gets its turn.
  create function line_up(w bigint, t bigint, pos bigint, at bigint, m move_part, b deliveries)
    returns text[]
  language plpgsql as $$
  #variable_conflict use_column
  declare
    opens boolean := m.state < 5;
    was_open boolean := b.state < 5;
    goes boolean := coalesce(m.receiver <> b.receiver, false);
    last bigint;
  begin
    update deliveries d set state = m.state, receiver = coalesce(m.receiver, d.receiver),
        lease_until = 0, hold_until = 0,
        ready_at = case when m.state = 0 then t + coalesce(m.delay, 0) else 0 end,
        settled_at = case when opens then 0 else coalesce(at, t) end,
        settled_by = coalesce(m.record, '')
      where d.workspace = w and d.id = m.delivery;
    if opens and (goes or not was_open) then
      last := (select x.place from deliveries x where x.workspace = w
          and x.receiver = coalesce(m.receiver, b.receiver) and x.task = b.task and x.settled_at = 0
          and x.id <> b.id
        order by x.place desc limit 1);
      update deliveries d set place = greatest(pos, last + 1), turn = (last is null)::int
        where d.workspace = w and d.id = m.delivery;
    end if;
    if was_open and (goes or not opens) then
      return pass_turn(w, array[b.receiver], array[b.task]);
    end if;
    return null;
  end $$;
`;
