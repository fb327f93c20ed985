/** What falls due. Retries become ready by whoever claims; about the rest somebody has to decide. */
export const DUE = `
  create function mature(w bigint, t bigint) returns void
  language plpgsql as $$
  #variable_conflict use_column
  begin
    update deliveries set state = 1 where workspace = w and state = 0 and ready_at <= t;
  end $$;

  -- In how many milliseconds something falls due: 0 when it has, null when nothing will.
  create function next_due(w bigint, t bigint) returns bigint
  language sql stable as $$
    select case when due is not null then greatest(0, due - t) end from (select least(
      (select min(ready_at) from deliveries where workspace = w and state = 0),
      (select min(lease_until) from deliveries where workspace = w and state in (2, 3)),
      (select min(lapse_at) from deliveries where workspace = w and lapse_at > 0)) as due) x
  $$;
`;
