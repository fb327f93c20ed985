/** Checks the arguments of `work.once()` and `agent.effects.run()`: the effect's key and its function. */
import { BatonError } from "../../base/errors.ts";
import { checkValue, nameCheck } from "../../envelope/check-options.ts";

/** Returns the key if it is valid; throws `invalid_input`. */
export const parseEffectKey = (key: unknown): string =>
  checkValue(key as string, nameCheck, "The key", "key");

/** Checks key and function before any query; throws `invalid_input`. */
export function checkEffect<T>(key: string, effect: () => Promise<T> | T) {
  if (typeof effect !== "function") throw noEffect();
  return { key: parseEffectKey(key), effect };
}

const noEffect = (): BatonError =>
  new BatonError("invalid_input", {
    message: "The effect must be a function.",
    path: "effect",
    hint: "Pass the effect as a function: once(key, async () => …).",
  });
