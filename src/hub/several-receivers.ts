/** The error of asking a handoff with several receivers for its one state. */
import { BatonError } from "../base/errors.ts";

export const severalReceivers = (count: number): BatonError =>
  new BatonError("invalid_input", {
    message: `This went to ${count} receivers, each in its own state.`,
    path: "sent",
    hint: "Ask each of them: for (const one of sent.each) await one.completed().",
  });
