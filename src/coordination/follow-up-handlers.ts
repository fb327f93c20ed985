/**
 * The follow-up handlers that the hub passes to every workspace: what coordination does when deliveries fail,
 * end or wait. Delivery code calls them through the workspace, because coordination is in a layer above it.
 */
import type { FollowUpHandlers } from "../workspace/workspace.ts";
import { coordinate } from "./failures/coordinate.ts";
import type { CoordinateFunction } from "./failures/proposals.ts";
import { isCoordinated, reportFailure } from "./failures/report.ts";
import { openWaitingDelivery } from "./open-waiting-delivery.ts";
import { onDeliveryEnded } from "./tasks/auto-close.ts";
import { finishInterruptedTasks } from "./tasks/finish-interrupted-tasks.ts";

/**
 * Returns the handlers. `consult`: the hub's `coordinate` option, which decides about failures before the
 * rules do.
 */
export const createFollowUpHandlers = (consult?: CoordinateFunction): FollowUpHandlers => ({
  isCoordinated,
  report: reportFailure,
  coordinate: (workspace, delivery) => coordinate(workspace, delivery, consult),
  openWaiting: openWaitingDelivery,
  ended: onDeliveryEnded,
  tend: finishInterruptedTasks,
});
