/** Schemas that parse a lot. */
import * as z from "zod";

/** Compiling the envelope's schema takes 10 ms, as long as parsing some thousand envelopes. */
const USES = 10;

/**
 * The same schema, compiled once `safeParse` has been called a few times: a process that parses once, as most
 * commands do, starts without waiting for it. For `safeParse` only.
 */
export function compiledInUse<Schema extends z.ZodType>(schema: Schema): Schema {
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
