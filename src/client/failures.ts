/** What failed, over HTTP: as a hub shows it, and as an agent decides about it. */
import type { Decision, DecisionAnswer } from "../coordination/failures/decision.ts";
import type { FailuresQuery, ListedFailure } from "../coordination/failures/list.ts";
import type { FailureRule, FailureRuleInfo } from "../coordination/failures/rules.ts";
import type { PayloadTypes } from "../envelope/payload.ts";
import type { Failures, HubFailures } from "../hub/failures.ts";
import type { Work } from "../hub/work.ts";
import { withPayload } from "./payloads.ts";
import type { Wire } from "./wire.ts";
import { RemoteWork } from "./work.ts";

class RemoteFailureBoard {
  protected readonly wire: Wire;

  constructor(wire: Wire) {
    this.wire = wire;
  }

  list(query: FailuresQuery = {}): Promise<readonly ListedFailure[]> {
    return this.wire.call("listFailures", query);
  }

  show(delivery: string): Promise<ListedFailure> {
    return this.wire.call("showFailure", { id: delivery });
  }

  rules(): Promise<FailureRuleInfo[]> {
    return this.wire.call("failureRules", {});
  }
}

export class RemoteHubFailures extends RemoteFailureBoard implements HubFailures {
  async setRule(name: string, rule: FailureRule): Promise<void> {
    await this.wire.call("setFailureRule", { name, rule });
  }

  async dropRule(name: string): Promise<void> {
    await this.wire.call("dropFailureRule", { name });
  }
}

export class RemoteFailures extends RemoteFailureBoard implements Failures {
  readonly #payloads: PayloadTypes;

  constructor(wire: Wire, payloads: PayloadTypes) {
    super(wire);
    this.#payloads = payloads;
  }

  async decide<T>(failure: string | Work<T>, given: Decision): Promise<DecisionAnswer> {
    const decision = await this.#checked(given);
    if (typeof failure !== "object") {
      return this.wire.call("decideFailure", { id: failure, decision });
    }
    const { id, handle } = failure;
    const call = () => this.wire.call("decideFailure", { id, decision, handle });
    if (!(failure instanceof RemoteWork)) return call();
    // Who asks somebody else has not settled it, nor who came after somebody else.
    return failure.settledBy(call, ({ kind }) => kind === "decided");
  }

  async #checked(decision: Decision): Promise<Decision> {
    const changes = Object(decision).changes;
    if (changes === undefined) return decision;
    return { ...decision, changes: await withPayload(this.#payloads, changes) };
  }
}
