/**
 * What `baton handoff send` reports about a handoff: lint findings and earlier handoffs it repeats.
 */
import { expect, it } from "vitest";
import { type Draft, ERROR_CODES } from "../../src/index.ts";
import { team, testStore } from "./baton.ts";

const SEND = ["handoff", "send", "Refactor the auth module", "--as", "ada", "--to", "ben"];

it("prints lint findings below the handoff, each with a hint [ENV-12]", async () => {
  using store = testStore();
  await team(store);
  const poor = await store.baton(...SEND, "--task", "auth");
  expect(poor.code, poor.stderr).toBe(0);
  expect(poor.stdout).toMatch(
    /^dlv_\S+[^\n]*\nwarn {2}next: has no step {2}no_next_step\n {6}Name the first step: --next /,
  );
  const draft = JSON.stringify({
    next: ["Split it"],
    expects: [APPROVAL],
  } satisfies Partial<Draft>);
  const good = await store.baton(...SEND, "--task", "auth", "--draft", draft);
  expect(good.stdout).not.toContain("warn");
});

const APPROVAL = { name: "verdict", type: "approval" };

it("reports an earlier handoff that the new one repeats, also as JSON [DLV-22]", async () => {
  using store = testStore();
  await team(store);
  await using hub = await store.open();
  const cleo = await hub.agent("cleo", {});
  const draft = { to: "ben", task: "auth", intent: "Refactor the auth module" };
  const first = await cleo.handoff(draft);
  const shown = await store.baton(...SEND, "--task", "auth");
  expect(shown.stdout).toContain(`warn  task: repeats ${first.id} (ready, sent by cleo on `);
  expect(shown.stdout).toContain(`Wait for ${first.id}, or cancel one of the two.`);
  const { stdout } = await store.baton(...SEND, "--task", "module", "--json");
  const { findings, repeats } = JSON.parse(stdout);
  expect(repeats).toMatchObject([{ delivery: first.id, by: "cleo", why: "work" }]);
  expect(findings.at(-1)).toMatchObject({ rule: "repeats_handoff", path: "intent" });
});

it("refuses a raw conversation, and names the rule that allows it [CTX-11 ENV-12]", async () => {
  using store = testStore();
  await team(store);
  const state = "User: it fails\nAssistant: how?\nUser: on login\nAssistant: I see";
  const refused = await store.baton(...SEND, "--state", state);
  expect(refused.code).toBe(ERROR_CODES.lint_refused.exit);
  expect(refused.stderr).toContain("state: contains a raw conversation");
  expect(refused.stderr).toContain("baton lint --rules transcript=warn");
  await store.baton("lint", "--rules", "transcript=warn");
  expect((await store.baton(...SEND, "--state", state)).code).toBe(0);
});
