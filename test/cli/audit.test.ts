/** `baton audit`: lists and exports the audit records. */
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { tempFolder } from "../support/hub/support.ts";
import { team, testStore } from "./baton.ts";

describe("baton audit", () => {
  it("lists changes as a table and as JSON, filtered and in pages [OPS-13]", {
    timeout: 180_000,
  }, async () => {
    using store = testStore();
    await team(store);
    const added = await store.baton("token", "add", "ben", "--access", "agent", "--json");
    const { id } = JSON.parse(added.stdout) as { id: string };
    const listed = await store.baton("audit", "--action", "tokens.add");
    expect(listed).toMatchObject({ code: 0, stderr: "" });
    expect(listed.stdout).toMatch(
      new RegExp(`^\\d{4}-\\d\\d-\\d\\d \\S+ +change +tokens\\.add +token ${id} +embedded\\n$`),
    );
    const first = await store.baton("audit", "--kind", "change", "--limit", "1", "--json");
    const page = JSON.parse(first.stdout) as { items: { seq: number }[]; next: number };
    expect(page).toMatchObject({ items: [{ action: "tokens.add", target: { name: id } }] });
    const second = await store.baton("audit", "--limit", "1", "--after", `${page.next}`, "--json");
    expect(JSON.parse(second.stdout)).toMatchObject({ items: [{ seq: page.next - 1 }] });
    const none = await store.baton("audit", "--kind", "denied");
    expect(none.stdout).toBe("No matching audit records.\n");
  });

  it("exports the records to a private file that is not overwritten [OPS-13]", {
    timeout: 180_000,
  }, async () => {
    using store = testStore();
    await team(store);
    const file = join(tempFolder(), "audit.jsonl");
    expect(await store.baton("audit", "export", file)).toMatchObject({ code: 0, stderr: "" });
    const lines = readFileSync(file, "utf8").trimEnd().split("\n");
    expect(JSON.parse(lines[0] ?? "")).toMatchObject({ kind: "header", format: "baton-audit" });
    expect(JSON.parse(lines.at(-1) ?? "")).toMatchObject({ records: lines.length - 2 });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect((await store.baton("audit", "export", file)).code).not.toBe(0);
    const printed = await store.baton("audit", "export", "--after", "1");
    expect(printed.stdout.trimEnd().split("\n").slice(1, -1)).toEqual(lines.slice(2, -1));
  });
});
