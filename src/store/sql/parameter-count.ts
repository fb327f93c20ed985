/** Checks that parameters and placeholders match, with the same error texts on every engine. */
import type { QueryOutcome } from "../sql-query.ts";

type ParameterCountMismatch = Extract<QueryOutcome, { readonly kind: "miscounted" }>;

/** Returns why the query is refused, or undefined if every parameter has a placeholder and vice versa. */
export function refuseParameterCount(
  used: ReadonlySet<number>,
  params: number,
): ParameterCountMismatch | undefined {
  const unknown = [...used].find((number) => number < 1 || number > params);
  if (unknown !== undefined) {
    return {
      kind: "miscounted",
      reason: `it has a placeholder for parameter ${unknown}, but ${params} parameters were passed`,
      hint: "Pass one parameter for each placeholder: ? in order, or $1, $2, ….",
    };
  }
  const unused = Array.from({ length: params }, (_, i) => i + 1).find((each) => !used.has(each));
  if (unused === undefined) return undefined;
  return {
    kind: "miscounted",
    reason: `it has no placeholder for parameter ${unused}`,
    hint: "Write a ? (or $1, $2, …) for each parameter, outside of quotation marks.",
  };
}
