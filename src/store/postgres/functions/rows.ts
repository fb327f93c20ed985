/** Rows as the hub reads them (store/codecs.ts): arrays, in the order of the codec. */
import { DELIVERY_COLUMNS } from "../../codecs.ts";

/**
 * The same of columns at hand, as `d`. Of a row kept as one value each column is looked for from
 * the start, which took a quarter of the time of accepting.
 */
export const DELIVERY_ROW = `json_build_array(${DELIVERY_COLUMNS})`;

export const ROWS = `
  create function delivery_row(d deliveries) returns json
  language sql stable as $$
    select ${DELIVERY_ROW}
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
