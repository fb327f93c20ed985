/** Every operation of the HTTP hub, by the name of its call. */
import type { CallName } from "../wire/calls.ts";
import type { Operations } from "./operation.ts";
import { agentsOperations } from "./operations/agents.ts";
import { branchesOperations } from "./operations/branches.ts";
import { channelsOperations } from "./operations/channels.ts";
import { contextOperations } from "./operations/context.ts";
import { deliveriesOperations } from "./operations/deliveries.ts";
import { failuresOperations } from "./operations/failures.ts";
import { handoffsOperations } from "./operations/handoffs.ts";
import { keepingOperations } from "./operations/keeping.ts";
import { memoriesOperations } from "./operations/memories.ts";
import { receivingOperations } from "./operations/receiving.ts";
import { settingsOperations } from "./operations/settings.ts";
import { tasksOperations } from "./operations/tasks.ts";
import { tracesOperations } from "./operations/traces.ts";
import { workingOperations } from "./operations/working.ts";

export const OPERATIONS: Operations<CallName> = {
  ...agentsOperations,
  ...memoriesOperations,
  ...tracesOperations,
  ...branchesOperations,
  ...handoffsOperations,
  ...deliveriesOperations,
  ...receivingOperations,
  ...workingOperations,
  ...channelsOperations,
  ...tasksOperations,
  ...contextOperations,
  ...failuresOperations,
  ...settingsOperations,
  ...keepingOperations,
};
