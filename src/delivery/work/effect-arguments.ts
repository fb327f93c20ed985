/** The arguments of running an effect once: its key and the function. */
import { BatonError } from "../../base/errors.ts";
import { checkValue, nameCheck } from "../../envelope/check-options.ts";

export const parseEffectKey = (key: unknown): string =>
  checkValue(key as string, nameCheck, "The key", "key");

/** Throws before anything is asked of the store. */
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
