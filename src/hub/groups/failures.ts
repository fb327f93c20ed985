/**
 * `hub.failures` and `agent.failures`: deliveries that were given up, and decisions about what happens next.
 */
import type { Page } from "../../base/page.ts";
import { decide } from "../../coordination/failures/decide.ts";
import type { DecideResult, Decision } from "../../coordination/failures/decision.ts";
import {
  type FailuresQuery,
  type ListedFailure,
  listFailures,
  showFailure,
} from "../../coordination/failures/list.ts";
import {
  deleteRule,
  type FailureRule,
  type FailureRuleInfo,
  listRules,
  setRule,
} from "../../coordination/failures/rules.ts";
import type { Author } from "../../memory/record.ts";
import { redactSecrets } from "../../memory/redaction/secret-policy.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import type { Work } from "../work.ts";
import { type Call, plainCall } from "./call.ts";

interface Failures {
  /**
   * Returns failures that wait for a decision, then decided ones. Default limit: `limits.pageSize`. For the
   * next page, pass `next` as `after`.
   */
  list(query?: FailuresQuery): Promise<Page<ListedFailure>>;
  /**
   * Returns one failure, by the delivery that was given up or by the delivery of its report. Throws
   * `unknown_delivery`.
   */
  get(delivery: string): Promise<ListedFailure>;
  /** Returns the rules by which the hub decides when no coordinator does. */
  rules(): Promise<FailureRuleInfo[]>;
}

/** `hub.failures`: also sets the rules by which the hub decides. */
export interface HubFailures extends Failures {
  /** Creates or replaces a failure rule. */
  setRule(name: string, rule: FailureRule): Promise<void>;
  /** Deletes a failure rule. Does nothing if it does not exist. */
  deleteRule(name: string): Promise<void>;
}

/** `agent.failures`: also decides about failures. */
export interface AgentFailures extends Failures {
  /**
   * Decides about a failure: retry, reroute, ask or abort. Pass the delivery that was given up, the delivery
   * of its report, or the accepted work of the report. If it was decided before, that decision stands and is
   * returned with `kind: "already"`. Throws `not_permitted`, `unknown_delivery`, and `not_open` if the
   * delivery was not given up.
   */
  decide<T>(failure: string | Work<T>, decision: Decision): Promise<DecideResult>;
}

const failuresOf = (workspace: Workspace, call: Call): Failures => ({
  list: (query = {}) => call(() => listFailures(workspace, query)),
  get: (delivery) => call(() => showFailure(workspace, delivery)),
  rules: () => call(() => listRules(workspace)),
});

/** Returns `hub.failures` for a workspace. */
export const hubFailures = (workspace: Workspace): HubFailures => ({
  ...failuresOf(workspace, plainCall),
  async setRule(name, rule) {
    await setRule(workspace, name, rule);
  },
  async deleteRule(name) {
    await deleteRule(workspace, name);
  },
});

/** Returns `agent.failures` for a session. */
export const agentFailures = (workspace: Workspace, author: Author, call: Call): AgentFailures => ({
  ...failuresOf(workspace, call),
  decide: (failure, decision) =>
    call(async () => {
      const redacted = await redactSecrets(workspace, decision);
      if (typeof failure !== "object") return decide(workspace, { author }, failure, redacted);
      const settle = async (summary: string): Promise<void> => {
        await failure.complete({ summary });
      };
      return decide(workspace, { author, settle }, failure.id, redacted);
    }),
});
