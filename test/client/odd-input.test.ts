/** Invalid input is refused over HTTP with the same codes as in the hub's process. */
import { describe, expect, it, onTestFinished } from "vitest";
import type { Work } from "../../src/index.ts";
import { openLocalHub } from "../../src/open/open-hub.ts";
import { servedBy } from "../support/hub/served.ts";
import { refusal } from "../support/hub/support.ts";

describe("invalid input", () => {
  it.each([[null], [5], [true], [[]], ["x"]])(
    "such as %j is refused with the same codes in the process and over HTTP [OPS-5]",
    async (odd) => {
      const here = await openLocalHub("memory:");
      onTestFinished(() => here.close());
      const there = await servedBy(here);
      await here.agent("coder", { role: "coder" });
      const codes: unknown[][] = [];
      for (const hub of [here, there]) {
        const coder = await hub.agent("coder");
        await coder.handoff({ to: "coder", task: "t", intent: "Go" });
        const work = (await coder.accept()) as Work;
        const refused = [
          hub.memories.recent(odd as never),
          coder.recall("Which?", odd as never),
          coder.tasks.timeline("t", odd as never),
          hub.settings.update(odd as never),
          coder.memories.sql("SELECT 1", odd as never),
          coder.memories.sql("SELECT 1", { params: 5 as never }),
          coder.handoffs.join([], odd as never),
          coder.deliveries.cancel(odd as never, "No"),
          work.view(odd as never),
        ].map(async (each) => (await refusal(each)).code);
        codes.push(await Promise.all(refused));
        await work.complete();
      }
      expect(codes[1]).toEqual(codes[0]);
    },
  );
});
