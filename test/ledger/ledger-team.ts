/** A team of four and the first handoff that the ledger tests have in common. */
import type { Agent, Envelope, Hub, Work } from "../../src/index.ts";
import { take } from "../support/hub/support.ts";

export const INTENT = "Refactor auth without breaking mobile logins";

export const FIXTURES = {
  id: "no-fixtures",
  rule: "Do not touch the test fixtures",
  level: "must" as const,
};

export const CACHE = {
  id: "which-cache",
  question: "Which cache keeps the sessions?",
  options: ["Redis", "Memcached"],
};

export const BEGIN = {
  to: "coder",
  task: "auth",
  intent: INTENT,
  constraints: [FIXTURES, { rule: "Keep functions short", level: "should" as const }],
  decisions: [CACHE],
};

export const idsOf = (items: readonly { readonly id: string }[]): string[] =>
  items.map(({ id }) => id);

export const musts = ({ constraints }: Envelope): string[] =>
  constraints.filter(({ level }) => level === "must").map(({ rule }) => rule);

export async function teamOn(hub: Hub) {
  const planner = await hub.agent("planner", { role: "planner" });
  const coder = await hub.agent("coder", { role: "coder" });
  const tester = await hub.agent("tester", { role: "tester" });
  const reviewer = await hub.agent("reviewer", { role: "reviewer" });
  return { hub, planner, coder, tester, reviewer };
}

/** Accepts the next work of one agent and hands it on to another; returns the new envelope. */
export async function pass(
  from: Agent,
  to: Agent,
  draft: Omit<Parameters<Work["handoff"]>[0], "to"> = {},
): Promise<Envelope> {
  const sent = await (await take(from)).handoff({ to: to.id, ...draft });
  return sent.envelope as Envelope;
}
