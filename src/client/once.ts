/** An effect that must not happen twice: it happens here, and what came of it is kept at the hub. */
import type { OnceResult } from "../delivery/work/once.ts";

interface EffectRecorder {
  readonly begin: () => Promise<{ readonly kind: "begun" } | OnceResult<unknown>>;
  readonly record: (result: unknown) => Promise<unknown>;
}

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
