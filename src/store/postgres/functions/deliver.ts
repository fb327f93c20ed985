/**
 * Sending: the envelope of each handoff and its delivery. The work it extends is either held (the
 * delivery stays, its envelope moves on) or waits (the new delivery takes its place and turn).
 */
export const DELIVER = `
  create function deliver(w bigint, t bigint, first bigint, ats bigint[], inout ev bigint,
    p_sends send_part[], p_texts bytea, out sent json, out wakes text[])
  language plpgsql as $$
  #variable_conflict use_column
  declare
    s record;
    o record;
    n bigint;
  begin
    insert into envelopes (workspace, pos, id, task, sender, text)
      select w, first + s.ord, s.id, s.task, s.sender,
        convert_from(substr(p_texts, s.at, s.bytes), 'UTF8')
      from unnest(p_sends) as s;

    -- Additions are rare: one by one.
    for s in select * from unnest(p_sends) as s where s.extend is not null
    loop
      select d.task, d.id, d.envelope, d.attempt into o from deliveries d
        where d.workspace = w and d.id = s.extend;
      if s.held then
        update deliveries d set envelope = s.id where d.workspace = w and d.id = s.extend;
      else
        update deliveries d set state = 10, settled_at = ats[s.ord]
          where d.workspace = w and d.id = s.extend;
      end if;
      ev := ev + 1;
      insert into events (workspace, number, at, attempt, kind, agent, task, delivery, envelope)
        values (w, ev, t, o.attempt, case when s.held then 'extended' else 'superseded' end,
          s.sender, o.task, o.id, case when s.held then s.id else o.envelope end);
    end loop;

    insert into deliveries (workspace, place, lease_until, ready_at, sent_at, seen_at, accepted_at,
        settled_at, attempt, max_attempts, fence, state, turn, id, envelope, parent, task, sender,
        receiver, holder, instance, process, accepted_by, settled_by)
      select w, coalesce(o.place, first + s.ord), 0, 0, ats[s.ord], 0, 0, 0, 0, s.attempts, 0, 1,
        coalesce(o.turn, ((select x.place from deliveries x where x.workspace = w
          and x.receiver = s.receiver and x.task = s.task and x.settled_at = 0 limit 1) is null)::int),
        s.delivery, s.id, s.parent, s.task, s.sender, s.receiver, '', '', '', '', ''
      from unnest(p_sends) as s
      left join lateral (select x.place, x.turn from deliveries x
        where x.workspace = w and x.id = s.extend limit 1) o on true
      where s.held is not true;

    insert into events (workspace, number, at, attempt, kind, agent, task, delivery, envelope)
      select w, ev + row_number() over (order by s.ord), t, 0, 'sent', s.sender, s.task, s.delivery,
        s.id
      from unnest(p_sends) as s
      where s.held is not true;
    get diagnostics n = row_count;
    ev := ev + n;

    select json_object_agg(s.i, delivery_row(d)),
      array_agg(distinct case when d.state in (2, 3) then d.holder else d.receiver end)
      into sent, wakes
    from unnest(p_sends) as s
    cross join lateral (select x.* from deliveries x where x.workspace = w
      and x.id = case when s.held then s.extend else s.delivery end limit 1) d;
  end $$;
`;
