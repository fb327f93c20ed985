/** Failures on the command line: listing, advice, decisions and rules. */
import { describe, expect, it } from "vitest";
import { type TestStore, testStore } from "./baton.ts";

/**
 * Creates a permanent failure with a hint, and a coordinator that has not seen it. Returns the
 * delivery id.
 */
async function withFailure(store: TestStore): Promise<string> {
  await using hub = await store.open();
  const ada = await hub.agent("ada", { role: "planner" });
  const ben = await hub.agent("ben", { role: "coder" });
  await hub.agent("carl", { role: "coordinator" });
  await hub.agent("dora", { role: "architect" });
  const sent = await ada.handoff({ to: "ben", task: "api", intent: "Build it" });
  const work = await ben.accept();
  await work?.fail({
    type: "missing_type",
    class: "permanent",
    message: "User is not defined",
    attempted: "npm run build",
    hints: ["Check types.ts"],
  });
  return sent.id;
}

describe("baton failure", () => {
  it("shows undecided failures with hints and the advised decision [CRD-3 CRD-4]", async () => {
    using store = testStore();
    const id = await withFailure(store);
    const { code, stdout } = await store.baton("failure");
    expect(code).toBe(0);
    expect(stdout).toContain(`api  missing_type (permanent) by ben, 0 retries  ${id}`);
    expect(stdout).toMatch(/message +User is not defined/);
    expect(stdout).toMatch(/hint +Check types\.ts/);
    expect(stdout).toMatch(/attempted +npm run build/);
    expect(stdout).toMatch(/assigned to +role:coordinator since/);
    expect(stdout).toMatch(/advice +abort, by default/);
    const [listed] = JSON.parse((await store.baton("failure", "list", "--json")).stdout).items;
    expect(listed).toMatchObject({ delivery: id, failure: { hints: ["Check types.ts"] } });
    const shown = await store.baton("failure", "show", listed.report);
    expect(shown.stdout).toContain("Check types.ts");
    const page = await store.baton("failure", "--limit", "1");
    expect(page.stdout).not.toContain("Next page:");
    expect((await store.baton("failure", "--task", "other")).stdout).toContain(
      "No matching failures",
    );
  }, 240_000);

  it("decides a failure once, and reports the existing decision after that [CRD-4]", async () => {
    using store = testStore();
    const id = await withFailure(store);
    const why = ["--reason", "She knows the data"];
    const decide = (...words: string[]) => store.baton("failure", "decide", id, ...words, ...why);
    const denied = await decide("retry", "--as", "ben");
    expect(denied.code).toBe(77);
    expect(denied.stderr).toContain("baton agent add ben --role coordinator");
    const typo = await decide("rerout", "--as", "carl");
    expect(typo.stderr).toContain("reroute");
    const nowhere = await decide("reroute", "--as", "carl");
    expect(nowhere.code).toBe(64);
    expect(nowhere.stderr).toContain("Pass --to <agent> or --to role:<role>.");
    const paused = await decide("abort", "--delay", "5m", "--as", "carl");
    expect(paused.stderr).toContain("delayMs: is allowed only with retry and reroute");
    const to = ["--to", "dora", "--as", "carl"];
    const done = await store.baton("failure", "decide", id, "reroute", ...why, ...to);
    expect(done.stdout).toContain(`reroute  ${id} is ready`);
    const again = await store.baton("failure", "decide", id, "abort", ...why, "--as", "carl");
    expect(again.code).toBe(0);
    expect(again.stdout).toMatch(/already decided +reroute to dora, by carl/);
    expect((await store.baton("failure", "--undecided")).stdout).toContain("No matching failures");
    expect((await store.baton("failure")).stdout).toMatch(/decided +reroute to dora, by carl/);
  }, 240_000);

  it("shows the coordinator the failure and the command that decides it [CRD-4]", async () => {
    using store = testStore();
    const id = await withFailure(store);
    const waiting = await store.baton("inbox", "carl");
    expect(waiting.stdout).toContain(
      "failed: missing_type (permanent) by ben: User is not defined",
    );
    const taken = await store.baton("accept", "--as", "carl");
    expect(taken.stdout).toContain(
      `baton failure decide ${id} retry|reroute|ask|abort --as carl --reason <text>`,
    );
    await store.baton("failure", "decide", id, "retry", "--reason", "Again", "--as", "carl");
    const again = await store.baton("accept", "--as", "ben");
    expect(again.stdout).toMatch(/before +attempt 1 by ben failed .*User is not defined/);
    expect(again.stdout).toContain("advice: Check types.ts");
    const { handle } = JSON.parse((await store.baton("inbox", "ben", "--json")).stdout).items.map(
      ({ delivery }: { delivery: { id: string; fence: number } }) => ({
        handle: `${delivery.id}#${delivery.fence}`,
      }),
    )[0];
    const failed = await store.baton("fail", handle, "Still not", "--permanent");
    expect(failed.stdout).toContain(`the coordinator was notified: baton failure show ${id}`);
  }, 240_000);

  it("creates, lists and drops rules [CRD-4]", async () => {
    using store = testStore();
    await withFailure(store);
    expect((await store.baton("failure", "rule")).stdout).toContain("No rules");
    const rule = ["failure", "rule", "types"];
    const when = ["--type", "missing_type", "--role", "coder"];
    expect((await store.baton(...rule, ...when)).stderr).toContain("The rule has no action.");
    const both = await store.baton(...rule, ...when, "--abort", "--ask", "dora");
    expect(both.stderr).toContain("The rule has more than one action.");
    const made = await store.baton(...rule, ...when, "--reroute", "role:architect");
    expect(made.stdout).toContain(
      "→ reroute role:architect  when type missing_type and role coder",
    );
    expect((await store.baton("failure")).stdout).toMatch(
      /advice +reroute role:architect, by rule/,
    );
    const later = await store.baton("failure", "rule", "later", "--abort", "--delay", "5m");
    expect(later.stderr).toContain("--delay requires --retry");
    const dropped = await store.baton("failure", "rule", "types", "--drop", "--type", "other");
    expect(dropped.stderr).toContain("--drop deletes the rule");
    const paused = await store.baton("failure", "rule", "later", "--retry", "--delay", "5m");
    expect(paused.stdout).toContain("→ retry after 5m  always");
    await store.baton("failure", "rule", "later", "--drop");
    expect((await store.baton("failure", "rule", "type", "--drop")).stderr).toContain("types");
    await store.baton(...rule, "--drop");
    expect((await store.baton("failure", "rule")).stdout).toContain("No rules");
  }, 240_000);
});
