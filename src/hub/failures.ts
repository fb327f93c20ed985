/** The door to failures: what waits for a decision, what would be decided, and deciding. */

import { decide } from "../coordination/failures/decide.ts";
import type { Decision, DecisionAnswer } from "../coordination/failures/decision.ts";
import {
  type FailuresQuery,
  type ListedFailure,
  listFailures,
  showFailure,
} from "../coordination/failures/list.ts";
import {
  dropRule,
  type FailureRule,
  type FailureRuleInfo,
  rules,
  setRule,
} from "../coordination/failures/rules.ts";
import type { Author } from "../memory/record.ts";
import { heard } from "../memory/redaction/secret-policy.ts";
import type { Workspace } from "../workspace/workspace.ts";
import type { Public } from "./public.ts";
import type { Work } from "./work.ts";

/** What everybody can see of it. */
class FailureBoard {
  protected readonly workspace: Workspace;

  constructor(workspace: Workspace) {
    this.workspace = workspace;
  }

  /** What waits for a decision, then what was decided; of a task, or only what waits. */
  list(query: FailuresQuery = {}): Promise<readonly ListedFailure[]> {
    return this.call(() => listFailures(this.workspace, query));
  }

  /** One failure, by the delivery that was given up or by that of its report. */
  show(delivery: string): Promise<ListedFailure> {
    return this.call(() => showFailure(this.workspace, delivery));
  }

  /** What is decided about which failures where nobody else decides. */
  rules(): Promise<FailureRuleInfo[]> {
    return this.call(() => rules(this.workspace));
  }

  protected call<T>(run: () => Promise<T>): Promise<T> {
    return run();
  }
}

/** What failed, for looking. */
export type HubFailures = Public<LocalHubFailures>;

/** As a hub has it: with the rules. */
export class LocalHubFailures extends FailureBoard {
  async setRule(name: string, rule: FailureRule): Promise<void> {
    await setRule(this.workspace, name, rule);
  }

  async dropRule(name: string): Promise<void> {
    await dropRule(this.workspace, name);
  }
}

/** What failed, for one agent. */
export type Failures = Public<LocalFailures>;

/** As an agent has it: who may decide, does. */
export class LocalFailures extends FailureBoard {
  readonly #self: Author;
  readonly #call: <T>(run: () => Promise<T>) => Promise<T>;

  constructor(workspace: Workspace, self: Author, call: <T>(run: () => Promise<T>) => Promise<T>) {
    super(workspace);
    this.#self = self;
    this.#call = call;
  }

  /**
   * Decides about a failure: by the delivery that was given up, by that of its report, or as the work of
   * whoever accepted the report. If somebody has decided already, that stands, and is told.
   */
  decide<T>(failure: string | Work<T>, decision: Decision): Promise<DecisionAnswer> {
    const author = this.#self;
    return this.call(async () => {
      const said = await heard(this.workspace, decision);
      if (typeof failure !== "object") return decide(this.workspace, { author }, failure, said);
      const settle = async (summary: string): Promise<void> => {
        await failure.complete({ summary });
      };
      return decide(this.workspace, { author, settle }, failure.id, said);
    });
  }

  protected override call<T>(run: () => Promise<T>): Promise<T> {
    return this.#call(run);
  }
}
