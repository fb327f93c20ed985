/** The health, readiness and metrics pages of a hub. */
import { describe, expect, it } from "vitest";
import { as, posting, served } from "./support.ts";

describe("monitoring", () => {
  it("reports that the hub is alive", async () => {
    const { fetch } = await served();
    expect(await (await fetch("/healthz")).json()).toMatchObject({ status: "ok" });
  });

  it("reports ready while the store is open, and not ready once it is closed [OPS-7]", async () => {
    const { fetch, hub } = await served();
    expect((await fetch("/readyz")).status).toBe(200);
    await hub.close();
    const response = await fetch("/readyz");
    expect(response.status).toBe(503);
    expect(await response.json()).toMatchObject({ code: "store_closed" });
    expect((await fetch("/healthz")).status).toBe(200); // The process is still alive.
  });

  it("reports not ready while the hub is closing", async () => {
    const { fetch, http } = await served();
    http.close();
    expect((await fetch("/readyz")).status).toBe(503);
  });

  it("counts requests by operation and status, with their durations [OPS-7]", async () => {
    const { fetch, hub } = await served({ open: "coordinator" });
    await hub.agent("ada", { role: "planner" });
    const memories = [{ content: "The port is 8080." }];
    for (let n = 0; n < 3; n++) await fetch("/v1/memories", posting({ memories }, as("ada")));
    await fetch("/v1/memories", posting({ memories: [{ content: 1 }] }, as("ada")));
    await fetch("/v1/nowhere");
    const response = await fetch("/metrics");
    expect(response.headers.get("content-type")).toContain("version=0.0.4");
    const text = await response.text();
    const lines = text.split("\n");
    expect(lines).toContain('baton_http_requests_total{operation="remember",status="200"} 3');
    expect(lines).toContain('baton_http_requests_total{operation="remember",status="422"} 1');
    expect(lines).toContain('baton_http_requests_total{operation="unknown",status="404"} 1');
    expect(lines).toContain('baton_http_request_duration_seconds_count{operation="remember"} 4');
    expect(lines).toContain("baton_http_requests_under_way 1"); // This request.
    expect(lines).toContain("baton_http_streams_open 0");
    for (const line of lines.filter((each) => each !== "" && !each.startsWith("#"))) {
      expect(line).toMatch(/^[a-z_]+(\{[^}]*\})? [\d.e+-]+$/);
    }
  });

  it("counts durations in cumulative buckets", async () => {
    const { fetch } = await served({ open: "coordinator" });
    for (let n = 0; n < 20; n++) await fetch("/v1/agents");
    const text = await (await fetch("/metrics")).text();
    const buckets = [...text.matchAll(/_bucket\{operation="agents\.list",le="[^"]+"\} (\d+)/g)];
    const counts = buckets.map(([, count]) => Number(count));
    expect(counts).toEqual(counts.toSorted((a, b) => a - b));
    expect(counts.at(-1)).toBe(20);
  });

  it("counts a stream only while it is open", async () => {
    const { fetch } = await served({ open: "coordinator" });
    const open = async () =>
      /baton_http_streams_open (\d+)/.exec(await (await fetch("/metrics")).text())?.[1];
    const stream = await fetch("/v1/events/stream");
    expect(await open()).toBe("1");
    await stream.body?.cancel();
    expect(await open()).toBe("0");
  });
});
