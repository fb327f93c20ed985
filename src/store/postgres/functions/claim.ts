/**
 * Claiming: the oldest ready deliveries of a receiver that are in turn, each to exactly one holder.
 * Touches ready rows only (their own partial index), so its cost does not grow with what was
 * completed or with what waits behind others.
 */
const VANISHED_MS = 3_000;

export const CLAIM = `
  create function claim(w bigint, t bigint, inout ev bigint, p_claims claim_part[], out claimed json,
    out kept json)
  language plpgsql as $$
  #variable_conflict use_column
  declare
    c record;
    ids text[];
    n bigint;
    every jsonb := '[]';
    all_ids jsonb := '[]';
  begin
    for c in select * from unnest(p_claims) as c
    loop
      ids := array(select p.id from pickable(w, c.receiver, c.task, c.delivery, c.most) p);
      continue when cardinality(ids) = 0;
      update deliveries d set state = 2, attempt = attempt + 1, fence = fence + 1,
          lease_until = t + c.lease, seen_at = t, holder = c.receiver, instance = c.instance,
          process = c.process
        where d.workspace = w and d.id = any (ids) and d.state + 0 = 1;
      insert into events (workspace, number, at, attempt, kind, agent, task, delivery, envelope)
        select w, ev + row_number() over (order by d.place), t, d.attempt, 'claimed', d.holder,
          d.task, d.id, d.envelope
        from deliveries d where d.workspace = w and d.id = any (ids);
      get diagnostics n = row_count;
      ev := ev + n;
      all_ids := all_ids || (select jsonb_agg(jsonb_build_array(c.n, d.id, d.fence) order by d.place)
        from deliveries d where d.workspace = w and d.id = any (ids));
      every := every || (select jsonb_agg(jsonb_build_array(c.n, delivery_row(d),
          envelope_row(w, d.envelope)) order by d.place)
        from deliveries d where d.workspace = w and d.id = any (ids));
    end loop;
    claimed := every::json;
    kept := all_ids::json;
  end $$;

  -- One reserved by a hub that is about to take it is passed over. The reservation is a hint
  -- (taking checks again), nobody ever waits for it, and it ends with its transaction.
  create function pickable(w bigint, p_receiver text, p_task text, p_delivery text, p_most int)
    returns setof deliveries
  language plpgsql as $$
  #variable_conflict use_column
  declare
    -- Advisory locks are the whole database's: other stores in it count the same way.
    here int := hashint8(w) # hashtext(current_schema());
  begin
    if p_delivery is not null then
      return query select d.* from deliveries d
        where d.workspace = w and d.id = p_delivery and d.receiver = p_receiver and d.state = 1
          and d.turn = 1 and (p_task is null or d.task = p_task);
    elsif p_task is not null then
      return query select d.* from deliveries d
        where d.workspace = w and d.receiver = p_receiver and d.task = p_task and d.settled_at = 0
          and d.state + 0 = 1 and d.turn = 1
        order by d.place limit least(p_most, 1);
    else
      return query select d.* from deliveries d
        where d.workspace = w and d.receiver = p_receiver and d.state = 1 and d.turn = 1
          and pg_try_advisory_xact_lock(here, hashint8(d.place))
        order by d.place limit p_most;
    end if;
  end $$;

  -- What a hub would take, reserved for it: a look outside the workspace's lock, so that the hub
  -- can write the records that accept before anybody has to wait for it.
  create function pick(p_workspace text, p_now bigint, p_claims claim_part[])
    returns table (i int, fault text, due bigint, overdue boolean, delivery json, envelope text,
      task text, sender text, body text, memory text, stored_at bigint)
  language plpgsql as $$
  #variable_conflict use_column
  declare
    w bigint;
    t bigint := coalesce(p_now, (extract(epoch from clock_timestamp()) * 1000)::bigint);
    c record;
    picked text;
    seen text[] := '{}';
  begin
    -- A hub that vanishes between look and write leaves nothing reserved, nor the workspace locked.
    perform set_config('idle_in_transaction_session_timeout', '${VANISHED_MS}', true);
    select x.key into w from workspaces x where x.name = p_workspace;
    due := next_due(w, t);
    overdue := due = 1;
    for c in select x.*, author_fault(w, x.receiver, x.key) as fault
      from unnest(p_claims) as x
    loop
      i := c.n;
      fault := c.fault;
      delivery := null;
      return next;
      continue when c.fault is not null;
      -- A reservation does not keep out who made it: what is picked already is passed over here.
      for delivery, picked, envelope, task, sender, body, memory, stored_at in
        select delivery_row(d), d.id, e.id, e.task, e.sender, e.text, m.id, m.stored_at
        from pickable(w, c.receiver, c.task, c.delivery, c.most + cardinality(seen)) d
        cross join lateral (select x.* from envelopes x
          where x.workspace = w and x.id = d.envelope limit 1) e
        cross join lateral (select x.id, x.stored_at from memories x
          where x.workspace = w and x.pos = e.pos limit 1) m
        where d.id <> all (seen)
      loop
        seen := seen || picked;
        return next;
      end loop;
    end loop;
  end $$;
`;
