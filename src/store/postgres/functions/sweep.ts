/**
 * What falls due: retries become ready; work whose holder fell silent (or whose process is gone)
 * goes back to the inbox, or to dead letters when it was the last try. Done by whoever claims.
 */
export const SWEEP = `
  create function sweep(w bigint, t bigint, inout ev bigint, p_gone text[], out wakes text[])
  language plpgsql as $$
  #variable_conflict use_column
  declare
    lost text[];
    n bigint;
  begin
    update deliveries set state = 1 where workspace = w and state = 0 and ready_at <= t;

    lost := array(select d.id from deliveries d
      where d.workspace = w and d.state in (2, 3) and d.lease_until <= t
      order by d.lease_until, d.place limit 100);
    if p_gone is not null then
      lost := lost || array(select d.id from deliveries d
        where d.workspace = w and d.state in (2, 3) and d.process <> '' and d.process = any (p_gone)
          and d.id <> all (lost)
        order by d.place limit 100);
    end if;
    if cardinality(lost) = 0 then return; end if;

    insert into attempts (workspace, delivery, attempt, ended_at, outcome, holder, instance, reason)
      select w, d.id, d.attempt, t, 'expired', d.holder, d.instance,
        case when d.lease_until <= t then '' else '{"reason":"process ended"}' end
      from deliveries d where d.workspace = w and d.id = any (lost);

    insert into events (workspace, number, at, attempt, kind, agent, task, delivery, envelope)
      select w, ev + row_number() over (order by l.n), t, d.attempt,
        case when d.attempt >= d.max_attempts then 'dead' else 'expired' end, d.holder, d.task,
        d.id, d.envelope
      from unnest(lost) with ordinality as l(id, n)
      cross join lateral (select x.* from deliveries x
        where x.workspace = w and x.id = l.id limit 1) d;
    get diagnostics n = row_count;
    ev := ev + n;

    update deliveries d set
        state = case when d.attempt >= d.max_attempts then 7 else 1 end,
        settled_at = case when d.attempt >= d.max_attempts then t else 0 end,
        lease_until = 0, ready_at = 0, settled_by = ''
      where d.workspace = w and d.id = any (lost);
    perform pass_turn(w, array(select d.id from deliveries d
      where d.workspace = w and d.id = any (lost) and d.state = 7));

    wakes := array(select distinct d.receiver from deliveries d
      where d.workspace = w and d.id = any (lost));
  end $$;

  -- When something falls due next, in milliseconds; 0: never.
  create function next_due(w bigint, t bigint) returns bigint
  language sql stable as $$
    select case when due is null then 0 else greatest(1, due - t) end from (select least(
      (select min(ready_at) from deliveries where workspace = w and state = 0),
      (select min(lease_until) from deliveries where workspace = w and state in (2, 3))) as due) x
  $$;
`;
