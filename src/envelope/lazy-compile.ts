/** Compiles schemas that are used often. */
import * as z from "zod";

/** Compiling the envelope's schema takes 10 ms, as long as parsing a thousand envelopes without it. */
const USES = 10;

/**
 * Returns the same schema, compiled after ten calls of `safeParse`: a command that parses once starts without
 * compiling. Only `safeParse` gets faster.
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
