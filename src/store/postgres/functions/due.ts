/** SQL functions for due times. Claims make due retries ready; the hub decides about everything else. */
export const DUE = `
  -- Makes due retries ready.
  create function mature(w bigint, t bigint) returns void
  language plpgsql as $$
  #variable_conflict use_column
  begin
    update deliveries set state = 1 where workspace = w and state = 0 and ready_at <= t;
  end $$;

  -- Returns the milliseconds until a delivery becomes due: 0 if one is due, null if none will be.
  create function next_due(w bigint, t bigint) returns bigint
  language sql stable as $$
    select case when due is not null then greatest(0, due - t) end from (select least(
      (select min(ready_at) from deliveries where workspace = w and state = 0),
      (select min(lease_until) from deliveries where workspace = w and state in (2, 3)),
      (select min(lapse_at) from deliveries where workspace = w and lapse_at > 0)) as due) x
  $$;
`;
