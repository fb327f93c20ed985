/** Many clients at once, each on a connection of its own. A thousand, for a minute: `npm run bench -- --only http-load`. */
import { describe, expect, it } from "vitest";
import { load } from "../../bench/http/load.ts";
import { freshAddress } from "../behaviour/support.ts";
import { listened } from "./support.ts";

const CLIENTS = 200;
const SECONDS = 3;

describe("a hub with many clients", () => {
  it("answers all of them without an error, and loses nothing of what they did [OPS-7]", {
    timeout: 120_000,
  }, async () => {
    const rate = { perSecond: 1_000_000, burst: 1_000_000 };
    const { hub, listening, bugs } = await listened(freshAddress("sqlite"), { rate });
    const report = await load(listening, { clients: CLIENTS, seconds: SECONDS });
    expect(report.errors).toEqual([]);
    expect(bugs).toEqual([]);
    expect(report.operations).toBeGreaterThanOrEqual(CLIENTS);
    const { byState } = await hub.books();
    expect([byState.claimed, byState.accepted, byState.dead]).toEqual([0, 0, 0]);
    expect((await hub.verify()).problems).toEqual([]);
  });
});
