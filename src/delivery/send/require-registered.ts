/**
 * Enforces a workspace's registry on what is about to be sent: its action is allowed, its payload fits the
 * registered schema. Every interface and every process comes through here. Without a registry there is
 * nothing to check, and no query.
 */
import { isDeepStrictEqual } from "node:util";
import type { BatonError, Violation } from "../../base/errors.ts";
import { nearestNames } from "../../base/nearest-names.ts";
import {
  COMPLETED_ACTION,
  CONTEXT_CHANGE_TYPE,
  EDITED_ACTION,
  isResultType,
  PROPOSED_ACTION,
} from "../../envelope/built-in-actions.ts";
import { invalidPayload, PAYLOAD_DATA, type PayloadValue } from "../../envelope/payload-types.ts";
import type { Envelope } from "../../envelope/schema.ts";
import { rejection } from "../../envelope/violations.ts";
import { SYSTEM } from "../../memory/agents.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import { cachedRegistry, type Registry, schemaOf } from "../settings/registry.ts";
import type { Plan, Sender } from "./plan.ts";

/** Throws when a planned handoff breaks the workspace's registry. The hub's own handoffs always pass. */
export async function requireRegistered(
  workspace: Workspace,
  sender: Sender,
  { draft: { action, payload }, sending }: Pick<Plan, "draft" | "sending">,
): Promise<void> {
  if (sender.agent === SYSTEM) return;
  const registry = await cachedRegistry(workspace);
  if (registry === undefined) return;
  const isCompletion = sending.completes !== undefined;
  const isOwnAction = OWN_ACTIONS.includes(action) || (isCompletion && action === COMPLETED_ACTION);
  if (!isOwnAction) requireAction(registry, action);
  if (payload === undefined) return;
  const isOwnType = isCompletion && isResultType(payload.type);
  const violations = await payloadViolations(workspace, registry, payload, isOwnType);
  // What is passed on unchanged was checked when it was sent: a later version does not stop its line.
  const passedOn = sender.work?.envelope ?? sending.passesOn;
  if (violations.length === 0 || isSame(payload, passedOn)) return;
  throw invalidPayload(payload.type, violations);
}

const OWN_ACTIONS: readonly string[] = [EDITED_ACTION, PROPOSED_ACTION];

const isSame = (payload: PayloadValue, passedOn: Envelope | undefined): boolean =>
  isDeepStrictEqual(payload, passedOn?.payload);

/**
 * Returns a payload that takes the place of another, as the schema of this process makes it; throws when that
 * schema or the workspace's refuses it.
 */
export async function enforcePayload(
  workspace: Workspace,
  payload: PayloadValue,
): Promise<PayloadValue> {
  const parsed = await workspace.payloads.enforce(payload);
  const registry = await cachedRegistry(workspace);
  if (registry === undefined) return parsed;
  const violations = await payloadViolations(workspace, registry, parsed, false);
  if (violations.length > 0) throw invalidPayload(parsed.type, violations);
  return parsed;
}

/** Returns what is wrong with a value by the schemas of that name, this process's and the workspace's. */
export async function typeViolations(
  workspace: Workspace,
  type: string,
  value: unknown,
  path: string,
): Promise<readonly Violation[]> {
  const faults = await workspace.payloads.faults(type, value, path);
  const stored = (await cachedRegistry(workspace))?.types.get(type);
  if (stored === undefined || faults.length > 0) return faults;
  return (await schemaOf(workspace, type, stored)).check(value, path);
}

async function payloadViolations(
  workspace: Workspace,
  { types, unregistered }: Registry,
  { type, data }: PayloadValue,
  isOwnType: boolean,
): Promise<readonly Violation[]> {
  const stored = types.get(type);
  if (stored !== undefined) {
    const { check } = await schemaOf(workspace, type, stored);
    return check(data, PAYLOAD_DATA);
  }
  const isAccepted = unregistered === "accept" || type === CONTEXT_CHANGE_TYPE || isOwnType;
  return isAccepted ? [] : [notRegistered(type, [...types.keys()])];
}

function notRegistered(type: string, known: readonly string[]): Violation {
  const near = nearestNames(type, known);
  const named = (near.length > 0 ? near : known).map((each) => `"${each}"`).join(", ");
  return {
    path: "payload.type",
    rule: "unregistered_type",
    message: `payload.type: "${type}" is not registered, and this workspace refuses unregistered types`,
    hint: known.length === 0 ? "Register the type first." : `Use ${named}, or register the type.`,
  };
}

function requireAction({ actions }: Registry, action: string): void {
  if (actions.length === 0 || actions.includes(action)) return;
  throw refusedAction(action, actions);
}

function refusedAction(action: string, actions: readonly string[]): BatonError {
  const violation = {
    path: "action",
    rule: "one_of",
    message: `action: "${action}" is not allowed in this workspace`,
    hint: `Use one of: ${actions.join(", ")}.`,
  };
  return rejection("invalid_envelope", "The handoff", [violation]);
}
