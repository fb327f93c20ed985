/**
 * Load from many clients, each on its own connections. A thousand clients for a minute: `npm run
 * bench -- --only http-load`.
 */
import { describe, expect, it } from "vitest";
import { load } from "../../bench/http/load.ts";
import { freshAddress } from "../support/hub/support.ts";
import { runs } from "../support/runs.ts";
import { until } from "../support/until.ts";
import { listened } from "./support.ts";

const CLIENTS = runs(100);
/** Number of handoffs to complete; each follows a memory, a read and another handoff. */
const COMPLETED = 2 * CLIENTS;

describe("a hub with many clients", () => {
  it("answers every call without an error, and leaves no work unsettled [OPS-7]", {
    timeout: runs(180_000),
  }, async () => {
    const rate = { perSecond: 1_000_000, burst: 1_000_000 };
    const { hub, listening, bugs } = await listened(freshAddress("sqlite"), { rate });
    const completed = async () => (await hub.deliveries.totals()).byState.completed >= COMPLETED;
    const onSecond = async () => void (await until(`${COMPLETED} handoffs completed`, completed));
    const report = await load(listening, { clients: CLIENTS, seconds: 1, onSecond });
    expect(report.errors).toEqual([]);
    expect(bugs).toEqual([]);
    expect(report.operations).toBeGreaterThanOrEqual(COMPLETED);
    const { byState } = await hub.deliveries.totals();
    expect([byState.claimed, byState.accepted, byState.dead]).toEqual([0, 0, 0]);
    expect((await hub.verify()).problems).toEqual([]);
  });
});
