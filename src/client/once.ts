/** An effect that must not happen twice: it happens here, and what came of it is kept at the hub. */
import type { Once } from "../delivery/work/once.ts";

interface Record {
  readonly begin: () => Promise<{ readonly kind: "begun" } | Once<unknown>>;
  readonly record: (result: unknown) => Promise<unknown>;
}

export async function recordedOnce<T>(
  effect: () => Promise<T> | T,
  { begin, record }: Record,
): Promise<Once<T>> {
  const begun = await begin();
  if (begun.kind !== "begun") return begun as Once<T>;
  const result = await effect();
  await record(result);
  return { kind: "done", result, again: false };
}
