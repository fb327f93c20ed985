/** Formats the handoff rules as text for a model: payload types with their schemas, and actions. */

import type { HandoffRules } from "../delivery/settings/handoff-rules.ts";
import type { PayloadTypeInfo } from "../delivery/settings/payload-types.ts";
import type { Hub } from "../hub/hub.ts";
import { fenceLine, quoteText } from "../text/fence.ts";

const UNREGISTERED: Readonly<Record<HandoffRules["unregistered"], string>> = {
  accept: "accepted",
  refuse: "refused",
};

/** Reads the handoff rules of the workspace and returns them as text. */
export async function rulesText(hub: Hub): Promise<string> {
  const [types, rules] = await Promise.all([
    hub.payloadTypes.list(),
    hub.settings.get().then((settings) => settings.handoffs),
  ]);
  return formatRules(types, rules);
}

/** Returns payload types and rules as text. */
export function formatRules(
  types: readonly PayloadTypeInfo[],
  { actions, unregistered }: HandoffRules,
): string {
  return [
    actions.length === 0 ? "Actions: any." : `Actions: ${actions.join(", ")}. Others are refused.`,
    types.length === 0 ? "Payload types: none registered." : "Payload types:",
    ...types.map(typeText),
    `Payloads of unregistered types are ${UNREGISTERED[unregistered]}.`,
  ].join("\n");
}

const typeText = ({ name, version, schema }: PayloadTypeInfo): string =>
  `- ${fenceLine(name)}, version ${version}: ${quoteText(JSON.stringify(schema))}`;
