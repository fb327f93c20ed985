/**
 * Enforces the workspace's registry on a planned handoff: its action is allowed, and its payload matches the
 * registered schema. Every interface and every process passes through here. Without a registry nothing is
 * checked and no query is made.
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
import { SYSTEM } from "../../memory/system-author.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import { cachedRegistry, type Registry, schemaOf } from "../settings/registry.ts";
import type { Plan, Sender } from "./plan.ts";

/**
 * Throws `invalid_envelope` or `invalid_payload` if a planned handoff violates the registry. Handoffs sent by
 * the hub itself always pass.
 */
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
  // A payload passed on unchanged was checked when it was first sent: a later version must not stop its line.
  const passedOn = sender.work?.envelope ?? sending.passesOn;
  if (violations.length === 0 || isSame(payload, passedOn)) return;
  throw invalidPayload(payload.type, violations);
}

const OWN_ACTIONS: readonly string[] = [EDITED_ACTION, PROPOSED_ACTION];

const isSame = (payload: PayloadValue, passedOn: Envelope | undefined): boolean =>
  isDeepStrictEqual(payload, passedOn?.payload);

/**
 * Checks a payload that replaces another, and returns it as parsed by the schema of this process. Throws
 * `invalid_payload` if that schema or the workspace's refuses it.
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

/**
 * Returns the violations of a value against the schemas of that type, of this process and of the workspace.
 */
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
