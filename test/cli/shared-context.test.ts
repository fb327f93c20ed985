/** `baton context`: showing, writing, proposing and adopting items of the shared context. */
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { withoutNumbers } from "../support/fences.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { type TestStore, testStore } from "./baton.ts";

async function teamIn(store: TestStore): Promise<void> {
  await using hub = await store.open();
  await hub.agent("lead", { role: "coordinator" });
  await hub.agent("coder", { role: "coder" });
}

const AS_LEAD = ["--as", "lead"];

describe("baton context", () => {
  it("writes by compare-and-set, shows items for a role, and lists changes [CRD-1]", async () => {
    using store = testStore();
    await teamIn(store);
    expect((await store.baton("context")).stdout).toContain("The shared context of workspace");
    const rule = ["constraints", "no-fixtures", "Do not touch the fixtures"];
    const set = await store.baton("context", "set", ...rule, "--why", "Replayed", ...AS_LEAD);
    expect(set).toMatchObject({ code: 0, stdout: "constraints/no-fixtures  version 1\n" });
    const named = ["conventions", "names", "Named after verbs", "--role", "coder"];
    await store.baton("context", "set", ...named, ...AS_LEAD);
    const again = await store.baton("context", "set", ...rule, "--level", "should", ...AS_LEAD);
    expect(again.code).toBe(65);
    expect(again.stderr).toContain("already exists at version 1 (by lead)");
    expect(again.stderr).toContain("run the command again with --based-on 1");
    const shown = await store.baton("context", "show", "--role", "tester");
    expect(withoutNumbers(shown.stdout)).toContain(
      "- must no-fixtures: «Do not touch the fixtures» because «Replayed»",
    );
    expect(shown.stdout).toContain("not shown: conventions/names (role)");
    const data = JSON.parse((await store.baton("context", "--role", "coder", "--json")).stdout);
    expect(data).toMatchObject({ version: 2, items: [{ key: "no-fixtures" }, { key: "names" }] });
    const retiring = ["conventions", "names", "--reason", "Nobody did", "--based-on", "2"];
    expect((await store.baton("context", "retire", ...retiring, ...AS_LEAD)).code).toBe(0);
    const changes = await store.baton("context", "changes", "--after", "1");
    expect(changes.stdout).toMatch(
      /2 {2}conventions\/names {2}new, lead[\s\S]*3 {2}conventions\/names {2}retired[\s\S]*Nobody did/,
    );
    const history = await store.baton("context", "history", "conventions", "names", "--json");
    expect(JSON.parse(history.stdout)).toMatchObject({
      items: [{ kind: "retired" }, { kind: "set" }],
    });
  }, 240_000);

  it("shows the team's must constraints when work is accepted [CRD-1]", async () => {
    using store = testStore();
    await teamIn(store);
    const may = ["constraints", "tabs", "Tabs are fine", "--level", "may"];
    await store.baton("context", "set", ...may, ...AS_LEAD);
    {
      await using hub = await store.open();
      const { context, tasks } = await hub.agent("lead");
      await context.set({ section: "constraints", key: "no-deps", rule: "No packages" });
      await tasks.add({ task: "api", intent: "GET /users", to: "role:coder" });
      await tasks.add({ task: "docs", intent: "Say how", to: "role:coder" });
    }
    const { stdout } = await store.baton("task", "next", "--as", "coder");
    expect(stdout).toMatch(/team musts +no-deps: No packages\n/);
    expect(stdout).not.toContain("Tabs");
    const data = JSON.parse((await store.baton("accept", "--as", "coder", "--json")).stdout);
    expect(data.musts).toEqual([{ key: "no-deps", rule: "No packages" }]);
  }, 240_000);

  it("refuses a conflicting decision, unless --despite names the other one [CRD-1]", async () => {
    using store = testStore();
    await teamIn(store);
    const first = ["database", "PostgreSQL", "--question", "Which database do we use?"];
    const why = ["--because", "We know it", "--rejected", "MongoDB=No transactions"];
    expect((await store.baton("context", "decide", ...first, ...why, ...AS_LEAD)).code).toBe(0);
    const second = ["db", "MySQL", "--question", "Which database should we use?", ...AS_LEAD];
    const refused = await store.baton("context", "decide", ...second);
    expect(refused.code).toBe(65);
    expect(refused.stderr).toContain(
      'database: "Which database do we use?" "PostgreSQL" (by lead;',
    );
    expect(refused.stderr).toContain("--supersedes database");
    expect(refused.stderr).toContain("--despite database");
    const despite = await store.baton("context", "decide", ...second, "--despite", "database");
    expect(despite.stdout).toBe("decisions/db  version 2\n");
    const proposal = ["decisions", "store", "MongoDB", "--question", "Which database do we use?"];
    const reason = ["--reason", "It scales", "--as", "coder", "--json"];
    const proposed = await store.baton("context", "propose", ...proposal, ...reason);
    expect(JSON.parse(proposed.stdout).contradictions).toMatchObject([{ key: "database" }, {}]);
    const slip = await store.baton(
      "context",
      "decide",
      ...first,
      "--rejected",
      "MongoDB",
      ...AS_LEAD,
    );
    expect(slip.stderr).toContain("the reason is missing");
  }, 240_000);

  it("sends a proposal to an agent that may write, which adopts it [CRD-1]", async () => {
    using store = testStore();
    await teamIn(store);
    const change = ["conventions", "names", "Named after verbs"];
    const denied = await store.baton("context", "set", ...change, "--as", "coder");
    expect(denied.code).toBe(77);
    expect(denied.stderr).toContain("baton context propose");
    const reason = ["--reason", "We differ", "--as", "coder"];
    const proposed = await store.baton("context", "propose", ...change, ...reason);
    expect(proposed).toMatchObject({ code: 0, stderr: "" });
    const both = await store.baton("context", "propose", ...change, "--retire", ...reason);
    expect(both.code).toBe(64);
    expect(both.stderr).toContain("--retire removes the item");
    const looked = await store.baton("accept", ...AS_LEAD);
    expect(looked.stdout).toMatch(/Continue with baton context adopt dlv_\S+#1, or decline/);
    await store.baton("release", looked.stdout.split("\n")[0] ?? "");
    const taken = await store.baton("accept", ...AS_LEAD, "--json");
    const { handle } = JSON.parse(taken.stdout) as { handle: string };
    const adopted = await store.baton("context", "adopt", handle);
    expect(adopted).toMatchObject({ code: 0, stdout: "adopted  version 1\n" });
    await using hub = await store.open();
    expect(await hub.context.item("conventions", "names")).toMatchObject({ by: "lead" });
  }, 240_000);

  it("reads project facts from git, and reports what is missing [CRD-1]", async () => {
    using store = testStore();
    using folder = temporaryFolder();
    await teamIn(store);
    const root = folder.file("repository");
    execFileSync("git", ["init", "--quiet", "--initial-branch=trunk", root]);
    writeFileSync(join(root, "a.ts"), "x");
    const withoutAgent = await store.baton("context", "project", root, "--from-git");
    expect(withoutAgent.stderr).toContain("needs --as");
    const written = await store.baton("context", "project", root, "--from-git", ...AS_LEAD);
    expect(written).toMatchObject({ code: 0, stderr: "" });
    expect(written.stdout).toContain("project/branch  version 1");
    const shown = await store.baton("context", "project");
    expect(withoutNumbers(shown.stdout)).toContain("branch: «trunk, nothing is committed yet»");
    const none = await store.baton(
      "context",
      "project",
      folder.file("."),
      "--from-git",
      ...AS_LEAD,
    );
    expect(none.code).toBe(66);
    expect(none.stderr).toContain("not a git repository");
  }, 240_000);

  it("suggests a word for a typo, and refuses options of another section [CRD-1]", async () => {
    using store = testStore();
    await teamIn(store);
    const verb = await store.baton("context", "histroy");
    expect(verb.stderr).toContain("Did you mean history?");
    const section = await store.baton("context", "set", "constraint", "a", "b", ...AS_LEAD);
    expect(section.stderr).toContain("Did you mean constraints?");
    const foreign = ["conventions", "a", "b", "--level", "must"];
    const option = await store.baton("context", "set", ...foreign, ...AS_LEAD);
    expect(option.stderr).toContain("--level does not apply to items of the section conventions.");
    expect((await store.baton("context", "keepers")).stdout).toBe("coordinator\nmemory-keeper\n");
    const schema = JSON.parse((await store.baton("schema", "context")).stdout);
    expect(schema).toMatchObject({ $id: expect.stringContaining("shared-context-item") });
  }, 240_000);
});
