/**
 * The cosine of the angle between two vectors, each a JSON array of numbers (NULL when they cannot be
 * compared), and a stored vector as one. For queries in SQL (sql.ts); src/store/sql/similarity.ts is the same for SQLite.
 */
export const SIMILARITY = `
  create function cosine_similarity(a text, b text) returns double precision
  language sql immutable strict parallel safe as $$
    select case when count(*) = count(x) and count(*) = count(y)
      then sum(x * y) / nullif(sqrt(sum(x * x)) * sqrt(sum(y * y)), 0) end
    from unnest(
      case when a ~ '^\\s*\\[[-+0-9.eE,\\s]*\\]\\s*$' then translate(a, '[]', '{}')::float8[] end,
      case when b ~ '^\\s*\\[[-+0-9.eE,\\s]*\\]\\s*$' then translate(b, '[]', '{}')::float8[] end
    ) as v (x, y)
  $$;

  -- A stored vector (meaning/quantise.ts) as JSON: after four bytes of scale a signed byte each.
  create function vector_text(stored bytea) returns text
  language sql immutable strict parallel safe as $$
    select '[' || string_agg((value / length)::real::text, ',' order by i) || ']'
    from (
      select i, value, nullif(sqrt(sum(value * value) over ()), 0) as length
      from (
        select i, ((get_byte(stored, i) + 128) % 256 - 128)::float8 as value
        from generate_series(4, octet_length(stored) - 1) as i
      ) as signed
    ) as measured
  $$;
`;
