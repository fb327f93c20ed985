/** Health, readiness and metrics: for whoever watches the hub. */
import { describe, expect, it } from "vitest";
import { as, posting, served } from "./support.ts";

describe("whoever watches the hub", () => {
  it("is told that it lives, and which it is", async () => {
    const { fetch } = await served();
    expect(await (await fetch("/healthz")).json()).toMatchObject({ status: "ok" });
  });

  it("is told that it is ready while its store answers, and not after [OPS-7]", async () => {
    const { fetch, hub } = await served();
    expect((await fetch("/readyz")).status).toBe(200);
    await hub.close();
    const response = await fetch("/readyz");
    expect(response.status).toBe(503);
    expect(await response.json()).toMatchObject({ code: "store_closed" });
    expect((await fetch("/healthz")).status).toBe(200); // It lives all the same.
  });

  it("is told that it is not ready when it is closing", async () => {
    const { fetch, http } = await served();
    http.close();
    expect((await fetch("/readyz")).status).toBe(503);
  });

  it("counts calls by what they were and how they ended, and how long they took [OPS-7]", async () => {
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
    expect(lines).toContain("baton_http_requests_under_way 1"); // This one.
    expect(lines).toContain("baton_http_streams_open 0");
    for (const line of lines.filter((each) => each !== "" && !each.startsWith("#"))) {
      expect(line).toMatch(/^[a-z_]+(\{[^}]*\})? [\d.e+-]+$/);
    }
  });

  it("counts buckets that only grow, up to all of them", async () => {
    const { fetch } = await served({ open: "coordinator" });
    for (let n = 0; n < 20; n++) await fetch("/v1/agents");
    const text = await (await fetch("/metrics")).text();
    const buckets = [...text.matchAll(/_bucket\{operation="agents\.list",le="[^"]+"\} (\d+)/g)];
    const counts = buckets.map(([, count]) => Number(count));
    expect(counts).toEqual(counts.toSorted((a, b) => a - b));
    expect(counts.at(-1)).toBe(20);
  });

  it("counts a stream while it is open, and not after", async () => {
    const { fetch } = await served({ open: "coordinator" });
    const open = async () =>
      /baton_http_streams_open (\d+)/.exec(await (await fetch("/metrics")).text())?.[1];
    const stream = await fetch("/v1/events/stream");
    expect(await open()).toBe("1");
    await stream.body?.cancel();
    expect(await open()).toBe("0");
  });
});
