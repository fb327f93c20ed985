/** Views of a handoff: recorded, reproducible, and traced when a memory is quarantined. */

import { describe, expect, it } from "vitest";
import type { Hub } from "../../../src/index.ts";
import { VirtualClock } from "../../../src/testing/index.ts";
import { withoutNumbers } from "../../support/fences.ts";
import {
  openFresh,
  openTwo,
  refusal,
  refusedAsExtended,
  STORES,
  sha256,
  take,
} from "../../support/hub/support.ts";
import { present } from "../../support/present.ts";
import { idsOf, team } from "./receiving-team.ts";

describe.each(STORES)("a view on %s", (store) => {
  async function handed(hub: Hub, said: object = {}) {
    const { ada, ben, eve } = await team(hub);
    const fact = await ada.remember({ content: "The cookie is not sent.", task: "login" });
    const other = await ada.remember({ content: "Safari 12 is the one.", task: "login" });
    const sent = await ada.handoff({
      to: "ben",
      task: "login",
      intent: "Fix the login",
      refs: [fact.id],
      ...said,
    });
    return { ada, ben, eve, fact, other, sent, work: await take(ben) };
  }

  it("is recorded with the records it shows [CTX-1 CTX-10]", async () => {
    const hub = await openFresh(store);
    const { ben, fact, sent, work } = await handed(hub);
    const view = await work.view();
    expect(view.text).toContain("The cookie is not sent.");
    expect(view.digest).toBe(sha256(view.text));
    expect(view.shown).toContainEqual(
      expect.objectContaining({ id: fact.id, section: "references", freshness: "fresh" }),
    );
    const record = await hub.memories.read(view.memory);
    expect(record).toMatchObject({ type: "view", agent: ben.id, task: "login" });
    expect(record.refs).toEqual([work.delivery.acceptedBy, ...new Set(idsOf(view.shown))]);
    expect(JSON.stringify(record)).not.toContain("The cookie is not sent.");
    expect(await hub.deliveries.views(sent.id)).toEqual([view]);
    expect((await hub.verify()).problems).toEqual([]);
  });

  it("names the role it was composed for, if there is one [CTX-1]", async () => {
    const hub = await openFresh(store);
    const { sent, work } = await handed(hub);
    expect(await work.view()).not.toHaveProperty("role");
    expect(await work.view({ role: "critic" })).toHaveProperty("role", "critic");
    const shown = await hub.deliveries.views(sent.id);
    expect(shown.map((view) => "role" in view && view.role)).toEqual([false, "critic"]);
  });

  it("names records by short ids that can be read, even after resuming [CTX-6]", async () => {
    const [hub, other] = await openTwo(store);
    const { ada, fact, other: recent, sent, work } = await handed(hub);
    const { text } = await work.view();
    const short = recent.id.slice(-6);
    expect(withoutNumbers(text)).toMatch(
      new RegExp(`\\] by ada(?:, [\\d-]{10})?:\\n(?:- .*\\n)*?- ${short}: «`),
    );
    expect(text).not.toContain(recent.id);
    expect((await work.read(short)).id).toBe(recent.id);
    expect((await work.read(fact.id.slice(-6), "summary")).text).toBe("The cookie is not sent.");
    const resumed = await (await other.agent("ben")).resume(work.handle);
    expect((await resumed.read(short)).id).toBe(recent.id);
    expect((await ada.memories.read(short, { of: sent.id })).id).toBe(recent.id);
    const unseen = await ada.remember({ content: "Nobody was shown this." });
    expect(await refusal(work.read(unseen.id.slice(-6)))).toMatchObject({
      code: "unknown_memory",
      path: "id",
    });
  });

  it("is the same when requested again, even in another process [CTX-1]", async () => {
    const [hub, other] = await openTwo(store);
    const { ada, fact, sent, work } = await handed(hub);
    const view = await work.view();
    expect(await work.view()).toBe(view);
    await ada.remember({ content: "Something new of the task.", task: "login" });
    const resumed = await (await other.agent("ben")).resume(work.handle);
    expect(await resumed.view()).toEqual(view);
    const small = await resumed.view({ tokens: 700, strategy: "lazy" });
    expect(small.budget).toMatchObject({ tokens: 700, from: "call" });
    expect(small.shown.find(({ id }) => id === fact.id)?.level).toBe("reference");
    const anew = await resumed.view({ anew: true });
    expect(anew.text).toContain("Something new of the task.");
    expect(idsOf((await hub.deliveries.views(sent.id)).map(({ memory: id }) => ({ id })))).toEqual([
      view.memory,
      small.memory,
      anew.memory,
    ]);
    expect(await hub.deliveries.views(work.id)).toEqual(await hub.deliveries.views(sent.id));
  });

  it("is composed anew after the sender extended the work [CTX-1]", async () => {
    const hub = await openFresh(store);
    const { ada, work } = await handed(hub);
    const before = await work.view();
    const draft = { to: "ben", task: "login", intent: "Fix the login", next: ["Tell Ann"] };
    const added = await ada.handoff(draft);
    await refusedAsExtended(work, () => work.complete(), added);
    const after = await work.view();
    expect(after.envelope).not.toBe(before.envelope);
    expect(before.text).not.toContain("Tell Ann");
    expect(after.text).toContain("Tell Ann");
  });

  it("is marked as different from what was seen after a redaction [CTX-4]", async () => {
    const hub = await openFresh(store);
    const { ada, fact, sent, work } = await handed(hub);
    const view = await work.view();
    await work.complete();
    await ada.memories.redact({ ids: [fact.id] }, "a secret");
    const [seen] = await hub.deliveries.views(sent.id);
    expect(seen).toMatchObject({ matches: false, digest: view.digest, memory: view.memory });
    expect(seen?.text).not.toContain("The cookie is not sent.");
    expect(idsOf(seen?.shown ?? [])).toContain(fact.id);
  });

  it("can be reproduced with a record and the one it replaced [CTX-1 CTX-8]", async () => {
    const hub = await openFresh(store);
    const { ada, ben } = await team(hub);
    const old = await ada.remember({ content: `Old: ${"the cookie is not sent. ".repeat(40)}` });
    const fresh = await ada.remember({
      content: `New: ${"the cookie is not sent. ".repeat(40)}`,
      relations: [{ kind: "supersedes", to: old.id }],
    });
    const said = { id: fresh.id, summary: "Safari drops the cookie." };
    for (const refs of [
      [said, old.id],
      [old.id, said],
      [said, { ...said, summary: "Twice." }],
    ]) {
      const sent = await ada.handoff({ to: "ben", intent: "Fix it", refs, strategy: "summary" });
      const work = await take(ben);
      const view = await work.view();
      expect(view.text).toMatch(/Safari drops the cookie\.|Twice\./);
      const instead = refs.includes(old.id) ? { freshness: "stale", insteadOf: old.id } : {};
      expect(view.shown).toContainEqual(expect.objectContaining({ id: fresh.id, ...instead }));
      expect(await hub.deliveries.views(sent.id)).toEqual([view]);
      await work.complete();
    }
  });

  it("accounts for every stale reference that one record replaced [CTX-4 CTX-10]", async () => {
    const hub = await openFresh(store);
    const { ada, ben } = await team(hub);
    const old = await ada.remember([{ content: "Port 1." }, { content: "Port 2." }]);
    const now = await ada.remember({
      content: "Port 3.",
      relations: old.map(({ id }) => ({ kind: "supersedes", to: id })),
    });
    const sent = await ada.handoff({ to: "ben", intent: "Fix it", refs: idsOf(old) });
    const work = await take(ben);
    const view = await work.view();
    expect(view.shown).toEqual([expect.objectContaining({ id: now.id, insteadOf: old[0]?.id })]);
    expect(view.omitted).toEqual([
      { id: old[1]?.id, section: "references", tokens: 0, why: "said" },
    ]);
    expect(view.completeness).toBe(1);
    expect(await hub.deliveries.views(sent.id)).toEqual([view]);
  });

  it("is recorded without artifact paths, however long, and returns them [CTX-1]", async () => {
    const hub = await openFresh(store);
    const artifacts = Array.from({ length: 100 }, (_, i) => ({
      kind: "url",
      path: `https://files.test/${i}/${"deeper/".repeat(250)}`,
    }));
    const { sent, work } = await handed(hub, { artifacts });
    const view = await work.view();
    expect(view.artifacts.map(({ path }) => path)).toEqual(artifacts.map(({ path }) => path));
    expect(await hub.deliveries.views(sent.id)).toEqual([view]);
    expect(JSON.stringify(await hub.memories.read(view.memory))).not.toContain("files.test");
  });

  it("is listed for each holder, and only for agents that held the work [CTX-1]", async () => {
    const hub = await openFresh(store);
    const { eve, sent, work } = await handed(hub, { policy: { attempts: 1, fallback: ["eve"] } });
    const first = await work.view();
    await work.fail({ message: "cannot" });
    const second = await (await take(eve)).view();
    expect(second.receiver).toBe("eve");
    // Any agent can write a memory of type view.
    await eve.remember({
      type: "view",
      content: "made up",
      refs: [present(work.delivery.acceptedBy)],
      data: {},
    });
    await eve.remember({
      type: "view",
      content: "made up",
      refs: [present(work.delivery.acceptedBy)],
      data: (await hub.memories.read(first.memory)).data ?? {},
    });
    expect((await hub.deliveries.views(sent.id)).map(({ memory }) => memory)).toEqual([
      first.memory,
      second.memory,
    ]);
  });

  it("is not a note: it causes no reconstruction when the holder dies [CTX-1 DLV-14]", async () => {
    const clock = new VirtualClock();
    const hub = await openFresh(store, { clock });
    const { ada, ben, fact, sent, work } = await handed(hub);
    const seen = await work.view();
    clock.advance(60_000);
    await hub.deliveries.runDue();
    const again = await take(ben);
    expect(again).toMatchObject({ id: sent.id, delivery: { attempt: 2 } });
    expect(again.envelope.id).toBe(sent.envelope.id);
    const own = await again.view();
    expect(own.memory).not.toBe(seen.memory);
    await again.note("Half of it.");
    await ada.memories.quarantine(fact.id, "made up");
    clock.advance(60_000);
    await hub.deliveries.runDue();
    const third = await take(ben);
    expect(third.envelope.reconstructed).toMatchObject({ notes: 1 });
    expect(third.envelope.gaps).toEqual([{ id: fact.id, reason: "quarantined by ada" }]);
    expect((await hub.deliveries.views(sent.id)).map(({ memory }) => memory)).toEqual([
      seen.memory,
      own.memory,
    ]);
  });

  it("is refused when the work was cancelled [CTX-1]", async () => {
    const hub = await openFresh(store);
    const { ada, sent, work } = await handed(hub);
    await ada.deliveries.cancel(sent.id, "not needed");
    expect((await refusal(work.view())).code).toBe("cancelled");
    expect(await hub.deliveries.views(sent.id)).toEqual([]);
  });

  it("is refused with invalid options [CTX-1]", async () => {
    const hub = await openFresh(store);
    const { work } = await handed(hub);
    expect((await refusal(work.view({ tokens: -1 }))).code).toBe("invalid_input");
    expect((await refusal(work.view({ tokns: 5 } as object))).code).toBe("invalid_input");
    expect((await refusal(hub.deliveries.views("dlv"))).code).toBe("invalid_input");
  });

  it("is excluded from recent(), catch-up, export, recall and diffs [CTX-1 MEM-7]", async () => {
    const hub = await openFresh(store);
    const { ada, ben, fact, other, work } = await handed(hub);
    const note = await work.note("A note.");
    const before = idsOf((await ben.memories.recent({ task: "login" })).items);
    await work.view();
    for (let tokens = 1_000; tokens < 1_010; tokens++) await work.view({ tokens });
    expect(idsOf((await ben.memories.recent({ task: "login" })).items)).toEqual(before);
    expect(idsOf((await ben.memories.recent({ task: "login", limit: 1 })).items)).toEqual([
      note.memory.id,
    ]);
    expect(idsOf((await hub.memories.recent({ task: "login", limit: 3 })).items)).toEqual(
      before.slice(0, 3),
    );
    const [, second = ""] = before;
    expect(idsOf((await hub.memories.recent({ task: "login", after: second })).items)).toEqual(
      before.slice(2),
    );
    expect((await hub.memories.recent({ type: "view" })).items).toHaveLength(11);
    expect((await ben.catchUp()).text).not.toContain("[view]");
    expect(await hub.memories.exportMarkdown()).not.toContain("Showed ");
    expect(
      (await hub.recall("what was ben shown for login")).items.map(({ memory }) => memory.type),
    ).not.toContain("view");
    const view = await work.view({ anew: true });
    expect(idsOf(view.shown)).toEqual(expect.arrayContaining([fact.id, other.id]));
    expect(view.text).not.toContain("[view]");
    await ada.branches.create("try");
    for (const task of ["apart", "there"]) {
      await ada.handoff({ to: "ben", task, intent: "i", branch: "try" });
    }
    await (await take(ben, { task: "apart" })).view();
    const there = await take(await ben.branches.use("try"), { task: "there" });
    await there.view();
    const { count, records } = await hub.branches.diff("try");
    expect(count).toBe(records.length);
    expect(idsOf(records).at(-1)).toBe(there.delivery.acceptedBy);
    expect(records.map(({ type }) => type)).not.toContain("view");
  });
});

describe.each(STORES)("a quarantined memory on %s", (store) => {
  it("warns the agent that saw it in a view, and no other [MEM-15 MEM-16 CTX-1]", async () => {
    const { hub, ada, ben, eve } = await team(await openFresh(store));
    await hub.agent("ada", { role: "memory-keeper" });
    const poison = await eve.remember({ content: "Use port 1234.", task: "t" });
    const [sent] = [await ada.handoff({ to: "ben", task: "t", intent: "i" })];
    await ada.handoff({ to: "eve", task: "other", intent: "i" });
    const work = await take(ben);
    const other = await take(eve);
    expect(idsOf((await work.view()).shown)).toContain(poison.id);
    await other.view();
    expect(await hub.memories.impact(poison.id)).toMatchObject({
      downstream: [],
      deliveries: [{ id: sent.id, holder: "ben", open: true }],
      agents: [{ agent: "ben", ways: ["accepted", "viewed"] }],
    });
    const warning = Promise.withResolvers<readonly { readonly memory: string }[]>();
    work.on("warned", warning.resolve);
    const done = await ada.memories.quarantine(poison.id, "made up", { downstream: true });
    expect(done).toMatchObject({ memories: [poison.id], deliveries: [sent.id] });
    expect((await warning.promise).map(({ memory }) => memory)).toEqual([poison.id]);
    expect(await other.warnings()).toEqual([]);
    expect(await hub.deliveries.warnings(sent.id)).toMatchObject([
      { memory: poison.id, by: "ada" },
    ]);
    const [seen] = await hub.deliveries.views(sent.id);
    expect(seen).toMatchObject({ matches: true });
  });
});
