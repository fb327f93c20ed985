/** A process whose clock is an hour ahead shares a store with processes whose clocks are right. */
import { describe, expect, it } from "vitest";
import { openHub } from "../../src/index.ts";
import { startChild } from "../support/child.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { until } from "../support/until.ts";

const CHILD = new URL("./clock-ahead-child.ts", import.meta.url);
const HOUR_MS = 3_600_000;
/** Renewed every two seconds; much longer than a busy machine delays a renewal. */
const LEASE_MS = 6_000;

interface Line {
  readonly ready?: boolean;
  readonly took?: string;
  readonly warned?: string;
}

/** Starts a worker; `lines` is what it has reported so far. */
function startWorker(address: string, { name, aheadMs }: { name: string; aheadMs: number }) {
  const lines: Line[] = [];
  const args = [address, String(aheadMs), name, String(LEASE_MS)];
  const child = startChild(CHILD, args, (line) => lines.push(JSON.parse(line) as Line));
  return { child, lines };
}

describe("a process with a clock one hour ahead", () => {
  it("takes no work of a live holder, expires no deadline, and warns [DLV-6]", async () => {
    using folder = temporaryFolder();
    const address = `sqlite:${folder.file("hub.db")}`;
    await using hub = await openHub(address, { limits: { leaseMs: LEASE_MS } });
    const sender = await hub.agent("sender", {});
    const holder = await hub.agent("holder", { role: "worker" });
    const held = await sender.handoff({ to: "role:worker", task: "held", intent: "Hold it" });
    await using work = await holder.accept();
    const policy = { deadlineMs: HOUR_MS / 2 };
    const dated = await sender.handoff({ to: "sender", task: "dated", intent: "Soon", policy });
    const { child, lines } = startWorker(address, { name: "rival", aheadMs: HOUR_MS });
    await until("a warning about the clock", () =>
      lines.some(({ warned }) => warned !== undefined),
    );
    expect(lines).toEqual([{ ready: true }, { warned: "BATON_CLOCK_AHEAD" }]);
    expect((await hub.deliveries.get(held.id)).delivery).toMatchObject({
      state: "accepted",
      holder: "holder",
      attempt: 1,
    });
    expect((await hub.deliveries.get(dated.id)).delivery.state).toBe("ready");
    await work?.complete();
    child.kill();
    await child.ended;
  });

  it("takes the work of a holder that is stopped for a whole lease [DLV-6]", async () => {
    using folder = temporaryFolder();
    const address = `sqlite:${folder.file("hub.db")}`;
    await using hub = await openHub(address, { limits: { leaseMs: LEASE_MS } });
    const sender = await hub.agent("sender", {});
    await hub.agent("holder", { role: "worker" });
    const sent = await sender.handoff({ to: "role:worker", task: "held", intent: "Hold it" });
    const holder = startWorker(address, { name: "holder", aheadMs: 0 });
    await until("the holder to take it", () => holder.lines.some(({ took }) => took === sent.id));
    holder.child.signal("SIGSTOP");
    const rival = startWorker(address, { name: "rival", aheadMs: HOUR_MS });
    await until("the rival to take it", () => rival.lines.some(({ took }) => took === sent.id));
    expect(rival.lines.some(({ warned }) => warned !== undefined)).toBe(false);
    for (const { child } of [holder, rival]) {
      child.kill();
      await child.ended;
    }
  });
});
