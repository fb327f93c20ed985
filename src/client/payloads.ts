/**
 * Payloads and outputs are parsed by the types registered in this process, whose schemas are functions. What
 * is sent is what the schema returns; the hub then checks it against the workspace's own types.
 */
import { requireExpectedResult } from "../delivery/send/expected-outputs.ts";
import type { CheckedResult, Result } from "../delivery/send/result.ts";
import type { PayloadTypes } from "../envelope/payload-types.ts";
import type { Envelope } from "../envelope/schema.ts";

/** A draft, or whatever else has a payload. */
export async function withParsedPayload<D>(payloads: PayloadTypes, draft: D): Promise<D> {
  const payload: unknown = Object(draft).payload;
  if (typeof payload !== "object" || payload === null) return draft;
  const { type, data } = payload as { readonly type?: unknown; readonly data?: unknown };
  if (typeof type !== "string" || !payloads.knows(type)) return draft;
  return { ...draft, payload: await payloads.enforce({ type, data: data as never }) };
}

/** Throws with every way in which a result is not what was expected, where a type of ours is. */
export async function checkOutputs(
  payloads: PayloadTypes,
  { expects }: Pick<Envelope, "expects">,
  result: Result,
): Promise<void> {
  const isOurs = expects.some(({ format }) => format !== undefined && payloads.knows(format));
  if (!isOurs || !hasForm(result)) return; // What has another form is refused by the hub.
  await requireExpectedResult((...output) => payloads.faults(...output), expects, result);
}

const isObject = (value: unknown): value is object =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Whether the parts that are compared have the form of a result's. */
function hasForm(result: Result): result is CheckedResult {
  if (!isObject(result)) return false;
  const { outputs = {}, criteria = {} } = result;
  return isObject(outputs) && isObject(criteria) && Object.values(criteria).every(Array.isArray);
}
