/** Options as a caller gave them, together with what else the call says. */
import { BatonError } from "../errors.ts";

/** What is no object has no fields that could be sent: it is refused here instead of getting lost. */
export function besides<Options extends object, Said extends object>(
  options: Options,
  said: Said,
): Options & Said {
  requireFields(options);
  return { ...options, ...said };
}

export function requireFields(value: unknown): void {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return;
  throw new BatonError("invalid_input", {
    message: "The options must be an object.",
    path: "options",
    hint: "Pass fields with their values, or leave it out.",
  });
}
