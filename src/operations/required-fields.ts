/**
 * Checks for fields that exist only over HTTP. The SDK method could not report them: without the field, or
 * with a single value instead of a list, the call would mean something else.
 */
import { BatonError } from "../base/errors.ts";

/** Returns the value. Throws invalid_input if it is undefined. */
export function requireField<T>(value: T | undefined, field: string): T {
  if (value !== undefined) return value;
  throw new BatonError("invalid_input", {
    message: `Required field "${field}" is missing.`,
    path: field,
    hint: `Send a value for "${field}".`,
  });
}

/** Returns the list. Throws invalid_input if the value is not an array. */
export function requireList<T>(value: readonly T[] | undefined, field: string): readonly T[] {
  if (Array.isArray(value)) return value;
  throw new BatonError("invalid_input", {
    message:
      value === undefined
        ? `Required field "${field}" is missing.`
        : `"${field}" must be an array.`,
    path: field,
    hint: `Send "${field}" as an array, also for a single item.`,
  });
}
