/** The HTTP server: addresses, request bodies, query parameters and the request log. */
import { describe, expect, it } from "vitest";
import type { RequestLogEntry } from "../../src/http/app.ts";
import { listen } from "../../src/http/listen.ts";
import { openLocalHub } from "../../src/open/open-hub.ts";
import { freshAddress } from "../support/hub/support.ts";
import { as, json, listened, served } from "./support.ts";

describe("the address of a hub", () => {
  it.each(["127.0.0.1", "127.0.0.2", "::1", "localhost"])(
    "is reachable when the hub listens on %s [OPS-5]",
    async (host) => {
      const { listening } = await listened(freshAddress("memory"), { host });
      expect((await fetch(`${listening.address}/v1/agents`)).status).toBe(200);
    },
  );

  it.each([99_999, -1])("is refused with cannot_listen for the port %i", async (port) => {
    await using hub = await openLocalHub(freshAddress("memory"), {});
    await expect(listen(hub, { port })).rejects.toMatchObject({ code: "cannot_listen" });
  });
});

describe("a request body", () => {
  it.each(["with its length", "in chunks"])(
    "is refused if it is not valid UTF-8, and nothing is stored: %s",
    async (how) => {
      const { hub, listening } = await listened(freshAddress("memory"));
      const ada = await hub.agent("ada", {});
      const latin1 = Buffer.from('{"memories":[{"content":"Größe"}]}', "latin1");
      const body = how === "in chunks" ? new Blob([latin1]).stream() : latin1;
      const response = await fetch(`${listening.address}/v1/memories`, {
        method: "POST",
        headers: { ...json, ...as("ada") },
        body,
        duplex: "half",
      } as RequestInit);
      expect(response.status).toBe(400);
      expect(await response.json()).toMatchObject({ code: "invalid_input", path: "body" });
      expect((await ada.memories.recent()).items).toEqual([]);
    },
  );
});

describe("an export of memories", () => {
  it("accepts a numeric text as a filter, and refuses a repeated parameter", async () => {
    const { fetch, hub } = await served({ open: "coordinator" });
    const ada = await hub.agent("ada", {});
    await ada.remember({ content: "Of the task.", task: "42" });
    await ada.remember({ content: "Of another.", task: "43" });
    const text = await (await fetch("/v1/memories-export?task=42")).text();
    expect(text).toContain("Of the task.");
    expect(text).not.toContain("Of another.");
    const twice = await fetch("/v1/memories-export?task=42&task=43");
    expect(await twice.json()).toMatchObject({ code: "invalid_input", path: "task" });
  });
});

describe("the request log", () => {
  it("contains every request, also streams and refused ones [OPS-5]", async () => {
    const log: RequestLogEntry[] = [];
    const { fetch, http } = await served({ open: "coordinator", onAnswer: (it) => log.push(it) });
    await fetch("/v1/agents");
    await (await fetch("/v1/events/stream")).body?.cancel();
    await http.fetch(new Request("http://evil.example/v1/agents"));
    expect(log.map(({ operation, status, caller }) => [operation, status, caller])).toEqual([
      ["agents.list", 200, "open"],
      ["events.stream", 200, "open"],
      ["refused", 403, ""],
    ]);
  });
});
