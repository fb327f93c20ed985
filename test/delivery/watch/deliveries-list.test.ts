/** Listing deliveries of all receivers: filters, pages and invalid queries. */
import { describe, expect, it } from "vitest";
import { DEFAULT_VERSIONS } from "../../../src/envelope/versions.ts";
import type { Hub, HubOptions } from "../../../src/index.ts";
import { VirtualClock } from "../../../src/testing/index.ts";
import { hubOn, sharedStore } from "../../support/hub/shared-store.ts";
import { freshAddress, open, openFresh, refusal, STORES, take } from "../../support/hub/support.ts";
import { MIGRATED } from "../../support/version-two.ts";

type Query = NonNullable<Parameters<Hub["deliveries"]["list"]>[0]>;

const NO_DELIVERY = "dlv_01900000-0000-7000-8000-000000000000";

describe.each(STORES)("the delivery list on %s", (store) => {
  async function team(options: HubOptions = {}) {
    const clock = new VirtualClock();
    const hub = await openFresh(store, { clock, ...options });
    const ada = await hub.agent("ada", { aliases: ["countess"] });
    const ben = await hub.agent("ben", { role: "coder", aliases: ["benjamin"] });
    const cyd = await hub.agent("cyd", { role: "coder" });
    const send = (task: string, to = "ben", from = ada) =>
      from.handoff({ to, task, intent: `Do ${task}` });
    /** Returns the tasks of one page. */
    const tasks = async (query?: Query) =>
      (await hub.deliveries.list(query)).items.map(({ delivery }) => delivery.task);
    return { hub, clock, ada, ben, cyd, send, tasks };
  }

  it("returns every delivery with its envelope, newest first, and changes nothing", async () => {
    const { hub, ben, send, tasks } = await team();
    expect(await hub.deliveries.list()).toEqual({ items: [] });
    const done = await send("done");
    await (await take(ben)).complete();
    const other = await send("other", "cyd");
    const shared = await send("shared", "role:coder");
    const before = (await hub.events.list({ after: 0 })).items;
    expect(await hub.deliveries.list()).toEqual({
      items: await Promise.all(
        [shared, other, done].map(async (sent) => ({
          delivery: await sent.status(),
          envelope: sent.envelope,
        })),
      ),
    });
    expect(await tasks({})).toEqual(["shared", "other", "done"]);
    expect((await hub.events.list({ after: 0 })).items).toEqual(before);
  });

  it("filters by state, sender, receiver and task, and resolves aliases", async () => {
    const { ben, cyd, send, tasks } = await team();
    await send("one");
    await (await take(ben)).complete();
    await send("two", "cyd");
    await send("three", "role:coder");
    await send("four", "ben", cyd);
    await take(cyd, { task: "two" });
    expect(await tasks({ states: ["ready"] })).toEqual(["four", "three"]);
    expect(await tasks({ states: ["completed", "accepted"] })).toEqual(["two", "one"]);
    expect(await tasks({ from: "ada" })).toEqual(["three", "two", "one"]);
    expect(await tasks({ from: "countess" })).toEqual(["three", "two", "one"]);
    expect(await tasks({ from: "cyd" })).toEqual(["four"]);
    expect(await tasks({ to: "ben" })).toEqual(["four", "one"]);
    expect(await tasks({ to: "benjamin" })).toEqual(["four", "one"]);
    expect(await tasks({ to: "role:coder" })).toEqual(["three"]);
    expect(await tasks({ to: "role:nobody has it" })).toEqual([]);
    expect(await tasks({ task: "two" })).toEqual(["two"]);
    expect(await tasks({ task: "unknown" })).toEqual([]);
    const all = { from: "countess", to: "benjamin", states: ["completed"] } satisfies Query;
    expect(await tasks({ ...all, task: "one" })).toEqual(["one"]);
    expect(await tasks({ ...all, task: "two" })).toEqual([]);
    expect(await tasks({ ...all, from: undefined, states: undefined })).toEqual(["four", "one"]);
  });

  it("filters by time sent, as milliseconds, ISO time or date", async () => {
    const { clock, send, tasks } = await team();
    clock.set(Date.parse("2026-03-01T10:00:00Z"));
    await send("first");
    clock.set(Date.parse("2026-03-01T12:00:00Z"));
    await send("second");
    clock.set(Date.parse("2026-03-02T10:00:00Z"));
    await send("third");
    const noon = Date.parse("2026-03-01T12:00:00Z");
    expect(await tasks({ sentAfter: noon })).toEqual(["third", "second"]);
    expect(await tasks({ sentAfter: noon + 1 })).toEqual(["third"]);
    expect(await tasks({ sentBefore: noon })).toEqual(["first"]);
    expect(await tasks({ sentAfter: "2026-03-01T12:00:00Z" })).toEqual(["third", "second"]);
    expect(await tasks({ sentBefore: "2026-03-01T14:00:00.001+02:00" })).toEqual([
      "second",
      "first",
    ]);
    expect(await tasks({ sentAfter: "2026-03-01", sentBefore: "2026-03-02" })).toEqual([
      "second",
      "first",
    ]);
    expect(await tasks({ sentAfter: 0, sentBefore: "2026-03-01" })).toEqual([]);
  });

  it("returns next while there are more pages, and each delivery on one page", async () => {
    const { hub, send } = await team({ limits: { pageSize: 60 } });
    const sent: string[] = [];
    for (let n = 0; n < 53; n++) sent.unshift((await send(`t${n}`)).id);
    const idsIn = ({ items }: Awaited<ReturnType<Hub["deliveries"]["list"]>>) =>
      items.map(({ delivery }) => delivery.id);
    const first = await hub.deliveries.list();
    expect(idsIn(first)).toEqual(sent.slice(0, 50));
    expect(Object.keys(first)).toEqual(["items", "next"]);
    await send("newer");
    const second = await hub.deliveries.list({ after: first.next });
    expect(idsIn(second)).toEqual(sent.slice(50));
    expect(Object.keys(second)).toEqual(["items"]);
    const small = await hub.deliveries.list({ after: first.next, limit: 2, from: "ada" });
    expect(idsIn(small)).toEqual(sent.slice(50, 52));
    const last = await hub.deliveries.list({ after: small.next, limit: 2, from: "ada" });
    expect([idsIn(last), last.next]).toEqual([sent.slice(52), undefined]);
    expect(await hub.deliveries.list({ after: NO_DELIVERY })).toEqual({ items: [] });
    expect((await hub.deliveries.list({ limit: 60 })).items).toHaveLength(54);
    expect(await refusal(hub.deliveries.list({ limit: 61 }))).toMatchObject({
      code: "limit_exceeded",
      path: "limit",
    });
  });

  it("limits pages to pageSize by default", async () => {
    const { hub, send } = await team({ limits: { pageSize: 2 } });
    for (const task of ["a", "b", "c"]) await send(task);
    expect((await hub.deliveries.list()).items).toHaveLength(2);
  });

  it.each<[path: string, query: object]>([
    ["states", { states: "ready" }],
    ["states", { states: [] }],
    ["states[1]", { states: ["ready", "done"] }],
    ["from", { from: "role:coder" }],
    ["from", { from: "two words" }],
    ["to", { to: "channel:news" }],
    ["to", { to: "" }],
    ["to", { to: "two words" }],
    ["task", { task: "\n" }],
    ["sentAfter", { sentAfter: "yesterday" }],
    ["sentAfter", { sentAfter: "2026-02-30" }],
    ["sentAfter", { sentAfter: -1 }],
    ["sentBefore", { sentBefore: 1.5 }],
    ["sentBefore", { sentBefore: "2026-03-01T12:00:00" }],
    ["after", { after: "mem_01900000-0000-7000-8000-000000000000" }],
    ["after", { after: { id: NO_DELIVERY } }],
    ["limit", { limit: 0 }],
    ["limit", { limit: "all" }],
    ["tsak", { tsak: "t" }],
  ])("refuses an invalid %s: %j", async (path, query) => {
    const { hub } = await team();
    const error = await refusal(hub.deliveries.list(query as Query));
    expect(error.code).toBe("invalid_input");
    expect(error.violations.map((violation) => violation.path)).toEqual([path]);
  });

  it("refuses an unregistered agent and suggests names", async () => {
    const { hub } = await team();
    for (const path of ["from", "to"]) {
      expect(await refusal(hub.deliveries.list({ [path]: "benn" }))).toMatchObject({
        code: "unknown_agent",
        path,
        details: { name: "benn", near: expect.arrayContaining(["ben"]) },
      });
    }
  });

  it("excludes deliveries of other workspaces", async () => {
    const address = freshAddress(store);
    const [left, right] = [
      await open(address, { workspace: "left" }),
      await open(address, { workspace: "right" }),
    ];
    const scout = await left.agent("scout", {});
    const sent = await scout.handoff({ to: "scout", task: "t", intent: "Look" });
    await right.agent("scout", {});
    for (const query of [{}, { task: "t" }, { from: "scout" }, { to: "scout" }]) {
      expect(await right.deliveries.list(query)).toEqual({ items: [] });
      expect((await left.deliveries.list(query)).items).toHaveLength(1);
    }
    expect(await right.deliveries.list({ after: sent.id })).toEqual({ items: [] });
  });

  it("skips envelopes of a newer version, and throws when no readable one is left", async () => {
    const clock = new VirtualClock();
    const reopen = sharedStore(store, { clock });
    const hubWith = async (versions: unknown) =>
      hubOn(store, await reopen(), { clock, versions } as HubOptions);
    const [newer, old] = [await hubWith(MIGRATED), await hubWith(DEFAULT_VERSIONS)];
    const ada = await newer.agent("ada", {});
    const ben = await old.agent("ben", {});
    const oldest = await ada.handoff({ to: "ben", task: "oldest", intent: "In 2.0" });
    clock.advance(1); // Ids of two processes are not ordered within a millisecond.
    const readable = await ben.handoff({ to: "ada", task: "readable", intent: "In 1.0" });
    clock.advance(1);
    const newest = await ada.handoff({ to: "ben", task: "newest", intent: "In 2.0" });
    const { items } = await old.deliveries.list();
    expect(items.map(({ delivery }) => delivery.id)).toEqual([readable.id]);
    expect(await old.deliveries.list({ limit: 1 })).toEqual({ items: [], next: newest.id });
    expect(await refusal(old.deliveries.list({ after: readable.id }))).toMatchObject({
      code: "unsupported_version",
      path: oldest.envelope.id,
    });
    expect((await newer.deliveries.list()).items).toHaveLength(3);
  });

  it("suggests the intended field, or lists the known fields", async () => {
    const hub = await openFresh(store);
    const near = await refusal(hub.deliveries.list({ state: "ready" } as never));
    expect(near).toMatchObject({ path: "state", hint: 'Did you mean "states"?' });
    const far = await refusal(hub.deliveries.list({ zzz: 1 } as never));
    expect(far.hint).toMatch(/^Known fields: .*states.*\.$/);
  });

  it("throws store_closed on a closed hub", async () => {
    const { hub } = await team();
    await hub.close();
    expect(await refusal(hub.deliveries.list())).toMatchObject({ code: "store_closed" });
  });
});
