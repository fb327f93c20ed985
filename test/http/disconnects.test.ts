/** Callers that disconnect during a call: nothing is lost, left open or reported as a bug. */
import { describe, expect, it } from "vitest";
import { freshAddress } from "../support/hub/support.ts";
import { until } from "../support/until.ts";
import { as, type Listened, listened, posting, served } from "./support.ts";

const openStreams = async (metrics: Response): Promise<string | undefined> =>
  /baton_http_streams_open (\d+)/.exec(await metrics.text())?.[1];

const onFile = (options: Parameters<typeof listened>[1] = {}): Promise<Listened> =>
  listened(freshAddress("sqlite"), options);

describe("a HEAD request", () => {
  it.each(["/v1/events/stream", "/v1/inbox/stream", "/v1/export", "/v1/memories-export"])(
    "leaves no stream open: %s",
    async (path) => {
      const { fetch, hub, bugs } = await served({ store: "sqlite", open: "admin" });
      await (await hub.agent("ada", {})).remember({ content: "Something." });
      const head = await fetch(path, { method: "HEAD", headers: as("ada") });
      expect(head.status).toBe(200);
      expect(await head.text()).toBe("");
      expect(await openStreams(await fetch("/metrics"))).toBe("0");
      expect(bugs).toEqual([]);
    },
  );

  it("returns the status and content type of the GET request", async () => {
    const { fetch } = await served({ open: "coordinator" });
    for (const path of ["/v1/agents?what=1", "/v1/nothing", "/v1/agents"]) {
      const [head, whole] = [await fetch(path, { method: "HEAD" }), await fetch(path)];
      expect([path, head.status]).toEqual([path, whole.status]);
      expect(head.headers.get("content-type")).toBe(whole.headers.get("content-type"));
    }
  });
});

describe("a caller that disconnects", () => {
  it("stops waiting for work, which the next caller gets as attempt 1 [DLV-6]", async () => {
    const { hub, listening, bugs } = await onFile();
    const [ada, ben] = [await hub.agent("ada", {}), await hub.agent("ben", {})];
    const gone = new AbortController();
    const waiting = fetch(`${listening.address}/v1/inbox/accept`, {
      ...posting({ waitMs: 25_000 }, as("ben", "gone")),
      signal: gone.signal,
    }).catch((error: Error) => error.name);
    const underWay = (calls: number) =>
      until(`${calls} calls under way`, async () => {
        const metrics = await (await fetch(`${listening.address}/metrics`)).text();
        return metrics.includes(`baton_http_requests_under_way ${calls}\n`); // Includes this one.
      });
    await underWay(2);
    gone.abort();
    expect(await waiting).toBe("AbortError");
    await underWay(1);
    await ada.handoff({ to: "ben", intent: "Look at it" });
    const work = await ben.accept({ wait: true });
    expect((await hub.deliveries.get(work?.id ?? "")).delivery).toMatchObject({
      state: "accepted",
      attempt: 1,
      instance: ben.instance,
    });
    expect(bugs).toEqual([]);
  });

  it("leaves no stream open", async () => {
    const { hub, listening } = await onFile();
    await hub.agent("ada", {});
    for (const path of ["/v1/events/stream", "/v1/inbox/stream"]) {
      const gone = new AbortController();
      const { signal } = gone;
      const response = await fetch(`${listening.address}${path}`, { headers: as("ada"), signal });
      expect(response.status).toBe(200);
      gone.abort();
      await until(`${path} is closed`, async () => {
        return (await openStreams(await fetch(`${listening.address}/metrics`))) === "0";
      });
    }
  });

  it("imports nothing from an incomplete body, and is not reported as a bug", async () => {
    const source = await served({ store: "sqlite" });
    await (await source.hub.agent("ada", {})).remember({ content: "Something." });
    const lines = await Array.fromAsync(source.hub.archive.export());
    const { fetch, hub, bugs } = await served({ store: "sqlite", open: "admin" });
    async function* broken() {
      yield* lines.slice(0, -1).map((line) => Buffer.from(line));
      throw new Error("the connection was reset");
    }
    const body = ReadableStream.from(broken());
    const response = await fetch("/v1/import", { method: "POST", body, duplex: "half" } as object);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ code: "invalid_input", path: "body" });
    expect(await hub.agents.list()).toEqual([]);
    expect((await hub.memories.recent()).items).toEqual([]);
    expect(bugs).toEqual([]);
  });
});
