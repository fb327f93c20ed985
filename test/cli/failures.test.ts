/** Failures on the command line: what waits, what might mend it, deciding, and the rules. */
import { describe, expect, it } from "vitest";
import { type TestStore, testStore } from "./baton.ts";

/** A coder that failed, with a hint; a coordinator that has not looked yet. */
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
  it("shows what waits for a decision, what might mend it, and what would be decided [CRD-3 CRD-4]", async () => {
    using store = testStore();
    const id = await withFailure(store);
    const { code, stdout } = await store.baton("failure");
    expect(code).toBe(0);
    expect(stdout).toContain(`api  missing_type (permanent) by ben, 0 retries  ${id}`);
    expect(stdout).toMatch(/message +User is not defined/);
    expect(stdout).toMatch(/hint +Check types\.ts/);
    expect(stdout).toMatch(/attempted +npm run build/);
    expect(stdout).toMatch(/with +role:coordinator since/);
    expect(stdout).toMatch(/would +abort, by default/);
    const [listed] = JSON.parse((await store.baton("failure", "list", "--json")).stdout);
    expect(listed).toMatchObject({ delivery: id, failure: { hints: ["Check types.ts"] } });
    const shown = await store.baton("failure", "show", listed.report);
    expect(shown.stdout).toContain("Check types.ts");
    expect((await store.baton("failure", "--task", "other")).stdout).toContain("Nothing failed");
  }, 60_000);

  it("decides, and tells whoever decides again that it was [CRD-4]", async () => {
    using store = testStore();
    const id = await withFailure(store);
    const why = ["--reason", "She knows the data"];
    const denied = await store.baton("failure", "decide", id, "retry", ...why, "--as", "ben");
    expect(denied.code).toBe(77);
    const typo = await store.baton("failure", "decide", id, "rerout", ...why, "--as", "carl");
    expect(typo.stderr).toContain("reroute");
    const nowhere = await store.baton("failure", "decide", id, "reroute", ...why, "--as", "carl");
    expect(nowhere.code).not.toBe(0);
    const to = ["--to", "dora", "--as", "carl"];
    const done = await store.baton("failure", "decide", id, "reroute", ...why, ...to);
    expect(done.stdout).toContain(`reroute  ${id} is ready`);
    const again = await store.baton("failure", "decide", id, "abort", ...why, "--as", "carl");
    expect(again.code).toBe(0);
    expect(again.stdout).toMatch(/decided before +reroute to dora, by carl/);
    expect((await store.baton("failure", "--undecided")).stdout).toContain("Nothing failed");
    expect((await store.baton("failure")).stdout).toMatch(/decided +reroute to dora, by carl/);
  }, 60_000);

  it("makes, lists and drops rules [CRD-4]", async () => {
    using store = testStore();
    await withFailure(store);
    expect((await store.baton("failure", "rule")).stdout).toContain("No rules");
    const rule = ["failure", "rule", "types"];
    const when = ["--type", "missing_type", "--role", "coder"];
    expect((await store.baton(...rule, ...when)).stderr).toContain("What then?");
    const both = await store.baton(...rule, ...when, "--abort", "--ask", "dora");
    expect(both.stderr).toContain("A rule says one thing");
    const made = await store.baton(...rule, ...when, "--reroute", "role:architect");
    expect(made.stdout).toContain(
      "→ reroute role:architect  when type missing_type and role coder",
    );
    expect((await store.baton("failure")).stdout).toMatch(/would +reroute role:architect, by rule/);
    expect((await store.baton("failure", "rule", "type", "--drop")).stderr).toContain("types");
    await store.baton(...rule, "--drop");
    expect((await store.baton("failure", "rule")).stdout).toContain("No rules");
  }, 60_000);
});
