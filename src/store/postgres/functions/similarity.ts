/**
 * SQL functions for vectors in SQL queries: the cosine of the angle between two vectors (JSON arrays of
 * numbers; NULL if they cannot be compared), and the JSON array of a stored vector.
 * src/store/sql/similarity.ts is the equivalent for SQLite.
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

  -- Returns a stored vector (search/embedding/quantise.ts) as JSON: 4 bytes of scale, then signed bytes.
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
