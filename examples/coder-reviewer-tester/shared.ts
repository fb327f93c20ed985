/**
 * The shared context of the team, which only the coordinator writes: project facts, decisions with
 * reasons, constraints and conventions. Other agents propose changes.
 */
import type { Agent, ContextInput } from "batonpass";

export const SHARED = [
  { section: "project", key: "branch", content: "users-api, from main" },
  { section: "project", key: "files", content: "At first package.json, and nothing else" },
  {
    section: "decisions",
    key: "api-style",
    question: "REST or GraphQL?",
    choice: "REST",
    reasons: ["One resource, read by id: a query language has nothing to add"],
    rejected: [{ option: "GraphQL", why: "A schema and a server to keep, for one look-up" }],
  },
  {
    section: "constraints",
    key: "no-dependencies",
    level: "must",
    rule: "No packages: what Node.js has is enough",
    why: "Each package is one more to keep patched",
  },
  {
    section: "conventions",
    key: "json-only",
    rule: "Every answer is JSON, with its content type",
    roles: ["coder", "reviewer"],
  },
] as const satisfies readonly ContextInput[];

/** The reviewer proposes this when it has found an error response without a body. */
export const PROPOSED = {
  section: "conventions",
  key: "error-body",
  rule: 'An error is answered with its status and a body: { "error": "why" }',
  why: "A caller cannot interpret 200 without a body",
} as const satisfies ContextInput;

/** Adds missing items; a second run on the same store keeps the existing ones. */
export async function writeShared(coordinator: Agent): Promise<void> {
  const { items } = await coordinator.context.text();
  const known = new Set(items.map(({ section, key }) => `${section}/${key}`));
  for (const item of SHARED) {
    if (!known.has(`${item.section}/${item.key}`)) await coordinator.context.set(item);
  }
}
