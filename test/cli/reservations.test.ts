/** `baton reserve`: reserving files for accepted work, and reporting conflicts. */
import { describe, expect, it } from "vitest";
import { team, testStore } from "./baton.ts";

describe("baton reserve", () => {
  it("reserves globs, and reports conflicts when overlapping work is accepted [CRD-7]", {
    timeout: 240_000,
  }, async () => {
    using store = testStore();
    await team(store);
    const sent = await store.baton(
      ...["handoff", "send", "Go", "--as", "ada", "--to", "ben", "--task", "auth"],
      ...["--touches", "src/auth/**", "--touches", "db:users"],
    );
    expect(sent).toMatchObject({ code: 0, stderr: "" });
    {
      await using hub = await store.open();
      const ada = await hub.agent("ada");
      await ada.handoff({ to: "cyd", task: "login", intent: "Go", touches: ["src/*/login.ts"] });
      await ada.handoff({ to: "cyd", task: "docs", intent: "Go" });
    }

    const first = await store.baton("accept", "--as", "ben", "--json");
    const { handle, delivery, conflicts } = JSON.parse(first.stdout);
    expect(conflicts).toEqual([]);
    const overlapping = await store.baton("accept", "--as", "cyd", "--task", "login");
    expect(overlapping.stdout).toContain(
      'Conflict on src/*/login.ts: ben works on src/auth/** for "auth"',
    );

    const wider = ["src/**", "port:5432", "--note", "Moving the validator"];
    const again = await store.baton("reserve", handle, ...wider);
    expect(again).toMatchObject({ code: 0, stderr: "" });
    expect(again.stdout).toMatch(/src\/\*\*, port:5432\n {2}ben for "auth": Moving the validator/);
    expect(again.stdout).toContain('cyd works on src/*/login.ts for "login"');
    const shared = await store.baton("reserve", delivery.id, "docs/**", "--shared", "--json");
    expect(JSON.parse(shared.stdout)).toMatchObject({
      reserved: { globs: ["docs/**"], mode: "shared", agent: "ben" },
      conflicts: [],
    });

    const listed = await store.baton("reservations", "--touching", "docs/a.md", "--json");
    expect(JSON.parse(listed.stdout)).toMatchObject({
      items: [{ agent: "ben", delivery: delivery.id }],
    });
    const all = await store.baton("reservations");
    expect(all.stdout).toMatch(/docs\/\*\*, shared\n {2}ben for "auth"[\s\S]*src\/\*\/login\.ts/);
    expect((await store.baton("unreserve", handle)).code).toBe(0);
    expect((await store.baton("reserve", handle)).stdout).toContain("src/auth/**, db:users");
    await store.baton("complete", handle);
    const over = await store.baton("reservations", "--agent", "ben");
    expect(over.stdout).toContain("No matching reservations");
    const lost = await store.baton("reserve", handle, "src/**");
    expect(lost.code).toBe(75);
  });

  it("refuses an invalid glob, and says how to fix it [CRD-7]", async () => {
    using store = testStore();
    await team(store);
    const said = ["Go", "--as", "ada", "--to", "ben", "--touches", "src/{a,b"];
    const refused = await store.baton("handoff", "send", ...said);
    expect(refused.code).toBe(65);
    expect(refused.stderr).toContain('touches[0]: "src/{a,b" has unbalanced braces.');
    expect(refused.stderr).toContain("Close each {");
  });
});
