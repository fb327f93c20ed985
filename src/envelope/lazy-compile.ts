/** Compiles Zod schemas that are used often. */
import * as z from "zod";

/**
 * Calls before a schema is compiled. Compiling the envelope's schema takes 10 ms, as long as parsing a
 * thousand envelopes without compiling.
 */
const USES = 10;

/**
 * Returns the same schema, which compiles itself at the tenth call of `safeParse`: a command that parses once
 * starts without compiling. Only `safeParse` gets faster.
 */
export function compileLazily<Schema extends z.ZodType>(schema: Schema): Schema {
  let uses = 0;
  let fastest = schema;
  const counting = schema.clone();
  counting.safeParse = (value, params) => {
    uses += 1;
    if (uses === USES) fastest = z.compile(schema);
    return fastest.safeParse(value, params);
  };
  return counting;
}
