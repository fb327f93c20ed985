/** Rows as the hub reads them (store/codecs.ts): arrays, in the order of the codec. */
export const ROWS = `
  create function delivery_row(d deliveries) returns json
  language sql stable as $$
    select json_build_array(d.state, d.turn, d.place, d.attempt, d.max_attempts, d.fence,
      d.lease_until, d.ready_at, d.sent_at, d.seen_at, d.accepted_at, d.settled_at, d.id, d.envelope,
      d.parent, d.task, d.sender, d.receiver, d.holder, d.instance, d.process, d.accepted_by,
      d.settled_by)
  $$;

  create function envelope_row(w bigint, p_id text) returns json
  language plpgsql stable as $$
  #variable_conflict use_column
  declare
    e record;
    m record;
  begin
    select x.pos, x.id, x.task, x.sender, x.text into e from envelopes x
      where x.workspace = w and x.id = p_id;
    select x.id, x.stored_at into m from memories x where x.workspace = w and x.pos = e.pos;
    return json_build_array(e.id, e.task, e.sender, e.text, m.id, m.stored_at);
  end $$;
`;
