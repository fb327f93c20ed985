/**
 * Parses payloads and outputs with the types defined in this process, because their schemas are functions.
 * The parsed value is sent; the hub then checks it against the payload types of the workspace.
 */
import { withinPath } from "../base/errors.ts";
import { requireExpectedResult } from "../delivery/send/expected-outputs.ts";
import type { CheckedResult, Result } from "../delivery/send/result.ts";
import type { PayloadTypes } from "../envelope/payload-types.ts";
import type { Envelope } from "../envelope/schema.ts";

/**
 * Returns a draft, or any other object with a payload, with the payload parsed. `part`: its path, if it is one
 * of several.
 */
export async function withParsedPayload<D>(
  payloads: PayloadTypes,
  draft: D,
  part?: string,
): Promise<D> {
  const given: unknown = Object(draft).payload;
  if (typeof given !== "object" || given === null) return draft;
  const { type, data } = given as { readonly type?: unknown; readonly data?: unknown };
  if (typeof type !== "string" || !payloads.has(type)) return draft;
  const enforce = () => payloads.enforce({ type, data: data as never });
  const payload = part === undefined ? await enforce() : await withinPath(part, enforce);
  return { ...draft, payload };
}

/** Throws with all violations if an expected output has a type defined here and does not match it. */
export async function checkOutputs(
  payloads: PayloadTypes,
  { expects }: Pick<Envelope, "expects">,
  result: Result,
): Promise<void> {
  const isOurs = expects.some(({ format }) => format !== undefined && payloads.has(format));
  if (!isOurs || !hasForm(result)) return; // A malformed result is refused by the hub.
  await requireExpectedResult((...output) => payloads.faults(...output), expects, result);
}

const isObject = (value: unknown): value is object =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Returns whether the checked parts are well-formed. */
function hasForm(result: Result): result is CheckedResult {
  if (!isObject(result)) return false;
  const { outputs = {}, criteria = {} } = result;
  return isObject(outputs) && isObject(criteria) && Object.values(criteria).every(Array.isArray);
}
