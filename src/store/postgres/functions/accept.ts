/** SQL functions that accept claimed deliveries (accept), or claim and accept in one step (take). */
import { DELIVERY_ROW } from "./rows.ts";

/** SQL that creates `accept`, `take` and `log_accepted`. */
export const ACCEPT = `
  -- Accepts claimed deliveries. The checks (refuse) ran before, so every row must match.
  create function accept(w bigint, t bigint, ats bigint[], inout ev bigint, p_accepts accept_part[],
    out accepted json, out wakes text[])
  language plpgsql as $$
  #variable_conflict use_column
  declare
    n bigint;
  begin
    update deliveries d set state = 3, lease_until = least(t + a.lease, d.hold_until),
        lapse_at = d.deadline, accepted_at = ats[a.ord], accepted_by = a.record
      from (
        select a.*, (select x.ctid from deliveries x where x.workspace = w and x.id = a.delivery) as tid
        from unnest(p_accepts) as a
        offset 0
      ) a
      where d.ctid = a.tid and d.fence = a.fence and d.state + 0 = 2;
    get diagnostics n = row_count;
    assert n = cardinality(p_accepts);
    select x.ev, x.rows, x.senders into ev, accepted, wakes
      from log_accepted(w, t, ev, array(select a.delivery from unnest(p_accepts) a)) x;
  end $$;

  -- Claims and accepts reserved deliveries in one step.
  create function take(w bigint, t bigint, ats bigint[], inout ev bigint, p_takes take_part[],
    out taken json, out wakes text[])
  language plpgsql as $$
  #variable_conflict use_column
  declare
    n bigint;
  begin
    update deliveries d set state = 3, attempt = attempt + 1, fence = d.fence + 1,
        lease_until = t + least(k.lease, k.hold), hold_until = t + k.hold, lapse_at = d.deadline,
        seen_at = case when d.seen_at = 0 then t else d.seen_at end, accepted_at = ats[k.ord],
        accepted_by = k.record, holder = k.receiver, instance = k.instance, process = k.process
      from (
        select k.*, (select x.ctid from deliveries x where x.workspace = w and x.id = k.delivery) as tid
        from unnest(p_takes) as k
        offset 0
      ) k
      where d.ctid = k.tid and d.fence = k.fence and d.state + 0 = 1;
    get diagnostics n = row_count;
    assert n = cardinality(p_takes);
    select x.ev, x.rows, x.senders into ev, taken, wakes
      from log_accepted(w, t, ev, array(select k.delivery from unnest(p_takes) k)) x;
  end $$;

  -- Writes the events of accepted deliveries. Returns their rows by id, and their senders.
  create function log_accepted(w bigint, t bigint, inout ev bigint, p_accepted text[],
    out rows json, out senders text[])
  language plpgsql as $$
  #variable_conflict use_column
  declare
    n bigint;
  begin
    with accepted as (
      select a.n, d.* from unnest(p_accepted) with ordinality as a(accepted, n)
      cross join lateral (select x.* from deliveries x
        where x.workspace = w and x.id = a.accepted limit 1) d
    ), logged as (
      insert into events (workspace, number, at, attempt, kind, agent, task, delivery, envelope)
        select w, ev + row_number() over (order by d.n), t, d.attempt, 'accepted', d.holder, d.task,
          d.id, d.envelope
        from accepted d
    )
    select count(*), json_object_agg(d.id, ${DELIVERY_ROW}), array_agg(distinct d.sender)
      into n, rows, senders
    from accepted d;
    ev := ev + n;
  end $$;
`;
