/**
 * Leases over HTTP: a running holder keeps its work, one that was closed or stops calling loses it.
 */
import { describe, expect, it } from "vitest";
import type { HubOptions, Work } from "../../src/index.ts";
import { VirtualClock } from "../../src/testing/index.ts";
import { until } from "../support/until.ts";
import { open, serveHere } from "./support.ts";

/** The holder's heartbeat interval is a third of this, in real time. */
const LEASE_MS = 300;

async function scene(lease: "process" | "session", options: HubOptions = {}) {
  const address = await serveHere({ limits: { leaseMs: LEASE_MS }, ...options });
  const hub = await open(address);
  const planner = await hub.agent("planner", { role: "planner" });
  const coder = await hub.agent("coder", { role: "coder" }, { lease });
  const sent = await planner.handoff({ to: "coder", task: "t", intent: "Go" });
  const work = (await coder.accept()) as Work;
  return { address, hub, sent, work };
}

describe("a lease over HTTP", () => {
  it("is renewed beyond its end while its holder's process runs [OPS-5 DLV-6]", async () => {
    const clock = new VirtualClock(); // The hub's: a late heartbeat does not expire the lease.
    const { hub, sent, work } = await scene("process", { clock });
    const end = work.delivery.leaseUntil;
    while (work.delivery.leaseUntil < end + 2 * LEASE_MS) {
      const before = work.delivery.leaseUntil;
      clock.advance(LEASE_MS / 2);
      await until("the lease is renewed", () => work.delivery.leaseUntil > before);
    }
    expect(await hub.deliveries.get(sent.id)).toMatchObject({
      delivery: { state: "accepted", attempt: 1 },
    });
    expect(await work.complete()).toMatchObject({ kind: "settled" });
  });

  it("expires without calls when it is bound to a session [OPS-5 DLV-6]", async () => {
    const { hub, sent, work } = await scene("session");
    for await (const { state } of hub.deliveries.watch(sent.id)) if (state === "ready") break;
    await expect(work.complete()).rejects.toMatchObject({ code: "lease_lost" });
  });

  it("expires after its client was closed, and the work is redelivered [OPS-5 DLV-6]", async () => {
    const { address, hub, sent } = await scene("process");
    await hub.close();
    const other = await open(address);
    const next = await (await other.agent("coder")).accept({ wait: true });
    expect(next).toMatchObject({ id: sent.id, delivery: { attempt: 2 } });
  });
});
