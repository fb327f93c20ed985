/**
 * Option checks that the HTTP client shares with the hub: the same codes, paths and rules as those
 * of a schema.
 */
import { describe, expect, it } from "vitest";
import { BatonError } from "../../src/base/errors.ts";
import { randomIdGenerator } from "../../src/base/ids.ts";
import {
  checkAcceptOptions,
  checkInboxOptions,
} from "../../src/delivery/receive/receive-options.ts";
import { checkCompletedOptions, checkWaitOptions } from "../../src/delivery/watch/wait-options.ts";
import { checkedSession, sessionTimeout } from "../../src/hub/option-checks.ts";

function refusal(check: () => unknown): BatonError {
  try {
    check();
  } catch (error) {
    if (error instanceof BatonError) return error;
  }
  throw new Error("not refused");
}

const rulesOf = (check: () => unknown): Record<string, string> =>
  Object.fromEntries(refusal(check).violations.map(({ path, rule }) => [path, rule]));

describe("option checks", () => {
  it("report every violation with path and rule", () => {
    const wrong = {
      signal: {},
      task: "a\0b",
      wait: "yes",
      delivery: "dlv_1",
      receipt: 5,
      colour: 1,
    };
    expect(rulesOf(() => checkAcceptOptions(wrong as never))).toEqual({
      signal: "type",
      task: "format",
      wait: "type",
      delivery: "format",
      receipt: "type",
      colour: "unknown_field",
    });
    expect(rulesOf(() => checkWaitOptions({ timeoutMs: -1 }))).toEqual({ timeoutMs: "min_value" });
    expect(rulesOf(() => checkWaitOptions({ timeoutMs: Number.NaN }))).toEqual({
      timeoutMs: "type",
    });
    expect(rulesOf(() => checkInboxOptions({ task: "" }))).toEqual({ task: "min_length" });
    expect(rulesOf(() => checkInboxOptions({ task: "x".repeat(129) }))).toEqual({
      task: "max_length",
    });
    expect(rulesOf(() => checkedSession({ lease: "for ever" as never }))).toEqual({
      lease: "one_of",
    });
    expect(rulesOf(() => sessionTimeout({ sessionMs: 0 }))).toEqual({ sessionMs: "min_value" });
    expect(rulesOf(() => sessionTimeout({ sessionMs: 1.5 }))).toEqual({ sessionMs: "type" });
    expect(rulesOf(() => sessionTimeout({ sessionMs: 1e15 }, "header"))).toEqual({
      header: "max_value",
    });
  });

  it.each([[null], [5], [[]], ["x"]])("refuse %j because it is not an object", (odd) => {
    const error = refusal(() => checkWaitOptions(odd as never));
    expect(error).toMatchObject({
      code: "invalid_input",
      path: "",
      violations: [{ rule: "type" }],
    });
  });

  it("return the options with their defaults", () => {
    const delivery = randomIdGenerator({ now: () => 0 }).mint("delivery");
    const receipt = () => undefined as never;
    expect(checkAcceptOptions({ delivery, receipt })).toEqual({ delivery, receipt, wait: false });
    expect(checkInboxOptions({})).toEqual({ wait: true });
    expect(checkCompletedOptions({ timeoutMs: 0 })).toEqual({ timeoutMs: 0, line: false });
    expect(checkedSession({ instance: "night shift" })).toEqual({
      instance: "night shift",
      lease: "process",
    });
  });
});
