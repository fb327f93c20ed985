/** The check of host and origin, which comes before authentication. */
import { describe, expect, it } from "vitest";
import { checkHostAndOrigin, corsHeaders, preflight } from "../../src/http/guard.ts";
import { OPERATIONS, routeOf } from "../../src/operations/index.ts";
import { caught } from "../support/caught.ts";

const OWN = { hosts: ["hub.example"], origins: ["https://team.example"] };

const request = (headers: Record<string, string>): Request =>
  new Request("http://127.0.0.1:4747/v1/agents", { headers });

describe("the host and origin check", () => {
  it.each([
    "127.0.0.1:4747",
    "localhost:4747",
    "LOCALHOST",
    "[::1]:4747",
    "hub.example",
    "hub.example:443",
  ])("allows the host %s [OPS-5]", (host) => {
    expect(caught(() => checkHostAndOrigin(request({ host }), OWN))).toBeUndefined();
  });

  it.each([
    "evil.example",
    "evil.example:4747",
    "127.0.0.1.evil.example",
    "localhost.evil.example",
    "hub.example.evil.example",
    "user@localhost",
    "",
    "localhost:4747/x",
    "127.0.0.1, evil.example",
  ])("refuses the unknown host %j, against DNS rebinding [OPS-5]", (host) => {
    expect(caught(() => checkHostAndOrigin(request({ host }), OWN))).toMatchObject({
      code: "forbidden",
      path: "host",
    });
  });

  it.each([
    [{}, undefined],
    [{ origin: "http://127.0.0.1:4747" }, undefined],
    [{ origin: "https://team.example" }, undefined],
    [{ origin: "https://evil.example" }, "origin"],
    [{ origin: "http://127.0.0.1:8080" }, "origin"],
    [{ origin: "null" }, "origin"],
    [{ origin: "https://team.example.evil.example" }, "origin"],
    [{ "sec-fetch-site": "cross-site" }, "origin"],
    [{ "sec-fetch-site": "same-origin" }, undefined],
  ])("accepts pages only of its own and of configured origins: %j [OPS-5]", (headers, path) => {
    const error = caught(() =>
      checkHostAndOrigin(request({ host: "127.0.0.1:4747", ...headers }), OWN),
    );
    expect((error as { path?: string } | undefined)?.path).toBe(path);
  });

  it("sends CORS headers only to configured origins [OPS-5]", () => {
    const named = request({ origin: "https://team.example" });
    expect(corsHeaders(named, OWN)).toEqual({
      "access-control-allow-origin": "https://team.example",
      "access-control-expose-headers": "retry-after",
      vary: "origin",
    });
    const methods = preflight(named, OWN).headers.get("access-control-allow-methods")?.split(", ");
    expect(methods).toEqual(
      expect.arrayContaining(OPERATIONS.map((operation) => routeOf(operation)[0])),
    );
    for (const origin of ["https://evil.example", "http://127.0.0.1:4747", "null"]) {
      const other = request({ origin });
      expect(corsHeaders(other, OWN)).toEqual({});
      expect([...preflight(other, OWN).headers.keys()]).toEqual([]);
    }
    expect(corsHeaders(request({}), OWN)).toEqual({});
  });
});
