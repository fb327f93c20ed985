/** SQL functions that return rows as the hub reads them (store/codecs.ts): arrays, in the codec's order. */
import { DELIVERY_COLUMNS } from "../../codecs.ts";

/**
 * A delivery as an array, from the columns of a row named `d`. Listing the columns is faster than passing the
 * row as one value: each column would be located from the start of the row, which took a quarter of the time
 * of accepting.
 */
export const DELIVERY_ROW = `json_build_array(${DELIVERY_COLUMNS})`;

/** SQL that creates `delivery_row` and `envelope_row`. */
export const ROWS = `
  create function delivery_row(d deliveries) returns json
  language sql stable as $$
    select ${DELIVERY_ROW}
  $$;

  -- Returns an envelope with the id and time of its record.
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
