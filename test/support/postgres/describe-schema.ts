/**
 * Returns a digest of the tables, columns and functions of a schema, which is the same for all new
 * stores.
 */
import type { TestSchema } from "./schema.ts";

export async function describeSchema(query: TestSchema["query"], schema: string): Promise<string> {
  const [row] = await query(
    `select md5(string_agg(part, chr(10) order by part)) as digest from (
       select concat_ws(' ', relname, relkind, relnatts, reloptions, relhastriggers, relrowsecurity)
       from pg_class where relnamespace = to_regnamespace($1)
       union all
       select concat_ws(' ', proname, replace(prosrc, $1, 'schema'))
       from pg_proc where pronamespace = to_regnamespace($1)
     ) as parts (part)`,
    [schema],
  );
  return String(row?.["digest"]);
}
