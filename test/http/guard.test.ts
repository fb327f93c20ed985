/** The check of host and origin, which comes before authentication. */
import { describe, expect, it } from "vitest";
import { checkHostAndOrigin, checkOrigins, corsHeaders, preflight } from "../../src/http/guard.ts";
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

  const SAME_SITE = { host: "127.0.0.1:4747", "sec-fetch-site": "same-site" };
  const NAVIGATION = { "sec-fetch-mode": "navigate", "sec-fetch-dest": "document" };

  it.each([
    ["a request of another port", {}, true],
    ["a frame", { ...NAVIGATION, "sec-fetch-dest": "iframe" }, true],
    ["a link to a page with data", NAVIGATION, false],
  ])("refuses %s of this machine [OPS-5]", (_, headers, isPublic) => {
    const asked = request({ ...SAME_SITE, ...headers });
    expect(caught(() => checkHostAndOrigin(asked, OWN, () => isPublic))).toMatchObject({
      code: "forbidden",
      path: "origin",
    });
  });

  it("allows a link from another port of this machine to a public page [OPS-5]", () => {
    const asked = request({ ...SAME_SITE, ...NAVIGATION });
    expect(caught(() => checkHostAndOrigin(asked, OWN, () => true))).toBeUndefined();
  });

  it("allows requests of another port whose origin is allowed [OPS-5]", () => {
    const origin = "http://127.0.0.1:3000";
    const asked = request({ ...SAME_SITE, origin });
    const guard = { ...OWN, origins: [origin] };
    expect(caught(() => checkHostAndOrigin(asked, guard))).toBeUndefined();
  });

  it.each(["null", "*", "team.example", "https://team.example/", "https://team.example/app", ""])(
    "cannot be told to allow the origin %j [OPS-5]",
    (origin) => {
      expect(caught(() => checkOrigins(["https://team.example", origin]))).toMatchObject({
        code: "invalid_input",
        path: "origins",
      });
    },
  );

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
