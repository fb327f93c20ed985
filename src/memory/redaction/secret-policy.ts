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
import { type DetectedSecret, maskSecrets } from "../../envelope/mask-secrets.ts";
import { parseOrThrow } from "../../envelope/violations.ts";
import { parseText } from "../../store/rows.ts";
import { changeEntry } from "../../workspace/entries.ts";
import { SECRET_MODES, type SecretMode, type Workspace } from "../../workspace/workspace.ts";

const SETTING = { kind: "setting", name: "secrets" } as const;

/** Input schema of the policy. */
export const SecretModeSchema = z.enum(SECRET_MODES);

/** Returns the policy in effect: the stricter of the hub's and the workspace's. Default: "redact". */
export async function secretPolicy(workspace: Workspace): Promise<SecretMode> {
  const { store, name, secrets } = workspace;
  const entry = await store.findEntry(name, SETTING.kind, SETTING.name);
  const kept =
    entry && parseText<{ readonly mode: SecretMode }>({ id: "secrets", text: entry.value }).mode;
  const said = [secrets, kept].filter((mode) => mode !== undefined);
  return SECRET_MODES.findLast((mode) => said.includes(mode)) ?? "redact";
}

/** Sets the workspace's policy and returns the policy in effect for this hub. */
export async function setSecretPolicy(workspace: Workspace, mode: SecretMode): Promise<SecretMode> {
  const how = { code: "invalid_input", what: "The rule", prefix: "mode" } as const;
  const checked = parseOrThrow(SecretModeSchema, mode, how);
  await changeEntry(workspace, SETTING, () => ({ value: { mode: checked } }));
  return secretPolicy(workspace);
}

/** Pending policy reads, by the workspace's root. Later input waits for them, so writes keep their order. */
const pendingDecisions = new WeakMap<object, Promise<unknown>>();

/**
 * Calls `go` with the input without secrets, and with the secrets found. Without secrets it is called in the
 * same turn, so that a hub closed right afterwards still stores the input. Throws `secret_found` if the
 * policy is "refuse".
 */
export function runWithoutSecrets<Said, Answer>(
  workspace: Workspace,
  said: Said,
  go: (said: Said, secrets: readonly DetectedSecret[]) => Promise<Answer>,
): Promise<Answer> {
  const { value, secrets } = maskSecrets(said);
  const before = pendingDecisions.get(workspace.root);
  if (secrets.length === 0) {
    return before === undefined ? go(said, secrets) : before.then(() => go(said, secrets));
  }
  const policy = secretPolicy(workspace);
  const turn = Promise.allSettled([before, policy]);
  pendingDecisions.set(workspace.root, turn);
  // Runs as soon as the policy is known, before the calls that wait for this turn.
  const answer = turn.then(([, known]) => {
    if (known.status === "rejected") throw known.reason;
    const mode = known.value;
    switch (mode) {
      case "allow":
        return go(said, []);
      case "redact":
        return go(value, secrets);
      case "refuse":
        throw secretFoundError(secrets);
      default:
        return assertNever(mode);
    }
  });
  void turn.then(() => {
    if (pendingDecisions.get(workspace.root) === turn) pendingDecisions.delete(workspace.root);
  });
  return answer;
}

/** Returns the input without secrets, always a turn later. Throws `secret_found` for policy "refuse". */
export const redactSecrets = <Said>(workspace: Workspace, said: Said): Promise<Said> =>
  runWithoutSecrets(workspace, said, async (clean) => clean);

/** Like redactSecrets(), for what already happened and cannot be refused: then "refuse" redacts. */
export async function redactSecretsAfterwards<Said>(
  workspace: Workspace,
  said: Said,
): Promise<Said> {
  const { value, secrets } = maskSecrets(said);
  if (secrets.length === 0) return said;
  return (await secretPolicy(workspace)) === "allow" ? said : value;
}

/** The result of a call, and the secrets removed from its input; absent if none. */
export type WithSecrets<T> = T & { readonly secrets?: readonly DetectedSecret[] };

/** Like runWithoutSecrets() for a list, with secrets per item. Paths of a single item have no index. */
export function runEachWithoutSecrets<Said, Answer extends object>(
  workspace: Workspace,
  said: readonly Said[],
  go: (said: readonly Said[]) => Promise<readonly Answer[]>,
): Promise<WithSecrets<Answer>[]> {
  const isOne = Array.isArray(said) && said.length === 1;
  if (isOne) {
    return runWithoutSecrets(workspace, said[0] as Said, async (one, secrets) =>
      (await go([one])).map((answer) => withSecrets(answer, secrets)),
    );
  }
  return runWithoutSecrets(workspace, said, async (all, secrets) =>
    (await go(all)).map((answer, i) => withSecrets(answer, ofItem(secrets, i))),
  );
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
