/**
 * One name for one thing: an operation is named after the method of the SDK that it calls, in this process
 * and over HTTP, and is called so in the description, in the reference and on the pages.
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
import { LocalOffer } from "../../src/hub/offer.ts";
import { LocalWork } from "../../src/hub/work.ts";
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
/** What a caller has in hand, of each kind. */
type Hands = Readonly<Record<Owner, object>>;

/** Whose method an operation is; of a reader, both an agent's and the hub's. */
const ownersOf = ({ on }: Operation): readonly Owner[] =>
  on === "reader" ? ["hub", "agent"] : [on];

async function handsOf(hub: Hub): Promise<Hands> {
  const ada = await hub.agent("ada", { role: "planner" });
  await ada.handoff({ to: "ada", task: "one", intent: "Do one." });
  await ada.handoff({ to: "ada", task: "two", intent: "Do two." });
  const work = await ada.accept({ task: "one" });
  const { value: offer } = await ada.inbox({ task: "two" }).next();
  if (work === undefined || !offer) throw new Error("what was handed over did not arrive");
  return { hub, agent: ada, work, offer };
}

/** Every operation whose owners do not have the method that it is named after. */
function without(hands: Hands): string[] {
  return OPERATIONS.flatMap((operation) => {
    const path = methodPath(operation);
    return ownersOf(operation)
      .filter((owner) => typeof memberAt(hands[owner], path) !== "function")
      .map((owner) => `${owner}: ${path.join(".")} (${operation.name})`);
  });
}

const memberAt = (owner: object, path: readonly string[]): unknown =>
  path.reduce<unknown>(
    (group, name) => (group as Record<string, unknown> | undefined)?.[name],
    owner,
  );

describe("the name of an operation", () => {
  it("is the path of a method of the SDK [OPS-7]", async () => {
    const { hub } = await listened(freshAddress("memory"));
    const hands = await handsOf(hub);
    expect(hands.hub).toBeInstanceOf(LocalHub);
    expect(hands.agent).toBeInstanceOf(LocalAgent);
    expect(hands.work).toBeInstanceOf(LocalWork);
    expect(hands.offer).toBeInstanceOf(LocalOffer);
    expect(without(hands)).toEqual([]);
  });

  it("is the path of the same method of the client [OPS-7]", async () => {
    const { listening } = await listened(freshAddress("memory"));
    await using hub = await openHub(listening.address);
    const hands = await handsOf(hub);
    expect(hands.hub).toBeInstanceOf(RemoteHub);
    expect(hands.agent).toBeInstanceOf(RemoteAgent);
    expect(hands.work).toBeInstanceOf(RemoteWork);
    expect(hands.offer).toBeInstanceOf(RemoteOffer);
    expect(without(hands)).toEqual([]);
  });

  it("says which work or offer it is of, where it is of one [OPS-7]", () => {
    for (const { name, on } of OPERATIONS) {
      const isOfOne = on === "work" || on === "offer";
      expect([name, /^(work|offer)\./.exec(name)?.[1]]).toEqual([name, isOfOne ? on : undefined]);
    }
  });

  it("and its route are its own [OPS-7]", () => {
    const names = [...OPERATIONS.map(({ name }) => name), ...Object.keys(STREAMS)];
    expect(repeated(names)).toEqual([]);
    // Two that differ in the name of a part only are one.
    const routes = [...OPERATIONS, ...Object.values(STREAMS)].map(({ route }) =>
      route.replace(/:\w+/g, ":"),
    );
    expect(repeated(routes)).toEqual([]);
    for (const { name } of OPERATIONS) expect(operationOf(name).name).toBe(name);
  });

  it("is in one chapter [OPS-7]", () => {
    const inChapters = Object.values(CHAPTERS).flatMap(({ operations }) => Object.keys(operations));
    expect(repeated(inChapters)).toEqual([]);
    for (const name of Object.keys(STREAMS)) expect(CHAPTERS).toHaveProperty(chapterOf(name));
  });

  it("is what the description calls it, at its route [OPS-7]", () => {
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

  it("is what the reference calls it [OPS-7]", () => {
    const listed = [...referencePage("http://127.0.0.1").matchAll(/<h3 id="([^"]+)">/g)].map(
      ([, name]) => name,
    );
    const defined = [...OPERATIONS.map(({ name }) => name), ...Object.keys(STREAMS)];
    expect(listed.toSorted()).toEqual(defined.toSorted());
  });
});

describe("the fields of an operation", () => {
  it.each(OPERATIONS)(
    "are those that its route and its method take: $name [OPS-7]",
    (operation) => {
      const { args = [], field, input, output } = operation;
      const parts = [...routeOf(operation)[1].matchAll(/:(\w+)/g)].map(([, part]) => part);
      expect(Object.keys(input.shape)).toEqual(expect.arrayContaining([...parts, ...args]));
      if (field !== undefined) {
        expect(Object.keys((output as unknown as { shape: object }).shape)).toEqual([field]);
      }
    },
  );
});

/** As the pages write it: `GET /v1/deliveries/:id`, `PUT /v1/x/{name}`, `curl -X POST host/v1/memories`. */
const CALL = /\b(GET|POST|PUT|PATCH|DELETE) +(?:[\w.:]*)(\/v1\/[\w/:{}-]+)/g;

describe("the pages", () => {
  const pages = ["README.md", ...globSync("docs/*.md", { cwd: ROOT })];
  const routes = [...OPERATIONS, ...Object.values(STREAMS)].map(
    ({ route }) => new RegExp(`^${route.replace(/:\w+/g, "[^/]+")}$`),
  );
  const callsIn = (page: string): string[] =>
    [...readFileSync(join(ROOT, page), "utf8").matchAll(CALL)].map(
      ([, method, path]) => `${method} ${path}`,
    );

  it.each(pages)("name no route that there is not: %s [OPS-7]", (page) => {
    const unknown = callsIn(page).filter((call) => !routes.some((route) => route.test(call)));
    expect(unknown).toEqual([]);
  });

  it("name no operation that there is not: docs/HTTP.md [OPS-7]", () => {
    const page = readFileSync(join(ROOT, "docs/HTTP.md"), "utf8");
    const named = [...page.matchAll(/`([a-z]\w*(?:\.[a-z]\w*)+)`/g)].map(([, name]) => name);
    const defined = [...OPERATIONS.map(({ name }) => name), ...Object.keys(STREAMS)];
    expect(named.filter((name) => !defined.includes(name ?? ""))).toEqual([]);
    expect(named).toContain("deliveries.get");
  });

  it("name some, so that this is looked at [OPS-7]", () => {
    expect(callsIn("docs/HTTP.md").length).toBeGreaterThan(10);
  });
});

const repeated = (texts: readonly string[]): string[] =>
  texts.filter((text, i) => texts.indexOf(text) !== i);
