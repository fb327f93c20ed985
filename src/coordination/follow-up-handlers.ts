/**
 * What coordination does about deliveries: the hub gives it to every workspace, so that those who settle
 * deliveries and carry out policies need not know who decides about failures, or what a task waits for.
 */
import type { FollowUpHandlers } from "../workspace/workspace.ts";
import { coordinate } from "./failures/coordinate.ts";
import type { CoordinateFunction } from "./failures/proposals.ts";
import { isCoordinated, reportFailure } from "./failures/report.ts";
import { openWaitingDelivery } from "./open-waiting-delivery.ts";
import { onDeliveryEnded } from "./tasks/auto-close.ts";
import { finishInterruptedTasks } from "./tasks/finish-interrupted-tasks.ts";

/** With the function that decides about failures before the rules do, where the hub has one. */
export const createFollowUpHandlers = (consult?: CoordinateFunction): FollowUpHandlers => ({
  isCoordinated,
  report: reportFailure,
  coordinate: (workspace, told) => coordinate(workspace, told, consult),
  openWaiting: openWaitingDelivery,
  ended: onDeliveryEnded,
  tend: finishInterruptedTasks,
});
