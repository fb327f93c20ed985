/**
 * Refuses JSON that cannot be handled as it is: a key named __proto__, which JavaScript and schemas drop
 * silently, and values nested so deeply that a walk over them would exceed the stack.
 */
import { BatonError } from "../base/errors.ts";
import { FORMAT_LIMITS } from "../base/limits.ts";

/** The deepest value of a draft, and the levels of the request around it. */
const MAX_DEPTH = 2 * FORMAT_LIMITS.jsonDepth;

/** Throws `invalid_input` for an input with such a value. */
export function checkJsonInput(value: unknown, path = "", depth = 0): void {
  if (typeof value !== "object" || value === null) return;
  if (depth > MAX_DEPTH) throw tooDeep(path);
  if (Array.isArray(value)) {
    for (const item of value) checkJsonInput(item, path, depth + 1);
    return;
  }
  for (const key of Object.keys(value)) {
    if (key === "__proto__") throw reservedKey(path === "" ? key : `${path}.${key}`);
    const field = (value as Record<string, unknown>)[key];
    // The path names the field of the input only: building it for every value would cost more than the check.
    if (typeof field === "object") checkJsonInput(field, path === "" ? key : path, depth + 1);
  }
}

const reservedKey = (path: string): BatonError =>
  new BatonError("invalid_input", {
    message: `${path}: a key named __proto__ cannot be stored.`,
    path,
    hint: "Rename the key.",
  });

const tooDeep = (path: string): BatonError =>
  new BatonError("invalid_input", {
    message: `${path} is nested deeper than ${MAX_DEPTH} levels.`,
    path,
    hint: "Flatten it, or store it as an artifact and reference the artifact.",
  });
