/** What the HTTP client needs of an operation: a row of table.ts. */
import type { Definition, Route } from "../operation.ts";

export interface OperationShape {
  readonly route: Route;
  readonly on: Definition["on"];
  /** Fields of the input that are positional arguments, in order. */
  readonly args?: readonly string[];
  /** The field of the answer that the method returns. */
  readonly field?: string;
  readonly progress?: true;
  /** True: the method takes options after its arguments. */
  readonly options?: true;
  /** True: the method returns nothing. */
  readonly nothing?: true;
}
