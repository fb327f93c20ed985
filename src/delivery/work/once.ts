/**
 * An effect that must not happen twice: recorded as begun before it runs and with its result after.
 * Asked again, the result is given back; where it was begun and nothing was recorded, nobody can know
 * whether it happened, and that is said instead of running it again.
 */

import { canonicalJson } from "../../base/digest.ts";
import { BatonError } from "../../base/errors.ts";
import { redactSecrets, redactSecretsAfterwards } from "../../memory/redaction/secret-policy.ts";
import { entryValue } from "../../workspace/entries.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import { checkEffect, parseEffectKey } from "./effect-arguments.ts";

const ONCE = "once";

interface StoredEffect {
  readonly by: string;
  readonly state: "begun" | "done";
  readonly result?: unknown;
}

export type OnceResult<T> =
  /** `again`: it had happened before, and was not run now. */
  | { readonly kind: "done"; readonly result: T; readonly again: boolean }
  /** Begun by somebody and not recorded: look at the world, then say what came of it: `agent.effects.resolve()`. */
  | { readonly kind: "uncertain"; readonly by: string; readonly since: number };

export async function once<T>(
  workspace: Workspace,
  by: string,
  key: string,
  effect: () => Promise<T> | T,
): Promise<OnceResult<T>> {
  const begun = await beginOnce<T>(workspace, by, checkEffect(key, effect).key);
  if (begun.kind !== "begun") return begun;
  const result = await effect();
  await recordOnce(workspace, by, key, result);
  return { kind: "done", result, again: false };
}

/** Says that an effect begins: "begun" to whoever is the first, and to nobody else. */
export async function beginOnce<T>(
  { store, name: at }: Workspace,
  by: string,
  key: string,
): Promise<{ readonly kind: "begun" } | OnceResult<T>> {
  const name = parseEffectKey(key);
  const begun = canonicalJson({ by, state: "begun" } satisfies StoredEffect, "invalid_input");
  const put = await store.putEntry(at, { kind: ONCE, name, value: begun, basedOn: 0 });
  return put.kind === "changed" ? earlierResultOf<T>(put.entry) : { kind: "begun" };
}

/** What came of it, said by whoever began it. */
export async function recordOnce(
  workspace: Workspace,
  by: string,
  key: string,
  result: unknown,
): Promise<void> {
  await record(workspace, { by, name: parseEffectKey(key), result, basedOn: 1 });
}

/** The same by a door, where anybody may come with any key: it is for whoever began it to say. */
export async function recordOnceAsOwner(
  workspace: Workspace,
  by: string,
  key: string,
  result: unknown,
): Promise<void> {
  const name = parseEffectKey(key);
  const effect = entryValue<StoredEffect>(
    await workspace.store.findEntry(workspace.name, ONCE, name),
  );
  if (effect === undefined || (effect.state === "begun" && effect.by !== by)) {
    throw notBegun(name, effect?.by);
  }
  await recordOnce(workspace, by, name, result);
}

/** The key of an effect that belongs to one piece of work. */
export const workEffectKey = (work: string, key: unknown): string =>
  `${work}/${parseEffectKey(key)}`;

function earlierResultOf<T>(entry: Parameters<typeof entryValue>[0]): OnceResult<T> {
  const effect = entryValue<StoredEffect>(entry);
  if (effect?.state === "done") return { kind: "done", result: effect.result as T, again: true };
  return { kind: "uncertain", by: effect?.by ?? "", since: entry?.at ?? 0 };
}

/** Settles an uncertain effect: somebody has looked, and this is what came of it. */
export async function resolveOnce(
  workspace: Workspace,
  by: string,
  key: string,
  result: unknown,
): Promise<void> {
  const name = parseEffectKey(key);
  const said = await redactSecrets(workspace, { result });
  const entry = await workspace.store.findEntry(workspace.name, ONCE, name);
  if (entryValue<StoredEffect>(entry)?.state === "done") throw alreadyRecorded(name);
  await record(workspace, { by, name, result: said.result, basedOn: entry?.revision ?? 0 });
}

/** The effect has happened: a secret in what came of it is redacted, whatever the rule, unless it may stay. */
async function record(
  workspace: Workspace,
  effect: {
    readonly by: string;
    readonly name: string;
    readonly result: unknown;
    readonly basedOn: number;
  },
): Promise<void> {
  const { by, name, basedOn } = effect;
  const { result } = await redactSecretsAfterwards(workspace, { result: effect.result });
  const done = { by, ...(result === undefined ? {} : { result }), state: "done" };
  const value = canonicalJson(done, "invalid_input", "result");
  const put = await workspace.store.putEntry(workspace.name, { kind: ONCE, name, value, basedOn });
  if (put.kind === "changed") throw alreadyRecorded(name);
}

const notBegun = (name: string, by: string | undefined): BatonError =>
  new BatonError("not_permitted", {
    message:
      by === undefined
        ? `Nobody has begun "${name}".`
        : `"${name}" was begun by "${by}", who says what came of it.`,
    path: "key",
    hint:
      by === undefined
        ? "Say that it begins before it does."
        : "Where that one cannot any more: look at the world, and say it with resolve().",
    details: { key: name, ...(by === undefined ? {} : { by }) },
  });

function alreadyRecorded(name: string): BatonError {
  return new BatonError("id_conflict", {
    message: `Somebody else has recorded what came of "${name}".`,
    path: "key",
    hint: "Ask again: once() gives back what was recorded.",
    details: { key: name },
  });
}
