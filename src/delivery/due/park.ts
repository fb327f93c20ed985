/**
 * Giving a delivery up where somebody decides about that: they are told first, then it is parked. So a
 * crash in between loses nothing (it is due still, and telling again is the same report), and nothing
 * is parked that nobody hears of.
 */
import { canonicalJson } from "../../base/canonical.ts";
import { SYSTEM } from "../../memory/agents.ts";
import { parseEnvelope } from "../../store/parse-envelope.ts";
import type { Claimed } from "../../store/store.ts";
import { followUp } from "../../workspace/follow-up.ts";
import type { GivenUp, Workspace } from "../../workspace/workspace.ts";
import { tooLong } from "../settings/line-path.ts";
import { moveDeliveries, seen } from "./moves.ts";

/** Parks it; false when it had changed meanwhile: then the report is taken back. */
export async function parkReported(
  workspace: Workspace,
  due: Claimed,
  ended: GivenUp,
  park: () => Promise<boolean>,
): Promise<boolean> {
  const { duties } = workspace;
  const envelope = parseEnvelope(workspace, due.envelope);
  if (!(await duties.isCoordinated(workspace, envelope))) return park();
  const report = await duties.report(workspace, due, ended);
  const isParked = await park();
  await followUp(`coordinate ${report}`, () => duties.coordinate(workspace, report));
  return isParked;
}

/** Parks one that waits for others before anybody could try: it will never open. `reason` as JSON. */
export async function parkStopped(
  workspace: Workspace,
  due: Claimed,
  reason: string,
): Promise<void> {
  const { delivery } = due;
  const ends = { outcome: "stopped", reason } as const;
  const move = { delivery: delivery.id, seen: seen(delivery), to: "dead", event: "dead" } as const;
  await parkReported(workspace, due, { attempt: delivery.attempt + 1, ends }, async () => {
    const moves = [{ ...move, ends }];
    return (await moveDeliveries(workspace, { agent: SYSTEM, moves })) !== undefined;
  });
}

/** A line that is longer than it may be: parked before anybody could try. */
export async function parkTooLong(workspace: Workspace, due: Claimed): Promise<void> {
  const reason = tooLong(parseEnvelope(workspace, due.envelope), workspace.limits.hops);
  await parkStopped(workspace, due, canonicalJson(reason, "invalid_input"));
}
