/** The error for asking a handoff with several receivers for a single state. */
import { BatonError } from "../base/errors.ts";

/**
 * Returns the `invalid_input` error for calling `status()`, `accepted()`, … on a handoff with several
 * receivers.
 */
export const severalReceivers = (count: number): BatonError =>
  new BatonError("invalid_input", {
    message: `The handoff has ${count} receivers, each with a separate delivery state.`,
    path: "sent",
    hint: "Use sent.each: for (const one of sent.each) await one.completed().",
  });
