/** Renders the primer of a delivery at any time, even long after it was settled. */
import { primerOf } from "../../context/view/primer.ts";
import { backgroundOf } from "../../history/background.ts";
import { unknownDelivery } from "../../history/unknown-delivery.ts";
import { parseEnvelope } from "../../store/parse-envelope.ts";
import { drawBoundary } from "../../text/fence.ts";
import type { Workspace } from "../../workspace/workspace.ts";

/** Returns the primer for the agent that holds the delivery, held it last, or will get it. */
export async function primerFor(workspace: Workspace, id: string): Promise<string> {
  const { store, name } = workspace;
  const found = await store.findDelivery(name, id);
  if (found === undefined) throw unknownDelivery(id);
  const { holder, receiver } = found.delivery;
  const agent = await store.findAgent(name, holder === "" ? receiver : holder);
  const who = agent === undefined ? receiver : agent.id; // A role's inbox has no agent yet.
  const background = await backgroundOf(workspace, found);
  const reader = { agent: who, role: agent?.role || undefined };
  return primerOf(parseEnvelope(workspace, found.envelope), {
    receiver: reader,
    background,
    boundary: drawBoundary(workspace.ids),
  });
}
