/**
 * The OpenAPI description: it passes a linter, and it is accurate. Every route is called as
 * described, and every response is checked against its schema.
 */

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openApi } from "../../src/http/openapi.ts";
import { ENVELOPE_VERSION, ENVELOPE_VERSIONS, envelopeJsonSchema } from "../../src/index.ts";
import { OPERATIONS, operationOf } from "../../src/operations/index.ts";
import { STREAMS } from "../../src/operations/streams.ts";
import { tempFolder } from "../support/hub/support.ts";
import { runScript } from "../support/run-script.ts";
import { wrongIn, wrongInProblem } from "./fuzz/answers.ts";
import { askedBy, type Described, describedOperations, saidIn } from "./fuzz/described.ts";
import { ACTOR, factsOf, type Scene, SESSION, sceneOn } from "./scene.ts";
import { as, type Served, served } from "./support.ts";

const LINT = "node_modules/@redocly/cli/bin/cli.js";
const described = describedOperations();
const isStream = ({ name }: Described): boolean => Object.hasOwn(STREAMS, name);
const calls = described.filter((operation) => !isStream(operation));

/** Returns a call of the operation, built from its description and the ids of the scene. */
function callOf(operation: Described, scene: Scene): [path: string, init: RequestInit] {
  const facts = factsOf(scene)[operation.name] ?? {};
  const { method, path, body } = askedBy(operation, saidIn(operation, facts, { texts: scene.ids }));
  const type = body === undefined ? {} : { "content-type": "application/json" };
  const headers = { ...as(ACTOR, SESSION), ...type };
  return [path, { method, headers, ...(body === undefined ? {} : { body }) }];
}

async function onStage(): Promise<Served & { readonly scene: Scene }> {
  const stage = await served({ open: "admin" });
  return { ...stage, scene: await sceneOn(stage.hub) };
}

describe("the OpenAPI description", () => {
  it("passes the linter without a warning [OPS-7]", { timeout: 180_000 }, async () => {
    const file = join(tempFolder(), "openapi.json");
    writeFileSync(file, JSON.stringify(openApi()));
    const config = join(import.meta.dirname, "redocly.yaml");
    const lint = await runScript(LINT, ["lint", file, "--config", config, "--format", "json"], {
      env: { REDOCLY_TELEMETRY: "off", REDOCLY_SUPPRESS_UPDATE_NOTICE: "true" },
    });
    const { problems } = JSON.parse(lint.stdout) as { problems: { message: string }[] };
    expect(problems.map(({ message }) => message)).toEqual([]);
    expect(lint.code).toBe(0);
  });

  it("is sent once to a caller that keeps it [OPS-7]", async () => {
    const { fetch } = await served({ open: "admin" });
    const first = await fetch("/openapi.json", {});
    const etag = first.headers.get("etag") ?? "";
    expect(await first.json()).toEqual(openApi());
    for (const known of [etag, `W/${etag}`, `"other", ${etag}`]) {
      const again = await fetch("/openapi.json", { headers: { "if-none-match": known } });
      expect([again.status, await again.text()]).toEqual([304, ""]);
    }
    const other = await fetch("/openapi.json", { headers: { "if-none-match": '"other"' } });
    expect(other.status).toBe(200);
  });

  it("contains every operation and stream once, with the access it requires [OPS-7]", () => {
    const names = [...OPERATIONS.map(({ name }) => name), ...Object.keys(STREAMS)].sort();
    expect(described.map(({ name }) => name).sort()).toEqual(names);
    for (const { name, method, path } of calls) {
      expect(`${method} ${path.replace(/\{(\w+)\}/g, ":$1")}`).toBe(operationOf(name).route);
      const operation = (
        openApi()["paths"] as Record<string, Record<string, { description: string }>>
      )[path]?.[method.toLowerCase()];
      expect(operation?.description).toContain(`"${operationOf(name).access}"`);
    }
  });

  it("is served at /openapi.json", async () => {
    const { fetch } = await served();
    expect(await (await fetch("/openapi.json")).json()).toEqual(openApi());
  });
});

describe("a call built from its description", () => {
  it("succeeds with the described response for every GET operation [OPS-7]", async () => {
    const { fetch, scene, bugs } = await onStage();
    for (const operation of calls.filter(({ method }) => method === "GET")) {
      const response = await fetch(...callOf(operation, scene));
      const body: unknown = await response.json();
      expect([operation.name, response.status, body]).toEqual([operation.name, 200, body]);
      expect([operation.name, wrongIn(operation, body)]).toEqual([operation.name, []]);
      expect(wrongIn(operation, "nothing of the kind")).not.toEqual([]);
    }
    expect(bugs).toEqual([]);
  });

  it.each(calls.filter(({ method }) => method !== "GET"))(
    "succeeds with the described response: $name [OPS-7]",
    async (operation) => {
      const { fetch, scene, bugs } = await onStage();
      const response = await fetch(...callOf(operation, scene));
      const body: unknown = await response.json();
      expect([response.status, body]).toEqual([200, body]);
      expect(wrongIn(operation, body)).toEqual([]);
      expect(bugs).toEqual([]);
    },
  );

  it("opens each stream with its content type [OPS-7]", async () => {
    const { fetch, scene, bugs } = await onStage();
    const types = {
      "events.stream": "text/event-stream",
      "inbox.stream": "text/event-stream",
      "archive.export": "application/x-ndjson",
      "memories.export": "application/x-ndjson",
    };
    for (const [name, type] of Object.entries(types)) {
      const operation = described.find((each) => each.name === name) as Described;
      const response = await fetch(...callOf(operation, scene));
      expect([name, response.status, response.headers.get("content-type")]).toEqual([
        name,
        200,
        type,
      ]);
      const { value } = (await response.body?.getReader().read()) ?? {};
      expect(value?.byteLength).toBeGreaterThan(0);
    }
    expect(bugs).toEqual([]);
  });

  it("imports what another hub exported [OPS-7]", async () => {
    const { fetch, bugs } = await onStage();
    const lines = await (await fetch("/v1/export")).text();
    const other = await served({ open: "admin" });
    const init = {
      method: "POST",
      headers: { "content-type": "application/x-ndjson" },
      body: lines,
    };
    const response = await other.fetch("/v1/import", init);
    expect([response.status, await response.json()]).toMatchObject([200, {}]);
    expect(await (await other.fetch("/v1/totals")).json()).toEqual(
      await (await fetch("/v1/totals")).json(),
    );
    expect([...bugs, ...other.bugs]).toEqual([]);
  });

  it("is refused with a problem document as described [OPS-7]", async () => {
    const { fetch, scene } = await onStage();
    const refusals = [
      await fetch(`/v1/memories/${scene.fact}?nothing=1`, { headers: as(ACTOR) }),
      await fetch("/v1/nowhere"),
      await fetch("/v1/agents/nobody"),
      await fetch("/v1/totals", { method: "PUT" }),
    ];
    expect(refusals.map(({ status }) => status)).toEqual([400, 404, 404, 405]);
    for (const response of refusals) {
      expect(response.headers.get("content-type")).toBe("application/problem+json");
      expect(wrongInProblem(await response.json())).toEqual([]);
    }
  });
});

describe("the published schemas", () => {
  it.each(ENVELOPE_VERSIONS)(
    "are the same over HTTP, on the command line and in the package: envelope %s [ENV-8]",
    async (version) => {
      const { fetch } = await served();
      const response = await fetch(`/schemas/envelope-${version}.json`);
      expect(response.status).toBe(200);
      const overHttp: unknown = await response.json();
      const { stdout } = await runScript("src/cli/main.ts", [
        ...["schema", "envelope", "--version", version],
      ]);
      expect(overHttp).toEqual(JSON.parse(stdout));
      expect(overHttp).toEqual(JSON.parse(JSON.stringify(envelopeJsonSchema(version))));
    },
  );

  it("are listed, the newest also without a version; others are not found [ENV-8]", async () => {
    const { fetch } = await served();
    const { schemas } = (await (await fetch("/schemas")).json()) as { schemas: string[] };
    expect(schemas).toEqual([
      "envelope.json",
      ...ENVELOPE_VERSIONS.map((version) => `envelope-${version}.json`),
      "context.json",
    ]);
    const newest = await (await fetch("/schemas/envelope.json")).json();
    const named = await (await fetch(`/schemas/envelope-${ENVELOPE_VERSION}.json`)).json();
    expect(newest).toEqual(named);
    for (const name of ["envelope-9.9.json", "__proto__", "constructor", "toString"]) {
      expect((await fetch(`/schemas/${name}`)).status).toBe(404);
    }
  });
});
