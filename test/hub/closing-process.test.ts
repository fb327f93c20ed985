/** A program that closes its hub while calls are pending ends by itself, with its calls answered. */
import { describe, expect, it } from "vitest";
import { startChild } from "../support/child.ts";
import { EMBEDDED_STORES, freshAddress, open } from "../support/hub/support.ts";

const CHILD = new URL("closing-child.ts", import.meta.url);

describe.each(EMBEDDED_STORES.filter((store) => store !== "memory"))(
  "a program on %s that closes its hub with a call pending",
  { timeout: 120_000 },
  (store) => {
    it.each(["verify", "totals", "recall", "sql"])(
      "ends with code 0, and the call has ended: %s [OPS-10]",
      async (call) => {
        const address = freshAddress(store);
        const hub = await open(address);
        const ada = await hub.agent("ada", { role: "worker" });
        await ada.remember({ content: "Tokens are checked with jose." });
        await hub.close();
        const lines: string[] = [];
        const child = startChild(CHILD, [address, call], (line) => lines.push(line));
        const { code, stderr } = await child.ended;
        expect([code, stderr]).toEqual([0, ""]);
        expect(lines.map((line) => JSON.parse(line))).toEqual([
          { closed: true },
          { call: expect.stringMatching(/^(?:done|store_closed)$/) },
        ]);
      },
    );
  },
);
