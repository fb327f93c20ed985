/** Tests redaction: a leaked text is erased everywhere, and the store still verifies. */
import { createPublicKey, verify } from "node:crypto";
import { describe, expect, it } from "vitest";
import { EnvelopeSchema } from "../../../src/envelope/schema.ts";
import {
  type Agent,
  generateKey,
  type Hub,
  type HubOptions,
  LocalHub,
} from "../../../src/index.ts";
import { VirtualClock } from "../../../src/testing/index.ts";
import { dyingAfter, hubOn, sharedStore } from "../../support/hub/shared-store.ts";
import { contents, openFresh, refusal, STORES, take } from "../../support/hub/support.ts";
import { present } from "../../support/present.ts";

const SECRET = "sk-live-0123456789";
const WHY = "leaked in a log";

describe.each(STORES)("redaction on %s", (store) => {
  async function team(options: HubOptions = {}) {
    const clock = new VirtualClock();
    // The secrets to redact are stored first, so the hub must allow them.
    const hub = await openFresh(store, { clock, secrets: "allow", ...options });
    const ada = await hub.agent("ada", {});
    const ben = await hub.agent("ben", {});
    return { hub, clock, ada, ben };
  }

  /** Expects that no occurrence is left and that the store verifies. */
  async function expectGone(hub: Hub, by: Agent, secret = SECRET): Promise<void> {
    expect((await hub.verify()).problems).toEqual([]);
    expect(await by.memories.redact({ text: secret }, "a look", { dryRun: true })).toMatchObject({
      erased: [],
      left: [],
    });
  }

  it("erases a text everywhere it occurs [MEM-18]", async () => {
    const { hub, ada, ben } = await team();
    await hub.agent("cyd", { description: `uses ${SECRET} to log in`, model: "m" });
    const plain = await ada.remember({ content: `The key is ${SECRET}.`, tags: [SECRET, "key"] });
    const own = await ben.remember({ scope: "agent", content: "Mine.", data: { [SECRET]: 1 } });
    const other = await ada.remember({ content: "Nothing of the kind." });
    await ada.effects.run("deploy", () => ({ token: SECRET, ok: true }));
    const sent = await ada.handoff({
      to: "ben",
      task: "auth",
      intent: "Log in",
      payload: { type: "note", data: { deep: [{ key: SECRET }] } },
    });
    const work = await take(ben);
    await work.fail({ message: `401 with ${SECRET}` });
    const { settledBy } = await sent.status();

    const dry = await ada.memories.redact({ text: SECRET }, WHY, { dryRun: true });
    const report = await ada.memories.redact({ text: SECRET }, WHY);
    const spots = report.erased.map(({ kind, id }) => `${kind} ${id}`);
    expect(spots.toSorted()).toEqual(
      [
        "agent cyd",
        "entry once deploy",
        `envelope ${sent.envelope.id}`,
        `memory ${plain.id}`,
        `memory ${settledBy}`,
        `attempt ${sent.id} 1`,
      ].toSorted(),
    );
    expect(dry).toMatchObject({ dryRun: true, records: [], erased: report.erased });
    expect(report).toMatchObject({ dryRun: false, left: [], hidden: { erased: 1, left: 0 } });
    expect(await ben.memories.read(own.id)).toMatchObject({ content: "", redacted: { by: "ada" } });
    expect(report.beyond.join()).toMatch(/[Bb]ackups/);

    expect(await ada.memories.read(other.id)).toEqual(other);
    expect((await hub.agents.list()).find(({ id }) => id === "cyd")).toMatchObject({
      description: "uses [redacted] to log in",
      model: "m",
    });
    expect(await ada.effects.run("deploy", () => "again")).toEqual({
      kind: "done",
      again: true,
      result: { token: "[redacted]", ok: true },
    });
    const [attempt] = await hub.deliveries.attempts(sent.id);
    expect(attempt?.reason).toEqual({ redacted: report.records[0] });
    await expectGone(hub, ada);
  });

  it("reports hidden records as a count, and not at all in a dry run [MEM-18]", async () => {
    const { hub, ada, ben } = await team();
    const own = await ada.remember({ scope: "agent", content: `Mine: ${SECRET}` });
    const named = await ada.remember({ scope: "agent", content: "Mine.", task: `t-${SECRET}` });
    const shared = await ada.remember({ content: `Ours: ${SECRET}` });
    const spots = [{ kind: "memory", id: shared.id }];
    const none = { erased: 0, left: 0 };

    for (const guess of [SECRET, `Mine: ${SECRET}`, `Mine: ${SECRET.slice(0, -1)}?`]) {
      const preview = await ben.memories.redact({ text: guess }, "a look", { dryRun: true });
      expect(preview).toMatchObject({ left: [], hidden: none });
      expect(preview.erased).toEqual(guess === SECRET ? spots : []);
    }
    const hers = await ada.memories.redact({ text: SECRET }, "a look", { dryRun: true });
    expect(hers.erased).toEqual([{ kind: "memory", id: own.id }, ...spots]);
    expect(hers.left).toEqual([{ kind: "memory", id: named.id, why: "name" }]);
    expect(hers.hidden).toEqual(none);

    const report = await ben.memories.redact({ text: SECRET }, WHY);
    expect(report).toMatchObject({ erased: spots, left: [], hidden: { erased: 1, left: 1 } });
    expect(await ada.memories.read(own.id)).toMatchObject({ content: "", redacted: { by: "ben" } });
    expect((await hub.verify()).problems).toEqual([]);
  });

  it("does not name a private record whose quarantine mark is redacted [MEM-18]", async () => {
    const { hub, ada, ben } = await team();
    const own = await ada.remember({ scope: "agent", content: "Mine." });
    await hub.agent("ben", { role: "memory-keeper" });
    await ben.memories.quarantine({ agent: "ada" }, `wrote ${SECRET}`);
    const preview = await ben.memories.redact({ text: SECRET }, "a look", { dryRun: true });
    expect(JSON.stringify(preview)).not.toContain(own.id);
    const report = await ben.memories.redact({ text: SECRET }, WHY);
    expect(JSON.stringify(report)).not.toContain(own.id);
    expect(report.hidden).toEqual({ erased: 1, left: 0 });
    expect(JSON.stringify(await hub.memories.read(report.records[0] ?? ""))).not.toContain(own.id);
    expect((await ada.memories.read(own.id)).quarantined).toMatchObject({
      reason: "wrote [redacted]",
    });
    await expectGone(hub, ada);
  });

  it("treats ids that the caller may not see as unknown [MEM-18]", async () => {
    const { ada, ben } = await team();
    const own = await ada.remember({ scope: "agent", content: SECRET });
    const unknown = "mem_01890000-0000-7000-8000-000000000000";
    for (const options of [{}, { dryRun: true }]) {
      const [hidden, missing] = await Promise.all(
        [own.id, unknown].map((id) => refusal(ben.memories.redact({ ids: [id] }, WHY, options))),
      );
      expect(hidden).toMatchObject({ code: "unknown_memory", path: missing?.path });
      expect(hidden?.message.replace(own.id, unknown)).toBe(missing?.message);
    }
    expect(await ada.memories.read(own.id)).toEqual(own);
    const { erased } = await ada.memories.redact({ ids: [own.id] }, WHY);
    expect(erased).toEqual([{ kind: "memory", id: own.id }]);
  });

  it("keeps the digest, link and signature of a redacted memory [MEM-18]", async () => {
    const { hub, clock, ada } = await team();
    const key = generateKey();
    const cyd = await hub.agent("cyd", { key });
    const before = await cyd.remember({ content: SECRET, task: "t", type: "finding" });
    const next = await ada.remember({
      content: "Built on it.",
      relations: [{ kind: "derived-from", to: before.id }],
    });
    clock.advance(1_000);
    const { records } = await ada.memories.redact({ ids: [before.id] }, WHY);
    const after = await ada.memories.read(before.id);
    const { agent, branch, createdAt, digest, id, instance, link, seq, signature } = before;
    expect(after).toMatchObject({ agent, branch, createdAt, digest, id, instance, link, seq });
    expect(after).toMatchObject({ content: "", task: "t", type: "finding", signature });
    expect(after).not.toHaveProperty("salt");
    expect(after.redacted).toEqual({
      at: clock.now(),
      by: "ada",
      digest,
      id,
      reason: WHY,
      record: records[0],
    });
    const publicKey = createPublicKey({
      key: Buffer.from(present(cyd.info.publicKey), "hex"),
      format: "der",
      type: "spki",
    });
    const signed = Buffer.from(present(signature), "hex");
    expect(verify(null, Buffer.from(after.digest, "hex"), publicKey, signed)).toBe(true);
    expect(await ada.memories.read(next.id)).toEqual(next);
    expect((await ada.memories.relations(before.id, { direction: "in" })).items).toMatchObject([
      { source: next.id, kind: "derived-from" },
    ]);
    await expectGone(hub, ada);
  });

  it("records who redacted what and why, without the text [MEM-18]", async () => {
    const { hub, ada, ben } = await team();
    const memory = await ada.remember({ content: SECRET });
    const { records } = await ben.memories.redact({ text: SECRET }, WHY);
    expect(records).toHaveLength(1);
    const record = await hub.memories.read(records[0] ?? "");
    expect(record).toMatchObject({ agent: "ben", type: "redaction", data: { reason: WHY } });
    expect(record.redacts).toEqual([
      {
        digest: memory.digest,
        id: memory.id,
        kind: "memory",
        stub: expect.stringMatching(/^[0-9a-f]{64}$/),
      },
    ]);
    expect(JSON.stringify((await hub.memories.recent()).items)).not.toContain(SECRET);
  });

  it("hides the memory from pins and catch-up, and lists it as redacted [MEM-18]", async () => {
    const { hub, ada } = await team();
    const pinned = await ada.remember({ content: `Always ${SECRET}`, task: "t" });
    await ada.memories.pin(pinned.id);
    const memory = await ada.remember({ content: `Now ${SECRET}`, task: "t" });
    await ada.memories.redact({ text: SECRET }, WHY);
    expect(await ada.memories.pins()).toEqual([]);
    const { text, shown, omitted } = await ada.catchUp({ task: "t" });
    expect([...shown, ...omitted]).toEqual([]);
    expect(text).not.toContain(memory.id);
    const recent = (await hub.memories.recent({ task: "t" })).items;
    expect(recent.map(({ id, content, redacted }) => [id, content, redacted?.by])).toEqual([
      [memory.id, "", "ada"],
      [pinned.id, "", "ada"],
    ]);
    expect(
      (await ada.handoff({ to: "ada", intent: "Go", refs: [memory.id] })).envelope.refs,
    ).toEqual([{ id: memory.id, digest: memory.digest }]);
  });

  it("removes the words from recall, even after they were searched for [MEM-18]", async () => {
    const { hub, ada } = await team();
    const memory = await ada.remember({ content: "The passphrase is xylophone zeppelin." });
    const other = await ada.remember({ content: "A xylophone was bought." });
    const found = async (): Promise<string[]> =>
      (await ada.recall("xylophone zeppelin")).items.map((hit) => hit.memory.id);
    expect((await found()).toSorted()).toEqual([memory.id, other.id].toSorted());
    await ada.memories.redact({ ids: [memory.id] }, WHY);
    expect(await found()).toEqual([other.id]);
    await expectGone(hub, ada, "xylophone zeppelin");
  });

  it("shows the receiver of a waiting envelope that it was redacted [MEM-18]", async () => {
    const { hub, ada, ben } = await team();
    const sent = await ada.handoff({
      to: "ben",
      task: "auth",
      intent: `Use ${SECRET}`,
      receipt: true,
      constraints: ["Keep it secret"],
      expects: [{ name: "report", type: "text" }],
      state: SECRET,
      metadata: { model: SECRET },
    });
    const report = await ada.memories.redact({ ids: [sent.envelope.id] }, WHY);
    expect(report.erased.map(({ id }) => id).toSorted()).toEqual(
      [sent.envelope.id, sent.memory, "ledger auth"].toSorted(),
    );
    const shown = await hub.deliveries.get(sent.id);
    expect(shown).toMatchObject({ digest: sent.digest, delivery: { state: "ready" } });
    expect(EnvelopeSchema.parse(shown.envelope)).toEqual(shown.envelope);
    expect(shown.envelope.intent).toBe(
      `This handoff was redacted by ada: ${WHY} (${report.records[0]})`,
    );
    expect(shown.envelope.redacted).toMatchObject({ by: "ada", digest: sent.digest });
    expect((await hub.tasks.line("auth"))[0]).toMatchObject({ digest: sent.digest });
    expect((await ben.deliveries.waiting()).items[0]?.envelope).toEqual(shown.envelope);
    expect((await ben.catchUp()).text).toContain("redacted by ada");
    const work = await take(ben);
    expect(work.envelope).toEqual(shown.envelope);
    await work.note("There is nothing to go by.");
    expect(await work.complete({ summary: "Asked for it again." })).toMatchObject({
      kind: "settled",
    });
    expect(await sent.completed()).toMatchObject({ kind: "completed" });
    await expectGone(hub, ada);
  });

  it("erases the envelope together with its handoff record [MEM-18]", async () => {
    const { hub, ada } = await team();
    const sent = await ada.handoff({ to: "ben", task: "t", intent: SECRET });
    const { erased } = await ada.memories.redact({ ids: [sent.memory] }, WHY);
    expect(erased.map(({ kind }) => kind).toSorted()).toEqual(["entry", "envelope", "memory"]);
    await expectGone(hub, ada);
  });

  it("passes only the remaining notes of held work to the next holder [MEM-18]", async () => {
    const { hub, clock, ada, ben } = await team();
    const sent = await ada.handoff({ to: "ben", task: "t", intent: `Use ${SECRET}` });
    const lost = await take(ben);
    await lost.note(`Logged in with ${SECRET}.`);
    await lost.note("It is in line 3.");
    await ada.memories.redact({ text: SECRET }, WHY);
    clock.advance(60_000);
    await hub.deliveries.runDue();
    const work = await take(await hub.agent("ben"));
    expect(work.id).toBe(sent.id);
    expect(work.envelope.history.map(({ did }) => did)).toEqual(["It is in line 3."]);
    expect(work.envelope.redacted).toMatchObject({ id: sent.envelope.id });
    expect(work.envelope.id).not.toBe(sent.envelope.id);
    await work.complete();
    expect(await hub.tasks.line("t")).toHaveLength(2);
    await expectGone(hub, ada);
  });

  it("does not stop a join that waits for a redacted result [MEM-18]", async () => {
    const { hub, ada, ben } = await team();
    const first = await ada.handoff({ to: "ben", task: "one", intent: "Go" });
    const second = await ada.handoff({ to: "ben", task: "two", intent: "Go" });
    await (await take(ben)).complete({ summary: SECRET, outputs: { token: SECRET } });
    const join = await ada.handoffs.join([first, second], {
      to: "ada",
      task: "all",
      intent: SECRET,
    });
    await ada.memories.redact({ text: SECRET }, WHY);
    await (await take(ben)).complete({ summary: "Fine.", outputs: { ok: true } });
    const work = await take(ada);
    expect(work.id).toBe(join.id);
    expect(work.envelope.results).toMatchObject([
      { task: "one" },
      { task: "two", summary: "Fine.", outputs: { ok: true } },
    ]);
    expect(work.envelope.results?.[0]).not.toHaveProperty("summary");
    expect((await first.completed()).kind).toBe("completed");
    await expectGone(hub, ada);
  });

  it("keeps a join that has already opened [MEM-18]", async () => {
    const { hub, ada, ben } = await team();
    const first = await ada.handoff({ to: "ben", task: "one", intent: "Go" });
    const join = await ada.handoffs.join([first], { to: "ada", task: "all", intent: "Merge" });
    await (await take(ben)).complete({ summary: SECRET, outputs: { token: SECRET } });
    await ada.memories.redact({ text: SECRET }, WHY);
    await hub.deliveries.runDue();
    const work = await take(ada);
    expect(work.id).toBe(join.id);
    const { settledBy } = await first.status();
    expect(work.envelope.results).toEqual([
      { agent: "ben", delivery: first.id, memory: settledBy, task: "one" },
    ]);
    await work.complete();
    await expectGone(hub, ada);
  });

  it("excludes a redacted envelope from the replay of a channel [MEM-18]", async () => {
    const { hub, ada, ben } = await team();
    await hub.channels.set("news");
    await ben.channels.subscribe("news");
    const published = await ada.channels.publish("news", { task: "n", intent: SECRET });
    await ada.channels.publish("news", { task: "m", intent: "Fine." });
    await ada.memories.redact({ text: SECRET }, WHY);
    const cyd = await hub.agent("cyd", {});
    expect(await cyd.channels.subscribe("news", { from: "start" })).toEqual({ replayed: 1 });
    expect((await take(cyd)).delivery.task).toBe("m");
    expect((await take(ben)).envelope.redacted).toMatchObject({ id: published.envelope.id });
    await expectGone(hub, ada);
  });

  it("leaves a redacted question answerable and a dead letter redrivable [MEM-18]", async () => {
    const { hub, ada, ben } = await team({ limits: { attempts: 1 } });
    const asked = await ada.handoff({ to: "ben", task: "q", intent: "Go" });
    const dead = await ada.handoff({ to: "ben", task: "d", intent: SECRET });
    await (await take(ben, { task: "q" })).clarify(`Is it ${SECRET}?`);
    await (await take(ben, { task: "d" })).fail({ message: `Not ${SECRET}` });
    await ada.memories.redact({ text: SECRET }, WHY);
    expect(await ada.questions.list()).toMatchObject([
      { question: "", delivery: { id: asked.id } },
    ]);
    await ada.questions.answer(asked.id, "Yes.");
    expect((await take(ben, { task: "q" })).envelope.history).toMatchObject([{ decided: "Yes." }]);
    const [letter] = (await hub.deadLetters.list()).items;
    expect(letter?.envelope.redacted).toBeDefined();
    await ada.deadLetters.redrive(dead.id);
    await (await take(ben, { task: "d" })).complete();
    await expectGone(hub, ada);
  });

  it.each([
    ["quotes and backslashes", 'pa"ss\\word/1'],
    ["line breaks", "-----BEGIN KEY-----\nabc\n-----END KEY-----"],
    ["non-ASCII characters", "pässwörd-🔑-1"],
  ])("finds a text with %s, also in JSON within a text [MEM-18]", async (_case, secret) => {
    const { hub, ada } = await team();
    const ascii = JSON.stringify({ secret }).replace(
      /[\u0080-\uffff]/g,
      (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
    );
    const all = await ada.remember([
      { content: secret },
      { content: `sent ${JSON.stringify({ secret })}` },
      { content: `logged ${JSON.stringify(JSON.stringify({ secret }))}` },
      { content: `python wrote ${ascii}` },
      { content: "x", data: { body: ascii } },
      { content: "something else" },
    ]);
    const { erased } = await ada.memories.redact({ text: secret }, WHY);
    expect(erased.map(({ id }) => id)).toEqual(all.slice(0, 5).map(({ id }) => id));
    await expectGone(hub, ada, secret);
  });

  it("does not match field names, ids or digests [MEM-18]", async () => {
    const { ada } = await team();
    const memory = await ada.remember({ content: "x", data: { a: 1 } });
    await ada.handoff({ to: "ben", intent: "Go", constraints: ["c"], refs: [memory.id] });
    for (const text of ["content", "constraints", memory.digest.slice(0, 12), memory.id]) {
      const { erased, left } = await ada.memories.redact({ text }, "none", { dryRun: true });
      expect([...erased, ...left], text).toEqual([]);
    }
  });

  it("reports what it cannot erase: names and redaction records [MEM-18]", async () => {
    const { hub, ada } = await team();
    const named = await ada.remember({ content: "x", task: `rotate ${SECRET}` });
    await ada.effects.run(SECRET, () => "done");
    await hub.agent(`bot-${SECRET}`, {});
    const first = await ada.remember({ content: "first" });
    const { records } = await ada.memories.redact({ ids: [first.id] }, "of no use any more");
    const report = await ada.memories.redact({ text: SECRET }, WHY);
    expect(report.erased).toEqual([]);
    expect(report.left).toEqual([
      { kind: "agent", id: `bot-${SECRET}`, why: "name" },
      { kind: "entry", id: `once ${SECRET}`, why: "name" },
      { kind: "memory", id: named.id, why: "name" },
    ]);
    const again = await ada.memories.redact({ ids: [first.id, ...records] }, WHY);
    expect(again).toMatchObject({ erased: [], records: [] });
    expect(again.left).toEqual([
      { kind: "memory", id: first.id, why: "already" },
      { kind: "memory", id: records[0], why: "vouches" },
    ]);
    expect((await ada.memories.redact({ text: "of no use any" }, WHY)).left).toEqual([
      { kind: "memory", id: first.id, why: "already" },
      { kind: "memory", id: records[0], why: "vouches" },
    ]);
    expect((await hub.verify()).problems).toEqual([]);
  });

  it("changes nothing in a dry run or when it is refused [MEM-18]", async () => {
    const { hub, ada } = await team();
    const memory = await ada.remember({ content: SECRET });
    const before = { ...(await contents(hub)), memory: await ada.memories.read(memory.id) };
    await ada.memories.redact({ text: SECRET }, WHY, { dryRun: true });
    const none = "mem_01a1df5a-52a9-7000-a39b-ea67e3f6baac";
    for (const [target, reason, code, path] of [
      [{ text: "short" }, WHY, "invalid_input", "text"],
      [{ ids: [] }, WHY, "invalid_input", "ids"],
      [{ ids: ["x"] }, WHY, "invalid_input", "ids[0]"],
      [{}, WHY, "invalid_input", "ids"],
      [{ text: SECRET, ids: [memory.id] }, WHY, "invalid_input", "ids"],
      [{ text: SECRET }, "", "invalid_input", "reason"],
      [{ text: SECRET }, `it was ${SECRET}`, "invalid_input", "reason"],
      [{ ids: [memory.id, none] }, WHY, "unknown_memory", "ids"],
      [{ ids: [none.replace("mem", "env")] }, WHY, "unknown_envelope", "ids"],
    ] as const) {
      const error = await refusal(ada.memories.redact(target as never, reason));
      expect(error, JSON.stringify(target)).toMatchObject({ code, path });
      expect(error.message).not.toContain(SECRET);
    }
    expect({ ...(await contents(hub)), memory: await ada.memories.read(memory.id) }).toEqual(
      before,
    );
  });

  it("is refused for a disabled agent [MEM-18]", async () => {
    const { hub, ada, ben } = await team();
    const memory = await ada.remember({ content: SECRET });
    await hub.agent("ben", { status: "disabled" });
    expect(await refusal(ben.memories.redact({ ids: [memory.id] }, WHY))).toMatchObject({
      code: "agent_disabled",
    });
    expect(await ada.memories.read(memory.id)).toEqual(memory);
  });

  it("does not affect other workspaces [MEM-18]", async () => {
    const reopen = sharedStore(store);
    const [here, there] = [
      await hubOn(store, await reopen()),
      await hubOn(store, await reopen(), { workspace: "b" }),
    ];
    const ada = await here.agent("ada", {});
    const zoe = await there.agent("zoe", {});
    const kept = await zoe.remember({ content: SECRET });
    await ada.remember({ content: SECRET });
    await ada.memories.redact({ text: SECRET }, WHY);
    expect(await zoe.memories.read(kept.id)).toEqual(kept);
    await expectGone(here, ada);
  });

  it("erases texts in traces, branches and quarantined memories [MEM-18]", async () => {
    const { hub, ada, ben } = await team();
    const step = await ben.trace({ kind: "tool", name: "login", input: { key: SECRET } });
    const side = await (await ada.branches.create("side")).remember({ content: SECRET });
    const hidden = await ada.remember({ content: SECRET });
    await ada.memories.quarantine(hidden.id, "wrong");
    const { erased } = await ada.memories.redact({ text: SECRET }, WHY);
    expect(erased.map(({ id }) => id).toSorted()).toEqual([step.id, side.id, hidden.id].toSorted());
    await expectGone(hub, ada);
  });

  it("is included in an export, which verifies after import [MEM-18 MEM-17]", async () => {
    const { hub, ada } = await team();
    const memory = await ada.remember({ content: SECRET });
    const sent = await ada.handoff({ to: "ben", task: "t", intent: SECRET });
    await ada.memories.redact({ text: SECRET }, WHY);
    const lines: string[] = [];
    for await (const line of hub.archive.export()) lines.push(line);
    expect(lines.join("")).not.toContain(SECRET);
    expect(lines.join(""), "with its salt the digest could be guessed").not.toContain(memory.salt);
    const copy = await openFresh("memory");
    await copy.archive.import(lines);
    expect((await copy.verify()).problems).toEqual([]);
    expect(await copy.memories.read(memory.id)).toEqual(await hub.memories.read(memory.id));
    expect(await copy.tasks.line("t")).toMatchObject([
      { digest: sent.digest, envelope: { redacted: { id: sent.envelope.id } } },
    ]);
    expect(await hub.memories.exportMarkdown()).not.toContain(SECRET);
  });

  it("reports which copies the store cannot reach [MEM-18]", async () => {
    const { ada } = await team();
    const { beyond } = await ada.memories.redact({ text: SECRET }, WHY);
    expect(beyond.join("\n")).toMatch(/Backups, exports and copies/);
    expect(beyond.join("\n")).toMatch(/memory of other processes/);
    expect(/write-ahead log.*replicas/.test(beyond.join("\n"))).toBe(store === "postgres");
  });

  it("erases many records in batches, and resumes after a crash [MEM-18]", async () => {
    const reopen = sharedStore(store);
    const hub = await hubOn(store, await reopen());
    const ada = await hub.agent("ada", {});
    const many = Array.from({ length: 120 }, (_, n) => ({ content: `${n} ${SECRET}` }));
    const memories = await ada.remember(many);
    const doomed = new LocalHub(dyingAfter("redactBodies", await reopen()));
    const failed = await refusal(
      (await doomed.agent("ada")).memories.redact({ text: SECRET }, WHY),
    );
    expect(failed.code).toBe("store_closed");
    const redacted = async (): Promise<number> => {
      const all = await Promise.all(memories.map(({ id }) => hub.memories.read(id)));
      return all.filter((memory) => memory.redacted !== undefined).length;
    };
    const first = await redacted();
    expect(first).toBeGreaterThan(0);
    expect(first).toBeLessThan(120);
    expect((await hub.verify()).problems).toEqual([]);
    const progress: number[] = [];
    const report = await ada.memories.redact({ text: SECRET }, WHY, {
      onProgress: ({ checked, total }) => progress.push(checked / total),
    });
    expect(report.erased).toHaveLength(120 - first);
    expect(report.records.length).toBeGreaterThan(1);
    expect(progress.at(-1)).toBe(1);
    expect(await redacted()).toBe(120);
    await expectGone(hub, ada);
  });

  it("erases each record once when two agents redact concurrently [MEM-18]", async () => {
    const reopen = sharedStore(store);
    const hubs = [await hubOn(store, await reopen()), await hubOn(store, await reopen())];
    const agents = await Promise.all(hubs.map((hub, n) => hub.agent(`a${n}`, {})));
    const [one, two] = agents as [Agent, Agent];
    await one.remember(Array.from({ length: 80 }, (_, n) => ({ content: `${n} ${SECRET}` })));
    const reports = await Promise.all(
      agents.map((agent) => agent.memories.redact({ text: SECRET }, WHY)),
    );
    const erased = reports.flatMap((report) => report.erased.map(({ id }) => id));
    expect(new Set(erased).size).toBe(80);
    expect(erased).toHaveLength(80);
    await expectGone(hubs[0] as Hub, two);
  });
});
