/**
 * Settling: the holder's part ends, with the attempt and the event it leaves; when the delivery is
 * over, the next of its receiver and task has its turn.
 */
export const SETTLE = `
  create function settle(w bigint, t bigint, ats bigint[], inout ev bigint, p_settles settle_part[],
    out settled json, out wakes text[])
  language plpgsql as $$
  #variable_conflict use_column
  declare
    n bigint;
  begin
    update deliveries d set state = s.state, lease_until = 0,
        ready_at = case when s.delay is null then 0 else t + s.delay end,
        settled_at = case when s.state < 5 then 0 else coalesce(ats[s.ord], t) end,
        settled_by = coalesce(s.record, '')
      from (
        select s.*, (select x.ctid from deliveries x where x.workspace = w and x.id = s.delivery) as tid
        from unnest(p_settles) as s
        offset 0
      ) s
      where d.ctid = s.tid and d.fence = s.fence and d.state + 0 in (2, 3);
    get diagnostics n = row_count;
    assert n = cardinality(p_settles);

    insert into attempts (workspace, delivery, attempt, ended_at, outcome, holder, instance, reason)
      select w, d.id, d.attempt, coalesce(ats[s.ord], t), s.outcome, d.holder, d.instance, s.reason
      from unnest(p_settles) as s
      cross join lateral (select x.* from deliveries x
        where x.workspace = w and x.id = s.delivery limit 1) d
      where s.outcome <> 'completed';

    with ended as (
      select s.i, s.n, s.outcome, d.row from unnest(p_settles) as s
      cross join lateral (select x as row from deliveries x
        where x.workspace = w and x.id = s.delivery limit 1) d
    ), logged as (
      insert into events (workspace, number, at, attempt, kind, agent, task, delivery, envelope)
        select w, ev + row_number() over (order by e.n), t, (e.row).attempt,
          case when (e.row).state = 7 then 'dead' else e.outcome end, (e.row).holder,
          (e.row).task, (e.row).id, (e.row).envelope
        from ended e
    )
    select count(*), json_object_agg(e.i, delivery_row(e.row)),
      array_agg(distinct (e.row).sender) || array_agg(distinct (e.row).receiver)
      into n, settled, wakes
    from ended e;
    ev := ev + n;

    perform pass_turn(w, array(select s.delivery from unnest(p_settles) as s where s.state >= 5));
  end $$;

  -- The first open delivery of a receiver and task is the one in turn.
  create function pass_turn(w bigint, p_over text[]) returns void
  language plpgsql as $$
  #variable_conflict use_column
  begin
    update deliveries d set turn = 1
      from (
        select n.tid from unnest(p_over) as o(id)
        cross join lateral (select x.receiver, x.task from deliveries x
          where x.workspace = w and x.id = o.id limit 1) x
        cross join lateral (select y.ctid as tid, y.turn from deliveries y where y.workspace = w
          and y.receiver = x.receiver and y.task = x.task and y.settled_at = 0
          order by y.place limit 1) n
        where n.turn = 0
        offset 0
      ) next
      where d.ctid = next.tid;
  end $$;
`;
