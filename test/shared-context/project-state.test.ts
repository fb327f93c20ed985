/** Project state in the shared context, read from a git repository. */
import { execFileSync } from "node:child_process";
import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { projectFromGit } from "../../src/index.ts";
import { withoutNumbers } from "../support/fences.ts";
import { openFresh, refusal, tempFolder } from "../support/hub/support.ts";
import { BRANCH, namesIn, teamOn } from "./team-and-items.ts";

describe("project state from git", () => {
  function repository(): string {
    const folder = tempFolder();
    const git = (...args: string[]) =>
      execFileSync("git", ["-C", folder, "-c", "user.name=t", "-c", "user.email=t@t", ...args]);
    git("init", "--quiet", "--initial-branch=main");
    writeFileSync(join(folder, "readme.md"), "x");
    git("add", ".");
    git("commit", "--quiet", "--no-gpg-sign", "--message", "Begin with a readme");
    writeFileSync(join(folder, "new.ts"), "x");
    return folder;
  }

  it("contains branch, files and changes, and writes only what is new [CRD-1]", async () => {
    const folder = repository();
    const { hub, lead } = await teamOn(await openFresh("memory"));
    expect(namesIn(await lead.context.project(folder))).toEqual([
      "project/branch",
      "project/files",
      "project/changes",
    ]);
    const { text } = await hub.context.text();
    expect(withoutNumbers(text)).toMatch(/branch: «main, at [0-9a-f]{7,}»/);
    expect(withoutNumbers(text)).toContain("files: «1 files: . 1»");
    expect(withoutNumbers(text)).toMatch(
      /changes: «uncommitted: new\.ts; last commits: [0-9a-f]+ Begin with a readme»/,
    );
    expect(await lead.context.project(folder)).toEqual([]);
    writeFileSync(join(folder, "newer.ts"), "x");
    expect(namesIn(await lead.context.project(folder))).toEqual(["project/changes"]);
    expect(await hub.context.changes()).toMatchObject({ version: 4 });
    const released = { ...BRANCH, key: "released", content: "1.2" };
    await lead.context.project([released]);
    expect(await lead.context.project([released])).toEqual([]);
    const roles = ["coder"];
    expect(await lead.context.project([{ ...released, roles }])).toMatchObject([{ roles }]);
    const none = lead.context.project(null as unknown as []);
    expect((await refusal(none)).code).toBe("invalid_input");
  });

  it("lists the old and the new name of an unstaged rename once [CRD-1]", async () => {
    const folder = repository();
    writeFileSync(join(folder, "readme.md"), "A text long enough to be known again\n".repeat(20));
    execFileSync("git", ["-C", folder, "add", "readme.md"]);
    renameSync(join(folder, "readme.md"), join(folder, "begin.md"));
    execFileSync("git", ["-C", folder, "add", "--intent-to-add", "begin.md"]);
    const [, , changes] = await projectFromGit(folder);
    expect(changes?.data).toMatchObject({ uncommitted: 3 });
    expect(changes?.content).toContain("uncommitted: begin.md, readme.md, new.ts;");
  });

  it("is read from a repository without commits; other folders are refused [CRD-1]", async () => {
    const folder = tempFolder();
    const none = await refusal(projectFromGit(folder));
    expect(none).toMatchObject({ code: "file_unusable", path: "folder" });
    expect(none.message).toContain("not a git repository");
    execFileSync("git", ["-C", folder, "init", "--quiet", "--initial-branch=main"]);
    expect((await projectFromGit(folder)).map(({ content }) => content)).toEqual([
      "main, nothing is committed yet",
      "no files yet",
      "nothing uncommitted; no commits yet",
    ]);
  });
});
