/** Payload types and allowed actions of a workspace: registered once, enforced by every process. */
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { type Hub, type JsonSchema, LocalHub, type Store } from "../../../src/index.ts";
import { sharedStore } from "../../support/hub/shared-store.ts";
import {
  contents,
  freshAddress,
  open,
  openFresh,
  openTwo,
  refusal,
  STORES,
  take,
  tempFolder,
} from "../../support/hub/support.ts";
import { until } from "../../support/until.ts";

const PATCH: JsonSchema = {
  type: "object",
  required: ["files"],
  properties: { files: { type: "array", items: { type: "string" } } },
};
const PATCH_2: JsonSchema = { ...PATCH, required: ["files", "risk"] };

const GOOD = { type: "patch", data: { files: ["a.ts"] } };
const BAD = { type: "patch", data: { files: ["a.ts", 7] } };

const draft = (payload: { type: string; data: object }, more: object = {}) => ({
  ...{ to: "ben", intent: "Go", payload },
  ...more,
});

async function team(hub: Hub) {
  return {
    hub,
    ada: await hub.agent("ada", { role: "planner" }),
    ben: await hub.agent("ben", { role: "coder" }),
  };
}

const codeOf = (attempt: Promise<unknown>): Promise<string | undefined> =>
  attempt.then(
    () => undefined,
    (error) => error.code,
  );

describe.each(STORES)("a registered payload type on %s", (store) => {
  it("is enforced wherever a payload is sent; refused calls store nothing [ENV-13]", async () => {
    const { hub, ada, ben } = await team(await openFresh(store));
    await hub.payloadTypes.set("patch", PATCH);
    await hub.channels.set("news");
    await ben.channels.subscribe("news");
    const other = await ada.handoff({ to: "ben", task: "other", intent: "Go" });
    const sent = await ada.handoff(draft(GOOD, { task: "held" }));
    const work = await take(ben, { task: "held" });
    const dead = await ada.handoff(draft(GOOD, { task: "dead", policy: { attempts: 1 } }));
    await (await take(ben, { task: "dead" })).fail({ message: "No", class: "permanent" });
    const before = await contents(hub);
    const ways: Record<string, () => Promise<unknown>> = {
      handoff: () => ada.handoff(draft(BAD)),
      extension: () => ada.handoff(draft(BAD, { task: "held" })),
      "hand on": () => work.handoff({ to: "ada", payload: BAD }),
      join: () => ada.handoffs.join([other.id], draft(BAD)),
      channel: () => ada.handoff(draft(BAD, { to: "channel:news" })),
      "edited dead letter": () => ada.deadLetters.redrive(dead.id, { payload: BAD }),
      edit: () => ben.approvals.edit(other.id, { payload: BAD }),
      task: () => ada.tasks.add({ ...draft(BAD), task: "queued" }),
      preview: () => ada.handoffs.preview(draft(BAD)),
    };
    for (const [way, attempt] of Object.entries(ways)) {
      const error = await refusal(attempt());
      const { code, path, violations, hint } = error;
      expect({ way, code, path }).toEqual({
        ...{ way, code: "invalid_payload", path: "payload.data.files[1]" },
      });
      expect(violations.map(({ rule }) => rule)).toEqual(["type"]);
      expect(hint).toContain("string");
      expect(await contents(hub), way).toEqual(before);
    }
    expect((await sent.status()).state).toBe("accepted");
    expect((await ada.handoff(draft(GOOD))).kind).toBe("sent");
  });

  it("is enforced by other hubs on the store, until it is removed [ENV-13]", async () => {
    const [one, two] = await openTwo(store);
    const { ada } = await team(one);
    await ada.handoff(draft(BAD)); // This hub now caches that nothing is registered.
    await two.payloadTypes.set("patch", PATCH);
    const attempt = () => codeOf(ada.handoff(draft(BAD)));
    expect(await until("a refusal", attempt)).toBe("invalid_payload");
    await two.payloadTypes.delete("patch");
    await until("an acceptance", async () => (await attempt()) === undefined);
  });

  it("gets a new version with each new schema, and keeps earlier versions [ENV-13]", async () => {
    const { hub, ada } = await team(await openFresh(store));
    const first = await hub.payloadTypes.set("patch", PATCH, { by: "ada" });
    expect(first).toEqual({
      ...{ name: "patch", version: 1, schema: PATCH },
      ...{ at: expect.any(Number), by: "ada" },
    });
    expect(await hub.payloadTypes.set("patch", { ...PATCH })).toEqual(first);
    const sent = await ada.handoff(draft(GOOD));
    const { createdAt } = sent.envelope.metadata;
    await until("a later millisecond", () => Date.now() > createdAt);
    expect(await hub.payloadTypes.set("patch", PATCH_2)).toMatchObject({
      version: 2,
      schema: PATCH_2,
    });
    expect(await codeOf(ada.handoff(draft(GOOD, { task: "t-2" })))).toBe("invalid_payload");
    const versions = await hub.payloadTypes.versions("patch");
    expect(versions.map(({ version, schema, by }) => ({ version, schema, by }))).toEqual([
      { version: 1, schema: PATCH, by: "ada" },
      { version: 2, schema: PATCH_2, by: undefined },
    ]);
    // The version that applied to an envelope is the last one registered before it was created.
    expect(versions.findLast(({ at }) => at <= createdAt)?.version).toBe(1);
    expect(await hub.payloadTypes.list()).toMatchObject([{ name: "patch", version: 2 }]);
  });

  it("continues its version numbers when it is removed and registered again [ENV-13]", async () => {
    const { hub, ada } = await team(await openFresh(store));
    await hub.payloadTypes.set("patch", PATCH);
    expect(await hub.payloadTypes.delete("patch")).toBeUndefined();
    expect(await hub.payloadTypes.delete("never")).toBeUndefined();
    expect(await hub.payloadTypes.list()).toEqual([]);
    expect(await codeOf(ada.handoff(draft(BAD)))).toBeUndefined();
    expect(await hub.payloadTypes.versions("patch")).toHaveLength(1);
    expect(await hub.payloadTypes.set("patch", PATCH)).toMatchObject({ version: 2 });
    const unknown = await refusal(hub.payloadTypes.versions("patsh"));
    expect(unknown).toMatchObject({ code: "unknown_payload_type", path: "name" });
    expect(unknown.hint).toContain("patch");
  });

  it("survives reopening, export and import [ENV-13]", async () => {
    const address = freshAddress(store);
    const { hub: first } = await team(await open(address));
    await first.payloadTypes.set("patch", PATCH);
    await first.payloadTypes.set("patch", PATCH_2);
    await first.settings.update({ handoffs: { actions: ["delegated"], unregistered: "refuse" } });
    const types = await first.payloadTypes.list();
    const copy = await openFresh(store);
    await copy.archive.import(await Array.fromAsync(first.archive.export()));
    if (store !== "memory") await first.close();
    const reopened = store === "memory" ? first : await open(address);
    for (const hub of [reopened, copy]) {
      const ada = await hub.agent("ada");
      expect(await hub.payloadTypes.list()).toEqual(types);
      expect(await hub.payloadTypes.versions("patch")).toHaveLength(2);
      expect((await hub.settings.get()).handoffs).toEqual({
        actions: ["delegated"],
        unregistered: "refuse",
      });
      expect(await codeOf(ada.handoff(draft(GOOD)))).toBe("invalid_payload");
      expect((await hub.verify()).problems).toEqual([]);
    }
  });

  it("does not refuse a payload that is handed on unchanged [ENV-13]", async () => {
    const { hub, ada, ben } = await team(await openFresh(store));
    const person = await hub.agent("pat", { kind: "person" });
    await ada.handoff(draft(GOOD, { task: "passed on" }));
    const edited = await ada.handoff(draft(GOOD, { to: "pat", task: "edited" }));
    const work = await take(ben);
    await hub.payloadTypes.set("patch", PATCH_2);
    expect((await work.handoff({ to: "ada", payload: GOOD })).kind).toBe("sent");
    expect((await person.approvals.edit(edited.id, { next: ["Go on"] })).kind).toBe("sent");
  });

  it("does not affect a repeated key [ENV-13]", async () => {
    const { hub, ada } = await team(await openFresh(store));
    const first = await ada.handoff(draft(BAD, { key: "k-1" }));
    await hub.payloadTypes.set("patch", PATCH);
    const again = await ada.handoff(draft(BAD, { key: "k-1" }));
    expect(again.envelope.id).toBe(first.envelope.id);
  });

  it("is not lost when two hubs register types concurrently [ENV-13]", async () => {
    const [one, two] = await openTwo(store);
    const names = ["a", "b", "c", "d", "e", "f"];
    await Promise.all(
      names.map((name, i) => (i % 2 === 0 ? one : two).payloadTypes.set(name, PATCH)),
    );
    for (const hub of [one, two]) {
      expect((await hub.payloadTypes.list()).map(({ name }) => name)).toEqual(names);
    }
  });
});

describe.each(STORES)("the handoff rules on %s", (store) => {
  it("refuse an action that is not allowed, in every hub on the store [ENV-13]", async () => {
    const [one, two] = await openTwo(store);
    const { ada, ben } = await team(one);
    expect((await one.settings.get()).handoffs).toEqual({ actions: [], unregistered: "accept" });
    const send = (action: string) => ada.handoff({ to: "ben", intent: "Go", action });
    await send("celebrated");
    await two.settings.update({
      handoffs: { actions: ["needs_review", "delegated", "delegated"] },
    });
    expect(await until("a refusal", () => codeOf(send("celebrated")))).toBe("invalid_envelope");
    const before = await contents(one);
    const error = await refusal(send("celebrated"));
    expect(error).toMatchObject({ code: "invalid_envelope", path: "action" });
    expect(error.hint).toContain("delegated, needs_review");
    expect(await contents(one)).toEqual(before);
    expect((await send("needs_review")).kind).toBe("sent");
    const work = await take(ben);
    expect(await codeOf(work.handoff({ to: "ada", action: "thrown" }))).toBe("invalid_envelope");
    expect((await one.settings.update({ handoffs: { actions: [] } })).handoffs).toMatchObject({
      actions: [],
    });
    expect((await send("celebrated")).kind).toBe("sent");
  });

  it("refuse an unregistered payload type when the workspace says so [ENV-13]", async () => {
    const { hub, ada } = await team(await openFresh(store));
    await hub.payloadTypes.set("patch", PATCH);
    await hub.settings.update({ handoffs: { unregistered: "refuse" } });
    const before = await contents(hub);
    const error = await refusal(ada.handoff(draft({ type: "patsh", data: {} })));
    expect(error).toMatchObject({ code: "invalid_payload", path: "payload.type" });
    expect(error.violations).toMatchObject([{ rule: "unregistered_type" }]);
    expect(error.hint).toContain('"patch"');
    expect(await contents(hub)).toEqual(before);
    expect((await ada.handoff(draft(GOOD))).kind).toBe("sent");
    expect((await ada.handoff({ to: "ben", intent: "Without a payload" })).kind).toBe("sent");
    await hub.settings.update({ handoffs: { unregistered: "accept" } });
    expect((await ada.handoff(draft({ type: "patsh", data: {} }))).kind).toBe("sent");
  });

  it("do not apply to what Baton composes itself [ENV-13]", async () => {
    const { hub, ada, ben } = await team(await openFresh(store));
    await hub.agent("kim", { role: "memory-keeper" });
    const person = await hub.agent("pat", { kind: "person" });
    await hub.routes.set("back", { to: "ada", when: { result: "done" } });
    await hub.settings.update({ handoffs: { actions: ["delegated"], unregistered: "refuse" } });
    const item = { section: "conventions", key: "tabs", rule: "Use tabs." } as const;
    expect((await ada.context.propose(item, { reason: "They are shorter." })).sent.kind).toBe(
      "sent",
    );
    await ada.handoff({ to: "ben", task: "routed", intent: "Go" });
    const settled = await (await take(ben)).complete({ outcome: "done", outputs: { n: 1 } });
    expect(settled.kind).toBe("settled");
    expect((await take(ada)).envelope.payload).toEqual({ type: "result done", data: { n: 1 } });
    const asked = await ada.handoff({ to: "pat", task: "edited", intent: "Look" });
    expect((await person.approvals.edit(asked.id, { next: ["Go on"] })).kind).toBe("sent");
  });

  it("are not changed by an invalid update [ENV-13]", async () => {
    const hub = await openFresh(store);
    for (const rules of [
      { actions: "all" },
      { actions: ["Not A Word"] },
      { unregistered: "maybe" },
    ]) {
      const error = await refusal(hub.settings.update({ handoffs: rules as never }));
      expect(error).toMatchObject({
        code: "invalid_input",
        path: expect.stringMatching(/^handoffs\.(actions|unreg)/),
      });
    }
    expect((await hub.settings.get()).handoffs).toEqual({ actions: [], unregistered: "accept" });
  });
});

describe.each(STORES)("registering a payload type on %s", (store) => {
  it.each([
    [{ type: "no such type" }, "schema.type"],
    [{ type: "object", properties: { a: { minimum: "1" } } }, "schema.properties.a.minimum"],
    [{ requried: ["files"] }, "schema"],
    [{ $ref: "https://example.com/other.json" }, "schema"],
    [{ $schema: "http://json-schema.org/draft-04/schema#" }, "schema"],
    [{ $async: true, type: "object" }, "schema"],
    [{ properties: { a: { pattern: "(" } } }, "schema"],
    [["a", "list"], "schema"],
    ["a string", "schema"],
    [null, "schema"],
    [{ type: "object", default: () => 1 }, "schema.default"],
    [z.object({ files: z.array(z.string()) }), "schema"],
  ])("refuses the schema %j and reports where it is invalid [ENV-13]", async (schema, path) => {
    const hub = await openFresh(store);
    const error = await refusal(hub.payloadTypes.set("patch", schema as never));
    expect(error).toMatchObject({ code: "invalid_input", path });
    expect(error.hint).not.toBe("");
    expect(await hub.payloadTypes.list()).toEqual([]);
  });

  it("refuses large schemas, too many types or versions, and unknown agents [ENV-13]", async () => {
    const limits = { payloadTypes: 2, payloadTypeVersions: 3, payloadSchemaBytes: 1_000 };
    const hub = await openFresh(store, { limits });
    const over = { description: "x".repeat(1_000) };
    const size = await refusal(hub.payloadTypes.set("a", over));
    expect(size).toMatchObject({
      code: "limit_exceeded",
      details: { limit: "payloadSchemaBytes" },
    });
    expect((await refusal(hub.payloadTypes.set("a", PATCH, { by: "nobody" }))).code).toBe(
      "unknown_agent",
    );
    await hub.payloadTypes.set("a", PATCH);
    await hub.payloadTypes.set("b", PATCH);
    const types = await refusal(hub.payloadTypes.set("c", PATCH));
    expect(types).toMatchObject({ code: "limit_exceeded", details: { limit: "payloadTypes" } });
    await hub.payloadTypes.set("b", PATCH_2);
    const versions = await refusal(hub.payloadTypes.set("b", PATCH));
    expect(versions).toMatchObject({ details: { limit: "payloadTypeVersions" } });
    expect((await hub.payloadTypes.list()).map(({ version }) => version)).toEqual([1, 2]);
  });
});

describe("a registered payload type", () => {
  it("is read from the store at most once a second [ENV-13]", async () => {
    let reads = 0;
    const counting = new Proxy(await sharedStore("sqlite")(), {
      get(store, name: keyof Store) {
        const value = store[name];
        if (typeof value !== "function") return value;
        return (...given: unknown[]) => {
          if (name === "findEntry" && given[2] === "handoff-rules") reads++;
          return (value as (...args: unknown[]) => unknown).apply(store, given);
        };
      },
    });
    const { ada } = await team(new LocalHub(counting));
    const began = performance.now();
    for (let i = 0; i < 50; i++) await ada.handoff(draft(GOOD, { task: `t-${i}` }));
    const seconds = (performance.now() - began) / 1_000;
    expect(reads).toBeGreaterThan(0);
    expect(reads).toBeLessThanOrEqual(1 + Math.ceil(seconds));
  });

  it("is checked against the output of the process's Standard Schema [ENV-13]", async () => {
    const { hub, ada, ben } = await team(await openFresh());
    await hub.payloadTypes.define(
      "patch",
      z.object({ files: z.string().transform((file) => [file]) }),
    );
    await hub.payloadTypes.set("patch", PATCH);
    await ada.handoff(draft({ type: "patch", data: { files: "a.ts" } }));
    expect((await take(ben)).envelope.payload).toEqual(GOOD);
  });

  it("accepts the output of z.toJSONSchema() [ENV-13]", async () => {
    const { hub, ada } = await team(await openFresh());
    const schema = z.object({ files: z.array(z.string()), email: z.email().optional() });
    await hub.payloadTypes.set("patch", z.toJSONSchema(schema));
    expect(await codeOf(ada.handoff(draft(GOOD)))).toBeUndefined();
    expect(await codeOf(ada.handoff(draft(BAD)))).toBe("invalid_payload");
  });

  it("refuses a payload that takes too long to validate, and keeps working [ENV-13]", async () => {
    const { hub, ada } = await team(await openFresh());
    await hub.payloadTypes.set("slow", { properties: { text: { pattern: "^(a+)+$" } } });
    const slow = draft({ type: "slow", data: { text: `${"a".repeat(60)}!` } });
    const error = await refusal(ada.handoff(slow));
    expect(error).toMatchObject({ code: "invalid_payload", path: "payload.data" });
    expect(error.violations).toMatchObject([{ rule: "time_limit" }]);
    const quick = draft({ type: "slow", data: { text: "aaaa" } });
    expect((await ada.handoff(quick)).kind).toBe("sent");
  });

  it("refuses a payload whose schema refers to itself endlessly [ENV-13]", async () => {
    const { hub, ada } = await team(await openFresh());
    await hub.payloadTypes.set("loop", { allOf: [{ $ref: "#" }] });
    const error = await refusal(ada.handoff(draft({ type: "loop", data: {} })));
    expect(error).toMatchObject({ code: "invalid_payload", violations: [{ rule: "time_limit" }] });
  });

  it("stores no secret in its schema [ENV-13]", async () => {
    const { hub } = await team(await openFresh());
    const secret = `gh${"p_"}Zq7mX2vK9rT4wB6nL1cD8hF3jS5gP0yAeR3u`;
    const stored = await hub.payloadTypes.set("patch", { type: "object", description: secret });
    expect(JSON.stringify(stored)).not.toContain(secret);
  });

  it("is included in a backup [ENV-13]", async () => {
    const { hub } = await team(await openFresh());
    await hub.payloadTypes.set("patch", PATCH);
    const file = `${tempFolder()}/backup.db`;
    await hub.archive.backup(file);
    const copy = await open(`sqlite:${file}`);
    expect(await copy.payloadTypes.list()).toEqual(await hub.payloadTypes.list());
  });
});
