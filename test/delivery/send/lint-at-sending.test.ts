/** Lint on sending: each handoff returns its findings; a raw conversation is refused by default. */
import { describe, expect, it } from "vitest";
import type { Draft, Finding, Hub } from "../../../src/index.ts";
import { contents, openFresh, refusal, STORES, take } from "../../support/hub/support.ts";

const GOOD = {
  to: "ben",
  task: "login",
  intent: "Fix the login form: it accepts an empty password",
  next: ["Write a test that posts an empty password"],
  expects: [{ name: "patch", type: "diff", criteria: ["The new test passes"] }],
} satisfies Draft;

/** A result that meets everything GOOD expects. */
const DONE = { outputs: { patch: "+ required" }, criteria: { patch: ["The new test passes"] } };

const TALK = "User: it fails\nAssistant: how?\nUser: on login\nAssistant: I see";
const MESSAGES = ["user", "assistant", "user"].map((role) => ({ role, content: "hello" }));
const token = `gh${"p_"}aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xY1zA2`;

const rulesOf = ({ findings }: { readonly findings: readonly Finding[] }) =>
  findings.map(({ rule }) => rule);

async function team(hub: Hub) {
  const ada = await hub.agent("ada", { role: "planner" });
  const ben = await hub.agent("ben", { role: "coder" });
  return { ada, ben };
}

describe.each(STORES)("sending a handoff on %s", (store) => {
  it("returns the lint findings, and none for a good draft [ENV-12]", async () => {
    const hub = await openFresh(store);
    const { ada } = await team(hub);
    expect((await ada.handoff(GOOD)).findings).toEqual([]);
    const poor = await ada.handoff({ to: "ben", intent: "Fix it", state: `Use ${token}` });
    expect(rulesOf(poor)).toEqual(["no_next_step", "no_criteria", "vague_intent", "secret"]);
    expect(poor.findings).toContainEqual({
      rule: "no_next_step",
      level: "warn",
      path: "next",
      message: "next: has no step",
      hint: 'Add the first step, next: ["Extract validateToken() into its own file"].',
    });
    expect(poor.findings.at(-1)).toMatchObject({ level: "error", path: "state" });
    expect(JSON.stringify(poor)).not.toContain(token);
    expect(JSON.parse(JSON.stringify(poor))).toMatchObject({ findings: poor.findings });
    for (const each of poor.each) expect(each.findings).toEqual(poor.findings);
  });

  it("returns findings when publishing, joining, handing on or repeating [ENV-12]", async () => {
    const hub = await openFresh(store);
    const { ada, ben } = await team(hub);
    await hub.channels.set("news");
    await ben.channels.subscribe("news");
    const news = await ada.channels.publish("news", { intent: "Done" });
    expect(rulesOf(news)).toEqual(["vague_intent"]);
    const keyed = { ...GOOD, next: [], key: "k-1" };
    const first = await ada.handoff(keyed);
    expect(rulesOf(await ada.handoff(keyed))).toEqual(["no_next_step"]);
    const joined = await ada.handoffs.join([first], { ...GOOD, task: "merge", expects: [] });
    expect(rulesOf(joined)).toEqual(["no_criteria"]);
    const next = await (await take(ben, { task: "login" })).handoff({ to: "ada" });
    if (next.kind !== "sent") throw new Error("the work was handed on");
    expect(rulesOf(next)).toContain("no_next_step");
  });

  it("applies the lint settings of the workspace [ENV-12]", async () => {
    const hub = await openFresh(store);
    const { ada } = await team(hub);
    await hub.settings.update({ lint: { no_next_step: "off", transcript: "warn" } });
    const sent = await ada.handoff({ ...GOOD, next: [], state: TALK });
    expect(sent.findings).toMatchObject([{ rule: "transcript", level: "error", path: "state" }]);
  });

  it.each([
    ["the state", "state", { state: TALK }],
    ["a step", "next[0]", { next: [TALK] }],
    ["the intent", "intent", { intent: TALK }],
    ["a payload string", "payload.data.log", payload(TALK)],
    ["a JSON string in the payload", "payload.data.log", payload(JSON.stringify(MESSAGES))],
    ["a payload list", "payload.data.log", payload(MESSAGES)],
  ] satisfies (readonly [string, string, Partial<Draft>])[])(
    "refuses a raw conversation in %s and stores nothing [CTX-11 ENV-12]",
    async (_where, path, changes) => {
      const hub = await openFresh(store);
      const { ada } = await team(hub);
      const before = await contents(hub);
      const error = await refusal(ada.handoff({ ...GOOD, ...changes }));
      expect(error).toMatchObject({ code: "lint_refused", path });
      expect(error.violations).toMatchObject([{ rule: "transcript", path }]);
      expect(error.hint).toMatch(
        /remember it .* refs: .* hub\.settings\.update\(\{ lint: \{ transcript: "warn" \} \}\)/,
      );
      expect(await contents(hub)).toEqual(before);
    },
  );

  it("accepts a reference to a conversation, or its text if allowed [CTX-11 ENV-12]", async () => {
    const hub = await openFresh(store);
    const { ada, ben } = await team(hub);
    const { id } = await ada.remember({ type: "transcript", content: TALK });
    const refs = [{ id, summary: "The login fails for an empty password." }];
    expect((await ada.handoff({ ...GOOD, refs })).findings).toEqual([]);
    await (await take(ben)).complete(DONE);
    await hub.settings.update({ lint: { transcript: "warn" } });
    await ada.handoff({ ...GOOD, task: "talk", state: TALK });
    expect((await take(ben)).envelope.state).toBe(TALK);
  });

  it("hands on a received conversation but refuses a new one [CTX-11 ENV-12]", async () => {
    const hub = await openFresh(store);
    const { ada, ben } = await team(hub);
    await hub.settings.update({ lint: { transcript: "warn" } });
    await ada.handoff({ ...GOOD, intent: TALK });
    await hub.settings.update({ lint: { transcript: "refuse" } });
    const work = await take(ben);
    const refused = await refusal(work.handoff({ to: "ada", state: TALK }));
    expect(refused).toMatchObject({ code: "lint_refused", path: "state" });
    const next = await work.handoff({ to: "ada", next: ["Review it"] });
    expect(next.kind).toBe("sent");
  });
});

function payload(log: unknown) {
  return { payload: { type: "chat", data: { log } } };
}
