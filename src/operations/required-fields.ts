/** Fields that only the wire has: where one is missing, or is no list, the call would be another. */
import { BatonError } from "../base/errors.ts";

export function requireField<T>(value: T | undefined, field: string): T {
  if (value !== undefined) return value;
  throw new BatonError("invalid_input", {
    message: `"${field}" is missing.`,
    path: field,
    hint: "Say what it is to be.",
  });
}

export function requireList<T>(value: readonly T[], field: string): readonly T[] {
  if (Array.isArray(value)) return value;
  throw new BatonError("invalid_input", {
    message: `"${field}" must be a list.`,
    path: field,
    hint: "Send one in a list of one.",
  });
}
