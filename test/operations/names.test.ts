/**
 * Names of operations: each is named after the SDK method that it calls, in this process and over
 * HTTP, and OpenAPI, the reference page and the documentation use the same name.
 */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { RemoteAgent } from "../../src/client/agent.ts";
import { RemoteHub } from "../../src/client/hub.ts";
import { RemoteOffer } from "../../src/client/offer.ts";
import { RemoteWork } from "../../src/client/work.ts";
import { openApi } from "../../src/http/openapi.ts";
import { referencePage } from "../../src/http/reference-page.ts";
import { LocalAgent } from "../../src/hub/agent.ts";
import { LocalHub } from "../../src/hub/hub.ts";
import { LocalWork } from "../../src/hub/local-work.ts";
import { LocalOffer } from "../../src/hub/offer.ts";
import { type Hub, openHub } from "../../src/index.ts";
import {
  CHAPTERS,
  chapterOf,
  OPERATIONS,
  operationOf,
  routeOf,
} from "../../src/operations/index.ts";
import type { Operation } from "../../src/operations/operation.ts";
import { methodPath } from "../../src/operations/run.ts";
import { STREAMS } from "../../src/operations/streams.ts";
import { listened } from "../http/support.ts";
import { freshAddress } from "../support/hub/support.ts";

const ROOT = join(import.meta.dirname, "../..");

type Owner = "hub" | "agent" | "work" | "offer";
/** The objects whose methods operations call, one of each kind. */
type Targets = Readonly<Record<Owner, object>>;

/** Returns the owners of an operation's method; a reader is both an agent and the hub. */
const ownersOf = ({ on }: Operation): readonly Owner[] =>
  on === "reader" ? ["hub", "agent"] : [on];

async function targetsOf(hub: Hub): Promise<Targets> {
  const ada = await hub.agent("ada", { role: "planner" });
  await ada.handoff({ to: "ada", task: "one", intent: "Do one." });
  await ada.handoff({ to: "ada", task: "two", intent: "Do two." });
  const work = await ada.accept({ task: "one" });
  const { value: offer } = await ada.inbox({ task: "two" }).next();
  if (work === undefined || !offer) throw new Error("what was handed over did not arrive");
  return { hub, agent: ada, work, offer };
}

/** Returns every operation whose owner does not have the method that it is named after. */
function missingMethods(targets: Targets): string[] {
  return OPERATIONS.flatMap((operation) => {
    const path = methodPath(operation);
    return ownersOf(operation)
      .filter((owner) => typeof memberAt(targets[owner], path) !== "function")
      .map((owner) => `${owner}: ${path.join(".")} (${operation.name})`);
  });
}

const memberAt = (owner: object, path: readonly string[]): unknown =>
  path.reduce<unknown>(
    (group, name) => (group as Record<string, unknown> | undefined)?.[name],
    owner,
  );

describe("the name of an operation", () => {
  it("is the path of an SDK method [OPS-7]", async () => {
    const { hub } = await listened(freshAddress("memory"));
    const targets = await targetsOf(hub);
    expect(targets.hub).toBeInstanceOf(LocalHub);
    expect(targets.agent).toBeInstanceOf(LocalAgent);
    expect(targets.work).toBeInstanceOf(LocalWork);
    expect(targets.offer).toBeInstanceOf(LocalOffer);
    expect(missingMethods(targets)).toEqual([]);
  });

  it("is the path of the same method on the HTTP client [OPS-7]", async () => {
    const { listening } = await listened(freshAddress("memory"));
    await using hub = await openHub(listening.address);
    const targets = await targetsOf(hub);
    expect(targets.hub).toBeInstanceOf(RemoteHub);
    expect(targets.agent).toBeInstanceOf(RemoteAgent);
    expect(targets.work).toBeInstanceOf(RemoteWork);
    expect(targets.offer).toBeInstanceOf(RemoteOffer);
    expect(missingMethods(targets)).toEqual([]);
  });

  it("starts with `work` or `offer` if and only if the method belongs to one [OPS-7]", () => {
    for (const { name, on } of OPERATIONS) {
      const isOfOne = on === "work" || on === "offer";
      expect([name, /^(work|offer)\./.exec(name)?.[1]]).toEqual([name, isOfOne ? on : undefined]);
    }
  });

  it("is unique, and so is the route [OPS-7]", () => {
    const names = [...OPERATIONS.map(({ name }) => name), ...Object.keys(STREAMS)];
    expect(repeated(names)).toEqual([]);
    // Routes that differ only in the name of a parameter are the same.
    const routes = [...OPERATIONS, ...Object.values(STREAMS)].map(({ route }) =>
      route.replace(/:\w+/g, ":"),
    );
    expect(repeated(routes)).toEqual([]);
    for (const { name } of OPERATIONS) expect(operationOf(name).name).toBe(name);
  });

  it("belongs to one chapter [OPS-7]", () => {
    const inChapters = Object.values(CHAPTERS).flatMap(({ operations }) => Object.keys(operations));
    expect(repeated(inChapters)).toEqual([]);
    for (const name of Object.keys(STREAMS)) expect(CHAPTERS).toHaveProperty(chapterOf(name));
  });

  it("is the operationId at its route in the OpenAPI document [OPS-7]", () => {
    const { paths } = openApi() as {
      paths: Record<string, Record<string, { operationId: string }>>;
    };
    const described = Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, { operationId }]) => [
        operationId,
        `${method.toUpperCase()} ${path.replace(/\{(\w+)\}/g, ":$1")}`,
      ]),
    );
    const defined = [
      ...OPERATIONS.map(({ name, route }) => [name, route]),
      ...Object.entries(STREAMS).map(([name, { route }]) => [name, route]),
    ];
    expect(described.toSorted()).toEqual(defined.toSorted());
  });

  it("is the heading on the reference page [OPS-7]", () => {
    const listed = [...referencePage("http://127.0.0.1").matchAll(/<h3 id="([^"]+)">/g)].map(
      ([, name]) => name,
    );
    const defined = [...OPERATIONS.map(({ name }) => name), ...Object.keys(STREAMS)];
    expect(listed.toSorted()).toEqual(defined.toSorted());
  });
});

describe("the fields of an operation", () => {
  it.each(OPERATIONS)("include those of its route and its method: $name [OPS-7]", (operation) => {
    const { args = [], field, input, output } = operation;
    const parts = [...routeOf(operation)[1].matchAll(/:(\w+)/g)].map(([, part]) => part);
    expect(Object.keys(input.shape)).toEqual(expect.arrayContaining([...parts, ...args]));
    if (field !== undefined) {
      expect(Object.keys((output as unknown as { shape: object }).shape)).toEqual([field]);
    }
  });
});

/**
 * Matches calls in the pages: `GET /v1/deliveries/:id`, `PUT /v1/x/{name}`, `curl -X POST
 * host/v1/memories`.
 */
const CALL = /\b(GET|POST|PUT|PATCH|DELETE) +(?:[\w.:]*)(\/v1\/[\w/:{}-]+)/g;

describe("the documentation", () => {
  const pages = ["README.md", ...globSync("docs/*.md", { cwd: ROOT })];
  const routes = [...OPERATIONS, ...Object.values(STREAMS)].map(
    ({ route }) => new RegExp(`^${route.replace(/:\w+/g, "[^/]+")}$`),
  );
  const callsIn = (page: string): string[] =>
    [...readFileSync(join(ROOT, page), "utf8").matchAll(CALL)].map(
      ([, method, path]) => `${method} ${path}`,
    );

  it.each(pages)("contains known routes only: %s [OPS-7]", (page) => {
    const unknown = callsIn(page).filter((call) => !routes.some((route) => route.test(call)));
    expect(unknown).toEqual([]);
  });

  it("contains known operations only: docs/HTTP.md [OPS-7]", () => {
    const page = readFileSync(join(ROOT, "docs/HTTP.md"), "utf8");
    const named = [...page.matchAll(/`([a-z]\w*(?:\.[a-z]\w*)+)`/g)].map(([, name]) => name);
    const defined = [...OPERATIONS.map(({ name }) => name), ...Object.keys(STREAMS)];
    expect(named.filter((name) => !defined.includes(name ?? ""))).toEqual([]);
    expect(named).toContain("deliveries.get");
  });

  it("contains routes, so that the tests above check something [OPS-7]", () => {
    expect(callsIn("docs/HTTP.md").length).toBeGreaterThan(10);
  });
});

const repeated = (texts: readonly string[]): string[] =>
  texts.filter((text, i) => texts.indexOf(text) !== i);
