/** What failed, deciding about it, and the rules by which the hub does. */
import * as z from "zod";
import { BatonError } from "../../base/errors.ts";
import { FailuresQuerySchema } from "../../coordination/failures/list.ts";
import { DeliveryId, Name } from "../../envelope/schema.ts";
import type { Operations } from "../operation.ts";
import { requireReport } from "../own.ts";
import {
  DecisionAnswerForm,
  DecisionForm,
  FailureForm,
  FailureRuleForm,
  FailureRuleInfoForm,
} from "../schemas/failures.ts";
import { DONE, Done, Text } from "../schemas/plain.ts";

const ById = z.strictObject({
  id: DeliveryId.meta({ description: "The delivery that was given up, or that of its report" }),
});
const Named = z.strictObject({ name: Name });

export const failuresOperations = {
  listFailures: {
    summary: "Lists what waits for a decision, then what was decided; a page at a time.",
    access: "reader",
    input: FailuresQuerySchema,
    output: z.array(FailureForm),
    rest: true,
    run: async (acting, query) => (await acting.reader()).failures.list(query),
  },
  showFailure: {
    summary: "Shows one failure.",
    access: "reader",
    input: ById,
    output: FailureForm,
    run: async (acting, { id }) => (await acting.reader()).failures.show(id),
  },
  decideFailure: {
    summary: "Decides about a failure: for who has its report, or a coordinator.",
    access: "agent",
    input: ById.extend({
      decision: DecisionForm,
      handle: Text.optional().meta({
        description: "Of the report, where the caller has accepted it: that is completed too",
      }),
    }),
    output: DecisionAnswerForm,
    async run(acting, { id, decision, handle }) {
      const agent = await acting.agent();
      if (handle === undefined) {
        await requireReport(acting, id);
        return agent.failures.decide(id, decision);
      }
      const report = await agent.held(handle);
      if (report.id !== id && (await agent.failures.show(id)).report !== report.id) {
        throw anothersReport(id);
      }
      return agent.failures.decide(report, decision);
    },
  },
  failureRules: {
    summary: "Lists what is decided about which failures where nobody else decides.",
    access: "reader",
    input: z.strictObject({}),
    output: z.array(FailureRuleInfoForm),
    run: async (acting) => (await acting.reader()).failures.rules(),
  },
  setFailureRule: {
    summary: "Sets one rule by which the hub decides.",
    access: "coordinator",
    input: Named.extend({ rule: FailureRuleForm }),
    output: Done,
    async run({ hub }, { name, rule }) {
      await hub.failures.setRule(name, rule);
      return DONE;
    },
  },
  dropFailureRule: {
    summary: "Takes one rule away by which the hub decides.",
    access: "coordinator",
    input: Named,
    output: Done,
    async run({ hub }, { name }) {
      await hub.failures.dropRule(name);
      return DONE;
    },
  },
} satisfies Operations<
  | "listFailures"
  | "showFailure"
  | "decideFailure"
  | "failureRules"
  | "setFailureRule"
  | "dropFailureRule"
>;

const anothersReport = (id: string): BatonError =>
  new BatonError("invalid_input", {
    message: `The handle is not of the report about ${id}.`,
    path: "handle",
    hint: "Give the handle of that report, or decide without one.",
  });
