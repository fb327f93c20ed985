/**
 * `work.once()` and `agent.effects.run()`: run an effect that must not happen twice. It is recorded as begun
 * before it runs, and with its result afterwards. Called again, it returns the recorded result. If it was
 * begun and has no recorded result, it is unknown whether it happened: that is reported instead of running it
 * again.
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

/** The outcome of `work.once()` and `agent.effects.run()`. */
export type OnceResult<T> =
  /** `again`: it had happened before and was not run now. */
  | { readonly kind: "done"; readonly result: T; readonly again: boolean }
  /** Begun by an agent and not recorded: check whether it happened, then call `agent.effects.resolve()`. */
  | { readonly kind: "uncertain"; readonly by: string; readonly since: number };

/** Runs an effect at most once per key and returns its result. Throws what the effect throws. */
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

/**
 * Records that an effect begins. Returns "begun" to the first caller only; to others, the earlier outcome.
 */
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

/** Records the result of an effect, by the agent that began it. */
export async function recordOnce(
  workspace: Workspace,
  by: string,
  key: string,
  result: unknown,
): Promise<void> {
  await record(workspace, { by, name: parseEffectKey(key), result, basedOn: 1 });
}

/**
 * The same for interfaces that accept any key (HTTP, MCP): only the agent that began the effect may record
 * it.
 */
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

/** Returns the key of an effect that belongs to one work. */
export const workEffectKey = (work: string, key: unknown): string =>
  `${work}/${parseEffectKey(key)}`;

function earlierResultOf<T>(entry: Parameters<typeof entryValue>[0]): OnceResult<T> {
  const effect = entryValue<StoredEffect>(entry);
  if (effect?.state === "done") return { kind: "done", result: effect.result as T, again: true };
  return { kind: "uncertain", by: effect?.by ?? "", since: entry?.at ?? 0 };
}

/**
 * Records the outcome of an uncertain effect after it was checked. Throws `id_conflict` if it is recorded.
 */
export async function resolveOnce(
  workspace: Workspace,
  by: string,
  key: string,
  result: unknown,
): Promise<void> {
  const name = parseEffectKey(key);
  const redacted = await redactSecrets(workspace, { result });
  const entry = await workspace.store.findEntry(workspace.name, ONCE, name);
  if (entryValue<StoredEffect>(entry)?.state === "done") throw alreadyRecorded(name);
  await record(workspace, { by, name, result: redacted.result, basedOn: entry?.revision ?? 0 });
}

/** Records a result. The effect has happened, so secrets in its result are redacted, never refused. */
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
        ? `The effect "${name}" has not begun.`
        : `The effect "${name}" was begun by "${by}", and only that agent can record its result.`,
    path: "key",
    hint:
      by === undefined
        ? "Begin the effect before recording its result."
        : "If that agent cannot record it any more, check whether the effect happened and call agent.effects.resolve().",
    details: { key: name, ...(by === undefined ? {} : { by }) },
  });

function alreadyRecorded(name: string): BatonError {
  return new BatonError("id_conflict", {
    message: `The result of the effect "${name}" was already recorded.`,
    path: "key",
    hint: "Run the effect again with the same key: agent.effects.run() returns the recorded result.",
    details: { key: name },
  });
}
