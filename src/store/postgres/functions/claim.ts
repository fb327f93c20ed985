/**
 * SQL functions that claim deliveries: the first ready ones in turn from the inboxes of an agent and its
 * role, each for exactly one holder. They read ready rows only (a partial index), so their cost does not
 * grow with the number of completed deliveries or of deliveries that wait behind others.
 */
/** Milliseconds after which the server ends the transaction of a hub that vanished between pick and write. */
const VANISHED_MS = 3_000;

/** SQL that creates `claim`, `pickable` and `pick`. */
export const CLAIM = `
  -- Claims for each part in order. Returns the deliveries with their envelopes, and what to store in
  -- writers (claim, delivery, fence) in case the response is lost.
  create function claim(w bigint, t bigint, inout ev bigint, p_claims claim_part[], out claimed json,
    out kept json)
  language plpgsql as $$
  #variable_conflict use_column
  declare
    c claim_part;
    ids text[];
    n bigint;
    every jsonb := '[]';
    all_ids jsonb := '[]';
  begin
    for c in select * from unnest(p_claims) as c
    loop
      ids := array(select p.id from pickable(w, t, c, '{}') p);
      continue when cardinality(ids) = 0;
      update deliveries d set state = 2, attempt = attempt + 1, fence = fence + 1,
          lease_until = t + least(c.lease, c.hold), hold_until = t + c.hold,
          seen_at = case when d.seen_at = 0 then t else d.seen_at end, holder = c.receiver,
          instance = c.instance, process = c.process
        where d.workspace = w and d.id = any (ids) and d.state + 0 = 1;
      insert into events (workspace, number, at, attempt, kind, agent, task, delivery, envelope)
        select w, ev + row_number() over (order by d.place, d.id), t, d.attempt, 'claimed', d.holder,
          d.task, d.id, d.envelope
        from deliveries d where d.workspace = w and d.id = any (ids);
      get diagnostics n = row_count;
      ev := ev + n;
      all_ids := all_ids || (select jsonb_agg(jsonb_build_array(c.n, d.id, d.fence)
          order by d.place, d.id)
        from deliveries d where d.workspace = w and d.id = any (ids));
      every := every || (select jsonb_agg(jsonb_build_array(c.n, delivery_row(d),
          envelope_row(w, d.envelope)) order by d.place, d.id)
        from deliveries d where d.workspace = w and d.id = any (ids));
    end loop;
    claimed := every::json;
    kept := all_ids::json;
  end $$;

  -- Returns the deliveries that a claim can take. Skips those reserved by a hub that is about to take them.
  -- A reservation is a hint (taking checks again), is never waited for, and ends with its transaction. No
  -- more is reserved than will be taken: otherwise other hubs would find nothing although deliveries are
  -- ready. A claim has the workspace to itself and only takes shared locks: a transaction releases its
  -- locks one by one, so reservations of an aborted one may still exist when the next transaction has the
  -- workspace.
  create function pickable(w bigint, t bigint, c claim_part, p_seen text[])
    returns setof deliveries
  language plpgsql as $$
  #variable_conflict use_column
  declare
    -- Advisory locks apply to the whole database, and other stores in it use the same numbers.
    here int := hashint8(w) # hashtext(current_schema());
    looks boolean := c.lease is null;
    own record;
    shared text;
    d deliveries;
    after_place bigint := ${-Number.MAX_SAFE_INTEGER};
    after_id text := '';
    page int := c.most;
    looked int;
    picked int := 0;
  begin
    select x.status, x.role into own from agents x where x.workspace = w and x.id = c.receiver;
    if own.status = 'paused' then return; end if;
    shared := case when own.role <> '' then 'role:' || own.role end;
    if c.delivery is not null then
      return query select d.* from deliveries d
        where d.workspace = w and d.id = c.delivery and d.state = 1 and d.turn = 1
          and (d.receiver = c.receiver or d.receiver = shared)
          and (d.deadline = 0 or d.deadline > t)
          and (c.task is null or d.task = c.task) and d.id <> all (p_seen);
    elsif c.task is not null then
      -- One delivery of each receiver and task has its turn.
      return query select u.* from (
          (select x.* from deliveries x where x.workspace = w and x.receiver = c.receiver
              and x.task = c.task and x.settled_at = 0 and x.state + 0 = 1 and x.turn = 1
              and (x.deadline = 0 or x.deadline > t)
            order by x.place limit 1)
          union all
          (select x.* from deliveries x where x.workspace = w and x.receiver = shared
              and x.task = c.task and x.settled_at = 0 and x.state + 0 = 1 and x.turn = 1
              and (x.deadline = 0 or x.deadline > t)
            order by x.place limit 1)) u
        where u.id <> all (p_seen)
        order by u.place, u.id limit c.most;
    elsif shared is null or not exists (select from deliveries x where x.workspace = w
        and x.receiver = shared and x.state = 1 and x.turn = 1) then
      return query select d.* from deliveries d
        where d.workspace = w and d.receiver = c.receiver and d.state = 1 and d.turn = 1
          and d.id <> all (p_seen) and (d.deadline = 0 or d.deadline > t)
          and case when looks then pg_try_advisory_xact_lock(here, hashtext(d.id))
            else pg_try_advisory_xact_lock_shared(here, hashtext(d.id)) end
        order by d.place, d.id limit c.most;
    else
      -- Page by page, so that two inboxes of any length are merged without sorting them.
      loop
        looked := 0;
        for d in select u.* from (
            (select x.* from deliveries x where x.workspace = w and x.receiver = c.receiver
                and x.state = 1 and x.turn = 1 and (x.deadline = 0 or x.deadline > t)
                and (x.place, x.id) > (after_place, after_id)
              order by x.place, x.id limit page)
            union all
            (select x.* from deliveries x where x.workspace = w and x.receiver = shared
                and x.state = 1 and x.turn = 1 and (x.deadline = 0 or x.deadline > t)
                and (x.place, x.id) > (after_place, after_id)
              order by x.place, x.id limit page)) u
          order by u.place, u.id limit page
        loop
          looked := looked + 1;
          after_place := d.place;
          after_id := d.id;
          continue when d.id = any (p_seen)
            or not case when looks then pg_try_advisory_xact_lock(here, hashtext(d.id))
              else pg_try_advisory_xact_lock_shared(here, hashtext(d.id)) end;
          return next d;
          picked := picked + 1;
          exit when picked = c.most;
        end loop;
        exit when picked = c.most or looked < page;
        page := page * 2 + 16;
      end loop;
    end if;
  end $$;

  -- Reserves what a hub wants to take and returns it. Runs outside the workspace's lock, so that the hub can
  -- write the accepting records without making other writers wait.
  create function pick(p_workspace text, p_now bigint, p_claims claim_part[])
    returns table (i int, fault text, due bigint, late boolean, delivery json, envelope text,
      task text, sender text, body text, memory text, stored_at bigint)
  language plpgsql as $$
  #variable_conflict use_column
  declare
    w bigint;
    t bigint := coalesce(p_now, (extract(epoch from clock_timestamp()) * 1000)::bigint);
    c claim_part;
    picked text;
    before int;
    seen text[] := '{}';
  begin
    -- If a hub vanishes between pick and write, nothing stays reserved and the workspace is not locked.
    perform set_config('idle_in_transaction_session_timeout', '${VANISHED_MS}', true);
    select x.key into w from workspaces x where x.name = p_workspace;
    late := exists (select from deliveries x
      where x.workspace = w and x.state = 0 and x.ready_at <= t);
    for c in select * from unnest(p_claims) as x
    loop
      i := c.n;
      fault := author_fault(w, c.receiver, c.key);
      due := null;
      before := cardinality(seen);
      -- A reservation does not exclude the transaction that made it, so skip what was picked already.
      if fault is not null then
        delivery := null;
        return next;
        continue;
      end if;
      for delivery, picked, envelope, task, sender, body, memory, stored_at in
        select delivery_row(d), d.id, e.id, e.task, e.sender, e.text, m.id, m.stored_at
        from pickable(w, t, c, seen) d
        cross join lateral (select x.* from envelopes x
          where x.workspace = w and x.id = d.envelope limit 1) e
        cross join lateral (select x.id, x.stored_at from memories x
          where x.workspace = w and x.pos = e.pos limit 1) m
      loop
        seen := seen || picked;
        return next;
      end loop;
      -- A claim that finds less than it wants also gets the next due time, in a row without a delivery.
      if cardinality(seen) - before < c.most then
        due := next_due(w, t);
        delivery := null;
        return next;
      end if;
    end loop;
  end $$;
`;
