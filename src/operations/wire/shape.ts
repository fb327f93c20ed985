/** The part of an operation that the HTTP client needs: one row of table.ts. */
import type { Definition, Route } from "../operation.ts";

/** How the client calls an operation. */
export interface OperationShape {
  readonly route: Route;
  readonly on: Definition["on"];
  /** Fields of the input that are positional arguments, in order. */
  readonly args?: readonly string[];
  /** The field of the response that the method returns. */
  readonly field?: string;
  /** True: the method reports progress. */
  readonly progress?: true;
  /** True: the method takes options after its arguments. */
  readonly options?: true;
  /** True: the method returns nothing. */
  readonly nothing?: true;
}
