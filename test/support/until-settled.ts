/** Settles work, and again whenever its sender has extended it in the meantime. */
import { isBatonError } from "../../src/index.ts";

export async function untilSettled<Outcome>(settle: () => Promise<Outcome>): Promise<Outcome> {
  for (;;) {
    try {
      return await settle();
    } catch (error) {
      if (!isBatonError(error) || error.code !== "work_extended") throw error;
    }
  }
}
