/** Decides about a failure over HTTP: by its id, or by the accepted work of its report. */
import type { DecideResult, Decision } from "../coordination/failures/decision.ts";
import type { PayloadTypes } from "../envelope/payload-types.ts";
import type { Work } from "../hub/work.ts";
import type { Wire } from "./connection/wire.ts";
import { withParsedPayload } from "./payloads.ts";
import { RemoteWork } from "./work.ts";

interface DecisionContext {
  readonly wire: Wire;
  readonly payloads: PayloadTypes;
}

/** Sends the decision; a decision by work also settles that work. */
export async function decideWith<T>(
  { wire, payloads }: DecisionContext,
  failure: string | Work<T>,
  given: Decision,
): Promise<DecideResult> {
  const changes = Object(given).changes;
  const decision =
    changes === undefined
      ? given
      : { ...given, changes: await withParsedPayload(payloads, changes) };
  if (typeof failure !== "object") {
    return wire.call("failures.decide", { id: failure, decision });
  }
  const { id, handle } = failure;
  const call = () => wire.call<DecideResult>("failures.decide", { id, decision, handle });
  if (!(failure instanceof RemoteWork)) return call();
  // A decision that another agent made earlier, or that asks a person, does not settle this work.
  return failure.settledBy(call, ({ kind }) => kind === "decided");
}
