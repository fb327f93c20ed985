/**
 * Lists the possible receivers of a handoff: roles, channels and agents, in this order, each with the address
 * that `hand_off` takes. Roles come first, because in a large team a sender should address a role.
 */

import { clip } from "../base/clip.ts";
import { BatonError } from "../base/errors.ts";
import { receiverOf } from "../envelope/schema.ts";
import type { Agent } from "../hub/agent.ts";
import type { AgentInfo } from "../memory/agents.ts";
import { fenceAddress, fenceLine } from "../text/fence.ts";
import type { Connection } from "./tool.ts";

/** `unresponsive`: the circuit breaker of the receiver is open. */
export const RECEIVER_STATES = ["active", "paused", "disabled", "closed", "unresponsive"] as const;
type State = (typeof RECEIVER_STATES)[number];

/** One entry of the list. */
export interface ListedReceiver {
  /** The address to pass to `hand_off`. */
  readonly to: string;
  readonly state: State;
  /** The role of an agent; absent for roles and channels, and for an agent without one. */
  readonly role?: string;
  /** The context window of an agent, in tokens; absent if unknown. */
  readonly window?: number;
  /** The entry as one line of text for a model, with further facts. */
  readonly text: string;
}

const MAX_DESCRIPTION_LENGTH = 200;
const NAMED_AGENTS = 5;

/** Returns every receiver; with `role` only the agents in that role. */
export async function receiversOf(
  { agent, hub }: Connection,
  role?: string,
): Promise<ListedReceiver[]> {
  const [agents, channels, breakers] = await Promise.all([
    hub.agents.list(),
    hub.channels.list(),
    hub.agents.breakers(),
  ]);
  const open = new Set(
    breakers.flatMap(({ receiver, state }) => (state === "open" ? receiver : [])),
  );
  const stateOf = (to: string, state: State): State =>
    state === "active" && open.has(to) ? "unresponsive" : state;
  const listed = agents
    .filter((each) => role === undefined || each.role === role)
    .toSorted((a, b) => compare(a.id, b.id))
    .map((info) => agentLine(info, stateOf(info.id, info.status), agent));
  if (role !== undefined) return listed;
  const roles = Map.groupBy(agents, (each) => each.role);
  return [
    ...[...roles]
      .flatMap(([name, members]) => (name === undefined ? [] : [roleLine(name, members, stateOf)]))
      .toSorted((a, b) => compare(a.to, b.to)),
    ...channels
      .map(({ name, state }) => addressLine(`channel:${name}`, state === "open" ? "active" : state))
      .toSorted((a, b) => compare(a.to, b.to)),
    ...listed,
  ];
}

/** Compares by code unit, so that the order is the same on every machine. */
const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

function roleLine(
  role: string,
  members: readonly AgentInfo[],
  stateOf: (to: string, state: State) => State,
): ListedReceiver {
  const to = `role:${role}`;
  const isTakingWork = members.some(({ status }) => status === "active");
  const names = members.slice(0, NAMED_AGENTS).map(({ id }) => id);
  const more = members.length - names.length;
  const rest = more === 0 ? "" : ` and ${more} more`;
  const state = stateOf(to, isTakingWork ? "active" : "paused");
  return addressLine(to, state, `: one of ${names.join(", ")}${rest}`);
}

function addressLine(to: string, state: State, about = ""): ListedReceiver {
  return { to, state, text: `- ${fenceAddress(to)}, ${state}${about}` };
}

function agentLine(info: AgentInfo, state: State, { id: caller }: Agent): ListedReceiver {
  const { id, role, window, kind, aliases, model, description = "" } = info;
  const facts = [
    ...(id === caller ? ["you"] : []),
    ...(kind === "person" ? ["a person"] : []),
    ...(role === undefined ? [] : [`role ${fenceLine(role)}`]),
    state,
    ...(model === undefined ? [] : [`model ${fenceLine(clip(model, MAX_DESCRIPTION_LENGTH))}`]),
    ...(window === undefined ? [] : [`window ${window} tokens`]),
    ...(aliases.length === 0 ? [] : [`also ${aliases.slice(0, NAMED_AGENTS).join(", ")}`]),
  ];
  const about =
    description === "" ? "" : `: ${fenceLine(clip(description, MAX_DESCRIPTION_LENGTH))}`;
  return {
    to: id,
    state,
    ...(role === undefined ? {} : { role }),
    ...(window === undefined ? {} : { window }),
    text: `- ${id}, ${facts.join(", ")}${about}`,
  };
}

/** Returns the entries after an address, even if that address is no longer listed. */
export function receiversAfter(
  receivers: readonly ListedReceiver[],
  cursor: string | undefined,
): ListedReceiver[] {
  if (cursor === undefined) return [...receivers];
  const place = sortKeyOf(cursor);
  if (place === undefined) throw invalidCursor(cursor);
  return receivers.filter(({ to }) => compare(sortKeyOf(to) ?? "", place) > 0);
}

const KINDS = ["role", "channel", "agent"] as const;

/** Returns the sort key of an address, by kind and then by name; undefined if the address is invalid. */
function sortKeyOf(address: string): string | undefined {
  const receiver = receiverOf(address);
  return receiver === undefined ? undefined : `${KINDS.indexOf(receiver.kind)}${address}`;
}

const invalidCursor = (cursor: string): BatonError =>
  new BatonError("invalid_input", {
    message: `Invalid cursor "${clip(cursor, MAX_DESCRIPTION_LENGTH)}".`,
    path: "after",
    hint: "Pass next of the previous page as after, or omit after for the first page.",
  });
