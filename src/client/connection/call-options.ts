/**
 * Options as a caller gave them, together with what else the call says. What is no object has no fields
 * that could be sent: it is passed on as it is, for the wire to refuse instead of getting lost.
 */
import { BatonError } from "../../base/errors.ts";

export function mergeOptions<Options extends object, Said extends object>(
  options: Options,
  said: Said,
): Options & Said {
  return hasFields(options) ? { ...options, ...said } : (options as Options & Said);
}

/** Who listens to progress does so at this end. */
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

export function requireFields(value: unknown): void {
  if (hasFields(value)) return;
  throw new BatonError("invalid_input", {
    message: "The options must be an object.",
    hint: "Pass fields with their values, or leave it out.",
  });
}
