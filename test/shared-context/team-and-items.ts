/** A team of four and the shared-context items that the tests have in common. */
import type { Agent, ContextInput, Hub } from "../../src/index.ts";

export const FIXTURES = {
  section: "constraints",
  key: "no-fixtures",
  rule: "Do not touch the test fixtures",
  why: "Mobile replays them",
} as const satisfies ContextInput;

export const DATABASE = {
  section: "decisions",
  key: "database",
  question: "Which database do we use?",
  choice: "PostgreSQL",
  reasons: ["The team knows it"],
  rejected: [{ option: "MongoDB", why: "No transactions when we looked" }],
} as const satisfies ContextInput;

export const NAMES = {
  section: "conventions",
  key: "names",
  rule: "Files are named after their verb",
} as const satisfies ContextInput;

export const BRANCH = {
  section: "project",
  key: "branch",
  content: "main, at 1a2b3c",
} as const satisfies ContextInput;

export async function teamOn(hub: Hub) {
  const lead = await hub.agent("lead", { role: "coordinator" });
  const keeper = await hub.agent("keeper", { role: "memory-keeper" });
  const coder = await hub.agent("coder", { role: "coder" });
  const tester = await hub.agent("tester", { role: "tester" });
  return { hub, lead, keeper, coder, tester };
}

export async function writeAll(agent: Agent, items: readonly ContextInput[]): Promise<void> {
  for (const item of items) await agent.context.set(item);
}

export const namesIn = (
  items: readonly { readonly section: string; readonly key: string }[],
): string[] => items.map(({ section, key }) => `${section}/${key}`);

export const convention = (key: string, rule = `Rule of ${key}`): ContextInput => ({
  section: "conventions",
  key,
  rule,
});
