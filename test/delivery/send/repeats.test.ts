/** Repeat detection: sending a handoff reports the earlier deliveries that it repeats. */
import { describe, expect, it } from "vitest";
import type { Agent, Draft, HubOptions, Sent } from "../../../src/index.ts";
import { VirtualClock } from "../../../src/testing/index.ts";
import { openFresh, openTwo, refusal, STORES, take } from "../../support/hub/support.ts";

const LOGIN = {
  to: "coder",
  task: "login",
  intent: "Fix the login form: it accepts an empty password",
} satisfies Draft;

const idsOf = ({ repeats }: Pick<Sent, "repeats">) => repeats.map(({ delivery }) => delivery);
const whyOf = ({ repeats }: Pick<Sent, "repeats">) => repeats.map(({ why }) => why);

async function finish(agent: Agent, task: string): Promise<void> {
  await (await take(agent, { task })).complete({ summary: "done" });
}

describe.each(STORES)("repeat detection on %s", (store) => {
  async function team(options: HubOptions = {}) {
    const hub = await openFresh(store, options);
    const planner = await hub.agent("planner", { role: "planner" });
    const lead = await hub.agent("lead", { role: "lead" });
    const coder = await hub.agent("coder", { role: "coder" });
    const tester = await hub.agent("tester", { role: "tester" });
    return { hub, planner, lead, coder, tester };
  }

  it("reports an open handoff of the same task by another agent [DLV-22]", async () => {
    const { planner, lead } = await team();
    const first = await planner.handoff(LOGIN);
    expect(first.repeats).toEqual([]);
    const second = await lead.handoff({ ...LOGIN, to: "tester", intent: "Check the login form" });
    expect(second.joined).toBe("new");
    expect(second.repeats).toEqual([
      {
        delivery: first.id,
        envelope: first.envelope.id,
        task: "login",
        state: "ready",
        by: "planner",
        at: (await first.status()).sentAt,
        why: "task",
      },
    ]);
    const finding = second.findings.find(({ rule }) => rule === "repeats_handoff");
    expect(finding).toMatchObject({ level: "warn", path: "task" });
    expect(finding?.message).toContain(`${first.id} (ready, sent by planner on `);
  });

  it("reports completed work of the same task [DLV-22]", async () => {
    const { planner, lead, coder } = await team();
    const first = await planner.handoff(LOGIN);
    await finish(coder, "login");
    const { repeats, findings } = await lead.handoff({ ...LOGIN, intent: "Repair the login" });
    expect(repeats).toMatchObject([
      { delivery: first.id, state: "completed", by: "planner", holder: "coder", why: "task" },
    ]);
    const finding = findings.find(({ rule }) => rule === "repeats_handoff");
    expect(finding?.message).toContain(`${first.id} (completed by coder on `);
    expect(finding?.hint).toContain(`Read the result of ${first.id}`);
  });

  it("reports completed work of a task whose first handoff was superseded [DLV-22]", async () => {
    const { planner, lead, coder } = await team();
    await planner.handoff(LOGIN);
    const newer = await planner.handoff({ ...LOGIN, next: ["Write a test"] });
    expect(newer.joined).toBe("superseded");
    await finish(coder, "login");
    const other = await lead.handoff({ ...LOGIN, task: "form", intent: `${LOGIN.intent}!` });
    expect(idsOf(other)).toEqual([newer.id]);
    expect(idsOf(await lead.handoff({ ...LOGIN, intent: "Repair the login" }))).toEqual([newer.id]);
  });

  it("reports the same work under another task, however it is spelled [DLV-22]", async () => {
    const { planner, lead, coder } = await team();
    const first = await planner.handoff(LOGIN);
    const again = { to: "tester", intent: "fix the LOGIN form -- it accepts  an empty password." };
    const open = await lead.handoff(again);
    expect([idsOf(open), whyOf(open)]).toEqual([[first.id], ["work"]]);
    await finish(coder, "login");
    const done = await lead.handoff({ ...again, task: "form", next: ["Write a test"] });
    expect(done.repeats).toMatchObject([{ delivery: first.id, state: "completed", why: "work" }]);
    expect((await lead.handoff({ ...again, intent: "Fix the logout form" })).repeats).toEqual([]);
  });

  it("reports a handoff sent by another process on the same store [DLV-22]", async () => {
    const [one, two] = await openTwo(store);
    const planner = await one.agent("planner", {});
    await one.agent("coder", {});
    const lead = await two.agent("lead", {});
    const first = await planner.handoff(LOGIN);
    expect(idsOf(await lead.handoff({ ...LOGIN, task: "form" }))).toEqual([first.id]);
  });

  it("reports concurrent sends of the same work to all but one sender [DLV-22]", async () => {
    const { hub } = await team();
    const names = Array.from({ length: 8 }, (_, i) => `sender-${i}`);
    const senders = await Promise.all(names.map((name) => hub.agent(name, {})));
    const sent = await Promise.all(
      senders.map((sender, i) => sender.handoff({ ...LOGIN, task: `login-${i}` })),
    );
    const fresh = sent.filter(({ repeats }) => repeats.length === 0);
    expect(fresh).toHaveLength(1);
    for (const each of sent.filter((one) => one !== fresh[0])) {
      expect(idsOf(each)).toEqual([fresh[0]?.id]);
    }
    const again = await Promise.all(senders.map((sender) => sender.handoff(LOGIN)));
    expect(again.filter((each) => !whyOf(each).includes("task"))).toHaveLength(1);
  });

  it("lists the newest repeats first, at most five [DLV-22]", async () => {
    const clock = new VirtualClock(Date.UTC(2026, 0, 1));
    const { hub, lead } = await team({ clock });
    const sent: string[] = [];
    for (let i = 0; i < 7; i++) {
      const sender = await hub.agent(`sender-${i}`, {});
      sent.push((await sender.handoff({ ...LOGIN, intent: `Look at part ${i} of it` })).id);
      clock.advance(1_000);
    }
    const last = await lead.handoff({ ...LOGIN, to: "tester" });
    expect(idsOf(last)).toEqual(sent.toReversed().slice(0, 5));
  });

  it("ignores work extended, joined, handed on or sent by its holder [DLV-22]", async () => {
    const { hub, planner, coder, tester } = await team();
    const first = await planner.handoff(LOGIN);
    const extended = await planner.handoff({ ...LOGIN, next: ["Write a test"] });
    expect(extended.repeats).toEqual([]);
    const merge = { to: "lead", task: "login", intent: "Merge it" };
    expect((await planner.handoffs.join([extended], merge)).repeats).toEqual([]);
    const work = await take(coder);
    const help = await coder.handoff({ ...LOGIN, to: "tester", next: ["Try it in a browser"] });
    expect(help.repeats).toEqual([]);
    const next = await work.handoff({ to: "tester", next: ["Review it"] });
    if (next.kind !== "sent") throw new Error("the work was handed on");
    expect(next.repeats).toEqual([]);
    await take(tester);
    const report = await tester.handoff({ ...LOGIN, to: "planner", action: "completed" });
    expect(report.repeats).toEqual([]);
    const after = { ...LOGIN, parents: [first.envelope.id] };
    expect((await (await hub.agent("lead")).handoff(after)).repeats).toEqual([]);
  });

  it("ignores parts that one sender splits, and publications [DLV-22]", async () => {
    const { hub, planner, lead, coder, tester } = await team();
    const { intent } = LOGIN;
    const parts = ["cost", "speed", "licence"].map((task) => planner.handoff({ ...LOGIN, task }));
    for (const { repeats } of await Promise.all(parts)) expect(repeats).toEqual([]);
    const steps = { task: "steps", intent };
    await planner.handoff({ ...steps, to: "coder", next: ["Write it"] });
    const review = await planner.handoff({ ...steps, to: "tester", next: ["Review it"] });
    expect(review.repeats).toEqual([]);
    await hub.channels.set("news");
    await coder.channels.subscribe("news");
    await tester.channels.subscribe("news");
    const news = await lead.channels.publish("news", { task: "steps", intent });
    expect([news.repeats, news.receivers.length]).toEqual([[], 2]);
  });

  it("reports a sender's own repeat to another receiver or after completion [DLV-22]", async () => {
    const { planner, coder } = await team();
    const first = await planner.handoff(LOGIN);
    expect(idsOf(await planner.handoff({ ...LOGIN, to: "tester" }))).toEqual([first.id]);
    await finish(coder, "login");
    expect(idsOf(await planner.handoff(LOGIN))).toContain(first.id);
    expect(idsOf(await planner.handoff({ ...LOGIN, task: "form" }))).toEqual([first.id]);
  });

  it("ignores a repeated key and handoffs that were cancelled [DLV-22]", async () => {
    const { planner, lead } = await team();
    const keyed = { ...LOGIN, key: "login-1" };
    const first = await planner.handoff(keyed);
    const again = await planner.handoff(keyed);
    expect([again.joined, again.id, again.repeats]).toEqual(["repeated", first.id, []]);
    await first.cancel("Not needed");
    const other = await lead.handoff({ ...LOGIN, task: "form" });
    expect(other.repeats).toEqual([]);
    expect(idsOf(await planner.handoff({ ...LOGIN, task: "page" }))).toEqual([other.id]);
  });

  it("matches completed work of other tasks for a day, open work forever [DLV-22]", async () => {
    const clock = new VirtualClock(Date.UTC(2026, 0, 1));
    const { planner, lead, coder } = await team({ clock });
    const watch = { ...LOGIN, task: "watch", intent: "Watch the nightly build" };
    const open = await planner.handoff(watch);
    const done = await planner.handoff(LOGIN);
    await finish(coder, "login");
    clock.advance(23 * 3_600_000);
    expect(idsOf(await lead.handoff({ ...LOGIN, task: "form" }))).toEqual([done.id]);
    clock.advance(2 * 3_600_000);
    const next = await lead.handoff({ ...LOGIN, task: "page" });
    expect(next.repeats).toEqual([]);
    clock.advance(48 * 3_600_000);
    expect(idsOf(await planner.handoff({ ...LOGIN, task: "view" }))).toEqual([next.id]);
    expect(idsOf(await lead.handoff({ ...watch, task: "build" }))).toEqual([open.id]);
  });

  it("ignores an intent that is too generic to compare [DLV-22]", async () => {
    const { planner, lead } = await team();
    for (const intent of ["Continue", "…"]) {
      await planner.handoff({ to: "coder", intent });
      expect((await lead.handoff({ to: "coder", intent })).repeats).toEqual([]);
    }
  });

  it("warns in lint before sending, and refuses if the rule says so [DLV-22]", async () => {
    const { hub, planner, lead } = await team();
    const first = await planner.handoff(LOGIN);
    const draft = { ...LOGIN, task: "form" };
    const { findings } = await lead.handoffs.lint(draft);
    const found = findings.filter(({ rule }) => rule === "repeats_handoff");
    expect(found).toMatchObject([{ path: "intent", level: "warn" }]);
    await hub.settings.update({ lint: { repeats_handoff: "refuse" } });
    const error = await refusal(lead.handoff(draft));
    expect(error).toMatchObject({ code: "lint_refused", path: "intent" });
    expect(error.message).toContain(first.id);
    await hub.settings.update({ lint: { repeats_handoff: "off" } });
    const sent = await lead.handoff(draft);
    expect(idsOf(sent)).toEqual([first.id]);
    expect(sent.findings.map(({ rule }) => rule)).not.toContain("repeats_handoff");
  });

  it("does not compare with a redacted intent, but still matches its task [DLV-22]", async () => {
    const { planner, lead } = await team();
    const first = await planner.handoff(LOGIN);
    await planner.memories.redact({ ids: [first.envelope.id] }, "It says too much");
    const other = await lead.handoff({ ...LOGIN, task: "form" });
    expect(other.repeats).toEqual([]);
    const same = await lead.handoff({ ...LOGIN, to: "tester" });
    expect(same.repeats).toMatchObject([{ delivery: first.id, why: "task" }]);
  });
});
