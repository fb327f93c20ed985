/**
 * Merges the options of a call with its arguments. A value that is not an object has no fields to send; it is
 * passed on unchanged, so that `Wire.call` refuses it instead of losing it silently.
 */
import { BatonError } from "../../base/errors.ts";

/** Returns the options and the arguments as one input. */
export function mergeOptions<Options extends object, Said extends object>(
  options: Options,
  input: Said,
): Options & Said {
  return hasFields(options) ? { ...options, ...input } : (options as Options & Said);
}

/** Separates the progress listener, which is a function and stays in this process. */
export function splitProgressListener<Options extends { readonly onProgress?: unknown }>(
  options: Options,
): {
  readonly onProgress?: Options["onProgress"];
  readonly rest: Omit<Options, "onProgress">;
} {
  if (!hasFields(options)) return { rest: options };
  const { onProgress, ...rest } = options;
  return { onProgress, rest };
}

const hasFields = (value: unknown): boolean =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Throws invalid_input if the value is not an object. */
export function requireFields(value: unknown): void {
  if (hasFields(value)) return;
  throw new BatonError("invalid_input", {
    message: "The options must be an object.",
    hint: "Pass an object, or omit the options.",
  });
}
