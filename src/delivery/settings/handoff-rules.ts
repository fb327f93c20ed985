/**
 * Rules that every handoff of a workspace follows, in every process that sends: the allowed actions, and
 * whether a payload may have a type that is not registered.
 */
import * as z from "zod";
import { FORMAT_LIMITS } from "../../base/limits.ts";
import { Slug } from "../../envelope/schema.ts";
import { parseOrThrow } from "../../envelope/violations.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import {
  changeRegistry,
  type StoredRegistry,
  storedRegistry,
  UNREGISTERED_MODES,
} from "./registry.ts";

/** Input of `setHandoffRules()`; an omitted field keeps its value. */
export const HandoffRulesSchema = z.strictObject({
  actions: z
    .array(Slug)
    .max(FORMAT_LIMITS.listItems)
    .optional()
    .meta({ description: "The allowed actions; empty allows any" }),
  unregistered: z
    .enum(UNREGISTERED_MODES)
    .optional()
    .meta({ description: "What happens to a payload with a type that is not registered" }),
});

/** New handoff rules; an omitted field keeps its value. */
export type HandoffRulesInput = z.input<typeof HandoffRulesSchema>;

/** The handoff rules of a workspace. */
export interface HandoffRules {
  /** The allowed actions; empty allows any. */
  readonly actions: readonly string[];
  /** What happens to a payload with a type that is not registered; default: accept. */
  readonly unregistered: (typeof UNREGISTERED_MODES)[number];
}

const rulesOf = ({ actions = [], unregistered = "accept" }: StoredRegistry): HandoffRules => ({
  actions,
  unregistered,
});

/** Returns the current handoff rules. */
export async function readHandoffRules(workspace: Workspace): Promise<HandoffRules> {
  return rulesOf(await storedRegistry(workspace));
}

/** Changes the handoff rules and returns them; throws `invalid_input`. */
export async function setHandoffRules(
  workspace: Workspace,
  rules: HandoffRulesInput,
): Promise<HandoffRules> {
  const { actions, unregistered } = parseOrThrow(HandoffRulesSchema, rules, {
    code: "invalid_input",
    what: "The rules",
  });
  const changes = {
    ...(actions && { actions: [...new Set(actions)].sort() }),
    ...(unregistered && { unregistered }),
  };
  return rulesOf(await changeRegistry(workspace, (now) => ({ ...now, ...changes })));
}
