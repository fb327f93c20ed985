/**
 * SQL functions that settle deliveries: end the holder's attempt and write the attempt and its event. When
 * the delivery is over, the next one of its receiver and task gets its turn.
 */
import { DELIVERY_ROW } from "./rows.ts";

/** SQL that creates `settle` and `pass_turn`. */
export const SETTLE = `
  -- Settles deliveries. Returns their rows by operation, and the agents to wake up.
  create function settle(w bigint, t bigint, ats bigint[], inout ev bigint, p_settles settle_part[],
    out settled json, out wakes text[])
  language plpgsql as $$
  #variable_conflict use_column
  declare
    n bigint;
    over record;
  begin
    update deliveries d set state = s.state, lease_until = 0, hold_until = 0,
        max_attempts = d.max_attempts + s.free::int,
        -- The earlier of the deadline and the time of the next decision; 0 if there is neither.
        lapse_at = case when s.state >= 5 then 0 when s.lapse = 0 then d.deadline
          when d.deadline = 0 then t + s.lapse else least(d.deadline, t + s.lapse) end,
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
      select s.i, s.n, s.outcome, s.handed, d.* from unnest(p_settles) as s
      cross join lateral (select x.* from deliveries x
        where x.workspace = w and x.id = s.delivery limit 1) d
    ), logged as (
      insert into events (workspace, number, at, attempt, kind, agent, task, delivery, envelope)
        select w, ev + row_number() over (order by d.n), t, d.attempt,
          case when d.state = 7 then 'dead' else d.outcome end, d.holder, d.task, d.id, d.envelope
        from ended d
    )
    select count(*) as n, json_object_agg(d.i, ${DELIVERY_ROW}) as settled,
      array_agg(distinct d.sender) as senders,
      array_agg(distinct d.receiver) filter (where not d.handed) as receivers,
      array_agg(d.receiver) filter (where d.state >= 5) as queues,
      array_agg(d.task) filter (where d.state >= 5) as tasks,
      bool_or(d.outcome = 'completed') as completed
      into over
    from ended d;
    ev := ev + over.n;
    settled := over.settled;
    if over.completed and has_breakers(w) then
      perform close_breakers(w, p_settles);
    end if;
    wakes := over.senders || over.receivers || pass_turn(w, over.queues, over.tasks);
  end $$;

  -- Gives the turn to the first open delivery of each receiver and task. Returns the receivers for which
  -- it changed.
  create function pass_turn(w bigint, p_receivers text[], p_tasks text[]) returns text[]
  language plpgsql as $$
  #variable_conflict use_column
  declare
    woken text[];
  begin
    if p_receivers is null then return null; end if;
    with passed as (
      update deliveries d set turn = 1
        from (
          select n.tid from unnest(p_receivers, p_tasks) as q(receiver, task)
          cross join lateral (select y.ctid as tid, y.turn from deliveries y where y.workspace = w
            and y.receiver = q.receiver and y.task = q.task and y.settled_at = 0
            order by y.place limit 1) n
          where n.turn = 0
          offset 0
        ) next
        where d.ctid = next.tid
        returning d.receiver
    )
    select array_agg(p.receiver) into woken from passed p;
    return woken;
  end $$;
`;
