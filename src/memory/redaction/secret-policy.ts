/**
 * What is done about secrets in what is said to a hub, before any of it is stored, digested or sent: the
 * value is replaced by what it is ("redact"), the call is refused ("refuse"), or nothing ("allow").
 *
 * A hub is opened with its rule, a workspace can have one for everybody; of both the stricter counts.
 * The workspace's is read only when a secret was found, so it holds from the next call on and costs
 * nothing before. Finding is pure: what is said twice is redacted to the same text, so that keys and
 * ids of a second try still mean the first.
 */
import * as z from "zod";
import { assertNever, BatonError } from "../../base/errors.ts";
import { type DetectedSecret, maskSecrets } from "../../envelope/mask-secrets.ts";
import { parseOrThrow } from "../../envelope/violations.ts";
import { parseText } from "../../store/rows.ts";
import { changeEntry } from "../../workspace/entries.ts";
import { SECRET_MODES, type SecretMode, type Workspace } from "../../workspace/workspace.ts";

const SETTING = { kind: "setting", name: "secrets" } as const;

export const SecretModeSchema = z.enum(SECRET_MODES);

/** What counts: the stricter of the hub's rule and the workspace's; "redact" where neither says. */
export async function secretPolicy(workspace: Workspace): Promise<SecretMode> {
  const { store, name, secrets } = workspace;
  const entry = await store.findEntry(name, SETTING.kind, SETTING.name);
  const kept =
    entry && parseText<{ readonly mode: SecretMode }>({ id: "secrets", text: entry.value }).mode;
  const said = [secrets, kept].filter((mode) => mode !== undefined);
  return SECRET_MODES.findLast((mode) => said.includes(mode)) ?? "redact";
}

/** Sets the workspace's rule, and answers with the one that counts here. */
export async function setSecretPolicy(workspace: Workspace, mode: SecretMode): Promise<SecretMode> {
  const how = { code: "invalid_input", what: "The rule", prefix: "mode" } as const;
  const checked = parseOrThrow(SecretModeSchema, mode, how);
  await changeEntry(workspace, SETTING, () => ({ value: { mode: checked } }));
  return secretPolicy(workspace);
}

/** Decisions under way, by the workspace's root: what is said after waits, so that writes keep their order. */
const pendingDecisions = new WeakMap<object, Promise<unknown>>();

/**
 * Goes on with what was said, without the secrets in it, and with word of them. Where there are none that
 * is in the same turn: a hub that is closed next still stores it.
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
  // At once when it is known, before what waits for this turn.
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

/** What was said, without the secrets in it, where nobody minds another turn. */
export const redactSecrets = <Said>(workspace: Workspace, said: Said): Promise<Said> =>
  runWithoutSecrets(workspace, said, async (clean) => clean);

/** The same of what has happened already and cannot be refused any more: it is redacted then. */
export async function redactSecretsAfterwards<Said>(
  workspace: Workspace,
  said: Said,
): Promise<Said> {
  const { value, secrets } = maskSecrets(said);
  if (secrets.length === 0) return said;
  return (await secretPolicy(workspace)) === "allow" ? said : value;
}

/** What came of a call, and which secrets were taken out of what was said. */
export type WithSecrets<T> = T & { readonly secrets?: readonly DetectedSecret[] };

/** What each of several was without. One by itself is named as if it were alone. */
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

export const withSecrets = <T extends object>(
  answer: T,
  secrets: readonly DetectedSecret[],
): WithSecrets<T> => (secrets.length === 0 ? answer : { ...answer, secrets });

export function secretFoundError(secrets: readonly DetectedSecret[]): BatonError {
  const hint =
    "Take it out, and say where it is kept (a vault, a variable). If it was real, change it.";
  const violations = secrets.map(({ kind, path }) => ({
    path,
    rule: "secret",
    message: `${path === "" ? "it" : path}: looks like a secret (${kind}).`,
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
