/** Runs an effect at most once: the effect runs in this process, its result is stored in the hub. */
import type { OnceResult } from "../delivery/work/once.ts";

interface EffectRecorder {
  readonly begin: () => Promise<{ readonly kind: "begun" } | OnceResult<unknown>>;
  readonly record: (result: unknown) => Promise<unknown>;
}

/** Runs the effect if it was not begun before, and records its result. */
export async function runOnce<T>(
  effect: () => Promise<T> | T,
  { begin, record }: EffectRecorder,
): Promise<OnceResult<T>> {
  const begun = await begin();
  if (begun.kind !== "begun") return begun as OnceResult<T>;
  const result = await effect();
  await record(result);
  return { kind: "done", result, again: false };
}
