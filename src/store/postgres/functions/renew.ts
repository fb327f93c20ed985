/**
 * SQL functions that renew leases for their full time, up to the maximum hold time: single leases by fence,
 * or all leases of a session.
 */
export const RENEW = `
  -- Renews leases by fence. Returns the rows by operation.
  create function renew(w bigint, t bigint, p_renews renew_part[]) returns json
  language plpgsql as $$
  #variable_conflict use_column
  begin
    update deliveries d set lease_until = least(t + r.lease, d.hold_until)
      from (
        select r.*, (select x.ctid from deliveries x where x.workspace = w and x.id = r.delivery) as tid
        from unnest(p_renews) as r
        offset 0
      ) r
      where d.ctid = r.tid and d.fence = r.fence and d.state + 0 in (2, 3);
    return (select json_object_agg(r.i, (select delivery_row(x) from deliveries x
        where x.workspace = w and x.id = r.delivery))
      from unnest(p_renews) as r);
  end $$;

  -- Renews all unexpired leases of sessions that are not bound to a process.
  create function renew_sessions(w bigint, t bigint, p_sessions session_part[]) returns void
  language plpgsql as $$
  #variable_conflict use_column
  declare
    s record;
  begin
    for s in select * from unnest(p_sessions) as s
    loop
      update deliveries d set lease_until = least(t + s.lease, d.hold_until)
        where d.workspace = w and d.state in (2, 3) and d.lease_until > t and d.process = ''
          and d.holder = s.agent and d.instance = s.instance;
    end loop;
  end $$;
`;
