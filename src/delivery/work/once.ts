/**
 * An effect that must not happen twice: recorded as begun before it runs and with its result after.
 * Asked again, the result is given back; where it was begun and nothing was recorded, nobody can know
 * whether it happened, and that is said instead of running it again.
 */

import { canonicalJson } from "../../base/canonical.ts";
import { BatonError } from "../../base/errors.ts";
import { heard, heardLate } from "../../memory/redaction/secret-policy.ts";
import { entryValue } from "../../workspace/entries.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import { effectKey, effectOf } from "./effect.ts";

const ONCE = "once";

interface Effect {
  readonly by: string;
  readonly state: "begun" | "done";
  readonly result?: unknown;
}

export type Once<T> =
  /** `again`: it had happened before, and was not run now. */
  | { readonly kind: "done"; readonly result: T; readonly again: boolean }
  /** Begun by somebody and not recorded: look at the world, then say what came of it: `agent.effects.resolve()`. */
  | { readonly kind: "uncertain"; readonly by: string; readonly since: number };

export async function once<T>(
  workspace: Workspace,
  by: string,
  key: string,
  effect: () => Promise<T> | T,
): Promise<Once<T>> {
  const begun = await beginOnce<T>(workspace, by, effectOf(key, effect).key);
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
): Promise<{ readonly kind: "begun" } | Once<T>> {
  const name = effectKey(key);
  const begun = canonicalJson({ by, state: "begun" } satisfies Effect, "invalid_input");
  const put = await store.putEntry(at, { kind: ONCE, name, value: begun, basedOn: 0 });
  return put.kind === "changed" ? before<T>(put.entry) : { kind: "begun" };
}

/** What came of it, said by whoever began it. */
export async function recordOnce(
  workspace: Workspace,
  by: string,
  key: string,
  result: unknown,
): Promise<void> {
  await record(workspace, { by, name: effectKey(key), result, basedOn: 1 });
}

/** The same by a door, where anybody may come with any key: it is for whoever began it to say. */
export async function recordBegun(
  workspace: Workspace,
  by: string,
  key: string,
  result: unknown,
): Promise<void> {
  const name = effectKey(key);
  const effect = entryValue<Effect>(await workspace.store.findEntry(workspace.name, ONCE, name));
  if (effect === undefined || (effect.state === "begun" && effect.by !== by)) {
    throw notBegun(name, effect?.by);
  }
  await recordOnce(workspace, by, name, result);
}

/** The key of an effect that belongs to one piece of work. */
export const keyWithin = (work: string, key: unknown): string => `${work}/${effectKey(key)}`;

function before<T>(entry: Parameters<typeof entryValue>[0]): Once<T> {
  const effect = entryValue<Effect>(entry);
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
  const name = effectKey(key);
  const said = await heard(workspace, { result });
  const entry = await workspace.store.findEntry(workspace.name, ONCE, name);
  if (entryValue<Effect>(entry)?.state === "done") throw recorded(name);
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
  const { result } = await heardLate(workspace, { result: effect.result });
  const done = { by, ...(result === undefined ? {} : { result }), state: "done" };
  const value = canonicalJson(done, "invalid_input", "result");
  const put = await workspace.store.putEntry(workspace.name, { kind: ONCE, name, value, basedOn });
  if (put.kind === "changed") throw recorded(name);
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

function recorded(name: string): BatonError {
  return new BatonError("id_conflict", {
    message: `Somebody else has recorded what came of "${name}".`,
    path: "key",
    hint: "Ask again: once() gives back what was recorded.",
    details: { key: name },
  });
}
