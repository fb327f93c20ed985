/**
 * Handles secrets in input before it is stored, hashed or sent, according to the secret policy: "redact"
 * replaces the value by its kind, "refuse" rejects the call, "allow" does nothing.
 *
 * A hub is opened with a policy, and a workspace can have one for all hubs; the stricter one applies. The
 * workspace's policy is read only if a secret was found, so a change applies from the next call on and costs
 * nothing otherwise. Detection is pure: the same input is redacted to the same text, so that idempotency keys
 * and ids of a retry still match.
 */

import * as z from "zod";
import { assertNever, BatonError } from "../../base/errors.ts";
import { checkLimit, type LimitName, type Limits } from "../../base/limits.ts";
import type { DetectedSecret, MaskedValue } from "../../envelope/mask-secrets.ts";
import { parseOrThrow } from "../../envelope/violations.ts";
import { parseText } from "../../store/rows.ts";
import { ANONYMOUS_READER } from "../../store/visibility.ts";
import { SECRET_MODES, type SecretMode, type Workspace } from "../../workspace/workspace.ts";
import { changeSetting } from "../audit/change-setting.ts";
import { findAllowedTexts } from "./allowed-texts.ts";
import { jsonSizeAtLeast } from "./json-size.ts";
import { MAX_INLINE_SIZE, scanForSecrets } from "./scan.ts";

const SETTING = { kind: "setting", name: "secrets" } as const;

/** Input schema of the policy. */
export const SecretModeSchema = z.enum(SECRET_MODES);

/** Returns the policy in effect: the stricter of the hub's and the workspace's. Default: "redact". */
export async function secretPolicy(workspace: Workspace): Promise<SecretMode> {
  const { store, name, secrets } = workspace;
  const entry = await store.findEntry(name, SETTING.kind, SETTING.name);
  const kept =
    entry && parseText<{ readonly mode: SecretMode }>({ id: "secrets", text: entry.value }).mode;
  const modes = [secrets, kept].filter((mode) => mode !== undefined);
  return SECRET_MODES.findLast((mode) => modes.includes(mode)) ?? "redact";
}

/** Sets the workspace's policy and returns the policy in effect for this hub. */
export async function setSecretPolicy(workspace: Workspace, mode: SecretMode): Promise<SecretMode> {
  const how = { code: "invalid_input", what: "The rule", prefix: "mode" } as const;
  const checked = parseOrThrow(SecretModeSchema, mode, how);
  await changeSetting(workspace, SETTING, () => ({ value: { mode: checked } }));
  return secretPolicy(workspace);
}

/** Pending searches and policy reads of each caller. Its later input waits for them, so writes keep their order. */
const pendingDecisions = new WeakMap<object, Promise<unknown>>();

/** Calls of agents wait for their own only; calls of the hub itself have no other reader. */
const callerOf = ({ reader, root }: Workspace): object =>
  reader === ANONYMOUS_READER ? root : reader;

/**
 * Calls `go` with the input without secrets, and with the secrets found. A small input without secrets is
 * passed on in the same turn, so that a hub closed right afterwards still stores it. Throws `limit_exceeded`
 * before anything is searched, and `secret_found` if the policy is "refuse".
 *
 * The default bound is that of envelopes or of memories, whichever is larger.
 */
export function runWithoutSecrets<Said, Answer>(
  workspace: Workspace,
  said: Said,
  go: (said: Said, secrets: readonly DetectedSecret[]) => Promise<Answer>,
  bound: InputBound = largestRecordBound(workspace.limits),
): Promise<Answer> {
  try {
    return runSearched(workspace, { said, size: checkSize(workspace.limits, bound, said) }, go);
  } catch (error) {
    return Promise.reject(error);
  }
}

/** The limit that an input must fit into, and the path that the error names. Default: the input itself. */
export interface InputBound {
  readonly limit: LimitName;
  readonly path?: string;
}

const largestRecordBound = ({ envelopeBytes, memoryBytes }: Limits): InputBound => ({
  limit: memoryBytes > envelopeBytes ? "memoryBytes" : "envelopeBytes",
});

interface SizedInput<Said> {
  readonly said: Said;
  /** A lower bound, in bytes. */
  readonly size: number;
}

function runSearched<Said, Answer>(
  workspace: Workspace,
  { said, size }: SizedInput<Said>,
  go: (said: Said, secrets: readonly DetectedSecret[]) => Promise<Answer>,
): Promise<Answer> {
  const masked = scanForSecrets(said, size);
  const caller = callerOf(workspace);
  const before = pendingDecisions.get(caller);
  if (!(masked instanceof Promise) && masked.secrets.length === 0) {
    return before === undefined ? go(said, []) : before.then(() => go(said, []));
  }
  const turn = Promise.allSettled([before, applyPolicy(workspace, { said, size }, masked)]);
  pendingDecisions.set(caller, turn);
  // Runs as soon as the decision is known, before the calls that wait for this turn.
  const answer = turn.then(([, decided]) => {
    if (decided.status === "rejected") throw decided.reason;
    return go(decided.value.value, decided.value.secrets);
  });
  void turn.then(() => {
    if (pendingDecisions.get(caller) === turn) pendingDecisions.delete(caller);
  });
  return answer;
}

/** Returns what is stored of an input. Throws `secret_found` if the policy is "refuse". */
async function applyPolicy<Said>(
  workspace: Workspace,
  input: SizedInput<Said>,
  searched: MaskedValue<Said> | Promise<MaskedValue<Said>>,
): Promise<MaskedValue<Said>> {
  const masked = await searched;
  if (masked.secrets.length === 0) return masked;
  const mode = await secretPolicy(workspace);
  switch (mode) {
    case "allow":
      return { value: input.said, secrets: [], ambiguous: [] };
    case "redact":
      return maskUndeclared(workspace, input, masked);
    case "refuse": {
      const left = await maskUndeclared(workspace, input, masked);
      if (left.secrets.length > 0) throw secretFoundError(left.secrets);
      return left;
    }
    default:
      return assertNever(mode);
  }
}

/** Returns the input with what was declared harmless as it was written. */
async function maskUndeclared<Said>(
  workspace: Workspace,
  { said, size }: SizedInput<Said>,
  masked: MaskedValue<Said>,
): Promise<MaskedValue<Said>> {
  if (masked.ambiguous.length === 0) return masked;
  const allowed = await findAllowedTexts(workspace, masked.ambiguous);
  return allowed.size === 0 ? masked : scanForSecrets(said, size, allowed);
}

/** Returns the size of an input, at least. Throws `limit_exceeded` if that alone is too much. */
function checkSize(limits: Limits, { limit, path = "" }: InputBound, said: unknown): number {
  const actual = jsonSizeAtLeast(said, limits[limit]);
  checkLimit(limits, limit, { actual, path });
  return actual;
}

/** Returns the input without secrets, always a turn later. Throws `secret_found` for policy "refuse". */
export const redactSecrets = <Said>(
  workspace: Workspace,
  said: Said,
  bound?: InputBound,
): Promise<Said> => runWithoutSecrets(workspace, said, async (clean) => clean, bound);

/**
 * Like redactSecrets(), for what already happened and cannot be refused: then "refuse" redacts, and no limit
 * applies.
 */
export async function redactSecretsAfterwards<Said>(
  workspace: Workspace,
  said: Said,
): Promise<Said> {
  const size = jsonSizeAtLeast(said, MAX_INLINE_SIZE);
  const masked = await scanForSecrets(said, size);
  if (masked.secrets.length === 0) return said;
  if ((await secretPolicy(workspace)) === "allow") return said;
  return (await maskUndeclared(workspace, { said, size }, masked)).value;
}

/** The result of a call, and the secrets removed from its input; absent if none. */
export type WithSecrets<T> = T & { readonly secrets?: readonly DetectedSecret[] };

/** Like runWithoutSecrets() for a list, with secrets and bound per item. A single item has no index. */
export function runEachWithoutSecrets<Said, Answer extends object>(
  workspace: Workspace,
  inputs: readonly Said[],
  go: (said: readonly Said[]) => Promise<readonly Answer[]>,
  bound: InputBound,
): Promise<WithSecrets<Answer>[]> {
  if (Array.isArray(inputs) && inputs.length === 1) {
    const goAlone = async (one: Said, secrets: readonly DetectedSecret[]) =>
      (await go([one])).map((answer) => withSecrets(answer, secrets));
    return runWithoutSecrets(workspace, inputs[0] as Said, goAlone, bound);
  }
  try {
    const items: readonly unknown[] = Array.isArray(inputs) ? inputs : [inputs];
    const size = items.reduce<number>(
      (sum, item, i) => sum + checkSize(workspace.limits, { ...bound, path: `[${i}]` }, item),
      0,
    );
    return runSearched(workspace, { said: inputs, size }, async (all, secrets) =>
      (await go(all)).map((answer, i) => withSecrets(answer, ofItem(secrets, i))),
    );
  } catch (error) {
    return Promise.reject(error);
  }
}

function ofItem(secrets: readonly DetectedSecret[], i: number): DetectedSecret[] {
  const item = `[${i}]`;
  return secrets
    .filter(({ path }) => path.startsWith(item))
    .map(({ kind, path }) => ({ kind, path: path.slice(item.length + 1) }));
}

/** Adds `secrets` to a result, if there are any. */
export const withSecrets = <T extends object>(
  answer: T,
  secrets: readonly DetectedSecret[],
): WithSecrets<T> => (secrets.length === 0 ? answer : { ...answer, secrets });

/** Builds `secret_found`, with one violation per secret. Never contains the secret. */
export function secretFoundError(secrets: readonly DetectedSecret[]): BatonError {
  const hint =
    "Remove it and reference where it is stored (a vault, a variable); if it is real, rotate it.";
  const violations = secrets.map(({ kind, path }) => ({
    path,
    rule: "secret",
    message: `${path === "" ? "The input" : path}: looks like a secret (${kind}).`,
    hint,
  }));
  const [first] = violations;
  return new BatonError("secret_found", {
    message: `${first?.message ?? ""} Nothing was stored.`,
    hint,
    violations,
    details: { secrets },
  });
}
