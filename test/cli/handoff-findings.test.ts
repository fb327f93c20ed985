/** What `baton handoff send` reports about a handoff: findings of the lint. */
import { expect, it } from "vitest";
import { type Draft, ERROR_CODES } from "../../src/index.ts";
import { team, testStore } from "./baton.ts";

const SEND = ["handoff", "send", "Refactor the auth module", "--as", "ada", "--to", "ben"];

it("shows findings under the handoff, each with what to write instead [ENV-12]", async () => {
  using store = testStore();
  await team(store);
  const poor = await store.baton(...SEND, "--task", "auth");
  expect(poor.code, poor.stderr).toBe(0);
  expect(poor.stdout).toMatch(
    /^dlv_\S+[^\n]*\nwarn {2}next: says no step {2}no_next_step\n {6}Say what comes first: --next /,
  );
  const draft = JSON.stringify({
    next: ["Split it"],
    expects: [APPROVAL],
  } satisfies Partial<Draft>);
  const good = await store.baton(...SEND, "--task", "auth", "--draft", draft);
  expect(good.stdout).not.toContain("warn");
});

const APPROVAL = { name: "verdict", type: "approval" };

it("refuses a raw conversation, and says how to keep it or allow it [CTX-11 ENV-12]", async () => {
  using store = testStore();
  await team(store);
  const state = "User: it fails\nAssistant: how?\nUser: on login\nAssistant: I see";
  const refused = await store.baton(...SEND, "--state", state);
  expect(refused.code).toBe(ERROR_CODES.lint_refused.exit);
  expect(refused.stderr).toContain("state: is a conversation as it went");
  expect(refused.stderr).toContain("baton lint --rules transcript=warn");
  await store.baton("lint", "--rules", "transcript=warn");
  expect((await store.baton(...SEND, "--state", state)).code).toBe(0);
});
