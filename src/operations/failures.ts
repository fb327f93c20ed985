/** Operations on failures: list them, decide about them, and set the rules that decide automatically. */

import * as z from "zod";
import { BatonError } from "../base/errors.ts";
import { FailuresQuerySchema } from "../coordination/failures/list.ts";
import { DeliveryId, Name } from "../envelope/schema.ts";
import { operation } from "./operation.ts";
import { requireReportHolder } from "./rights/ownership.ts";
import { Done, pageForm, Text } from "./schemas/common.ts";
import {
  DecideResultForm,
  DecisionForm,
  FailureForm,
  FailureRuleForm,
  FailureRuleInfoForm,
} from "./schemas/failures.ts";

const ById = z.strictObject({
  id: DeliveryId.meta({
    description: "The delivery that was given up, or the delivery of its report",
  }),
});
const ByName = z.strictObject({ name: Name });

export const failuresOperations = {
  "failures.list": operation({
    summary: "Lists failures that wait for a decision, then decided ones, one page at a time.",
    route: "GET /v1/failures",
    access: "reader",
    on: "reader",
    input: FailuresQuerySchema,
    output: pageForm(FailureForm),
    rest: true,
  }),
  "failures.get": operation({
    summary: "Returns one failure.",
    route: "GET /v1/failures/:id",
    access: "reader",
    on: "reader",
    args: ["id"],
    input: ById,
    output: FailureForm,
  }),
  "failures.decide": operation({
    summary: "Decides about a failure. For the agent that has its report, or a coordinator.",
    route: "POST /v1/failures/:id/decide",
    access: "agent",
    on: "agent",
    args: ["id", "decision"],
    input: ById.extend({
      decision: DecisionForm,
      handle: Text.optional().meta({
        description:
          "The handle of the report, if the caller has accepted it; the report is completed too",
      }),
    }),
    output: DecideResultForm,
    async run(acting, { id, decision, handle }) {
      const agent = await acting.agent();
      if (handle === undefined) {
        await requireReportHolder(acting, id);
        return agent.failures.decide(id, decision);
      }
      const report = await agent.held(handle);
      if (report.id !== id && (await agent.failures.get(id)).report !== report.id) {
        throw handleOfOtherReport(id);
      }
      return agent.failures.decide(report, decision);
    },
  }),
  "failures.rules": operation({
    summary: "Lists the rules that decide about failures when no coordinator does.",
    route: "GET /v1/failure-rules",
    access: "reader",
    on: "reader",
    input: z.strictObject({}),
    output: z.array(FailureRuleInfoForm),
  }),
  "failures.setRule": operation({
    summary: "Sets one failure rule.",
    route: "PUT /v1/failure-rules/:name",
    access: "coordinator",
    on: "hub",
    args: ["name", "rule"],
    input: ByName.extend({ rule: FailureRuleForm }),
    output: Done,
  }),
  "failures.deleteRule": operation({
    summary: "Deletes one failure rule.",
    route: "DELETE /v1/failure-rules/:name",
    access: "coordinator",
    on: "hub",
    args: ["name"],
    input: ByName,
    output: Done,
  }),
};

const handleOfOtherReport = (id: string): BatonError =>
  new BatonError("invalid_input", {
    message: `handle does not belong to the report about failure ${id}.`,
    path: "handle",
    hint: "Pass the handle of that report, or omit handle.",
  });
