/**
 * What coordination does about deliveries: the hub gives it to every workspace, so that those who settle
 * deliveries and carry out policies need not know who decides about failures, or what a task waits for.
 */
import type { Duties } from "../workspace/workspace.ts";
import { coordinate } from "./failures/coordinate.ts";
import type { CoordinateFunction } from "./failures/proposals.ts";
import { isCoordinated, report } from "./failures/report.ts";
import { openWaiting } from "./open-waiting.ts";
import { ended } from "./tasks/ended.ts";
import { tend } from "./tasks/tend.ts";

/** With the function that decides about failures before the rules do, where the hub has one. */
export const dutiesWith = (consult?: CoordinateFunction): Duties => ({
  isCoordinated,
  report,
  coordinate: (workspace, told) => coordinate(workspace, told, consult),
  openWaiting,
  ended,
  tend,
});
