/** Tokens on the command line: printed once, listed without their text, revoked. */
import { describe, expect, it, vi } from "vitest";
import { team, testStore } from "../cli/baton.ts";
import { local } from "./support.ts";

describe("baton token", () => {
  it("prints a token once, lists it without its text and revokes it [OPS-5]", {
    timeout: 180_000,
  }, async () => {
    using store = testStore();
    await team(store);
    const added = await store.baton(
      ...[
        "token",
        "add",
        "ben",
        "--access",
        "agent",
        "--expires",
        "30d",
        "--label",
        "Ben's laptop",
      ],
    );
    expect(added).toMatchObject({ code: 0, stderr: "" });
    const [text = "", , about = ""] = added.stdout.split("\n");
    expect(text).toMatch(/^baton_[A-Za-z0-9_-]{40,}$/);
    expect(added.stdout.split(text)).toHaveLength(2);
    expect(about).toMatch(/^tok_\S+ {2}ben {2}agent {2}until \d{4}-.* {2}Ben's laptop$/);
    expect(added.stdout).toContain("Set it as BATON_TOKEN where ben runs.");
    const id = about.split(" ")[0] ?? "";

    const listed = await store.baton("token", "list");
    expect(listed.stdout).toMatch(
      new RegExp(`^${id} +ben +agent +until .* +not used +Ben's laptop\n$`),
    );
    const asJson = await store.baton("token", "list", "--json");
    expect(JSON.parse(asJson.stdout)).toMatchObject([{ id, agent: "ben", state: "good" }]);
    for (const { stdout } of [listed, asJson]) {
      expect(stdout).not.toContain(text);
      expect(stdout).not.toContain("digest");
    }
    {
      await using hub = await store.open();
      expect(await local(hub).authenticate(text)).toMatchObject({ agent: "ben", token: id });
    }

    await vi.waitFor(
      async () => expect((await store.baton("token", "list")).stdout).toMatch(/ used \d{4}-/),
      { timeout: 60_000 },
    );
    const revoked = await store.baton("token", "revoke", id, "--reason", "Lost");
    expect(revoked).toMatchObject({ code: 0, stderr: "" });
    expect(revoked.stdout).toMatch(/^tok_\S+ {2}ben {2}agent {2}revoked \d{4}-.*: Lost/);
    await using hub = await store.open();
    expect(await local(hub).authenticate(text)).toEqual({ kind: "refused", why: "revoked" });
  });

  it("expires in 90 days by default, and never with --expires never [OPS-5]", {
    timeout: 180_000,
  }, async () => {
    using store = testStore();
    await team(store);
    const add = (...more: string[]) =>
      store.baton("token", "add", "ben", "--access=agent", ...more);
    const usual = JSON.parse((await add("--json")).stdout);
    expect(usual.expiresAt - usual.issuedAt).toBe(90 * 24 * 3_600_000);
    expect((await add("--expires", "never")).stdout).toMatch(/ben {2}agent {2}does not expire/);
    const wrong = await add("--expires", "soon");
    expect(wrong.code).toBe(64);
    expect(wrong.stderr).toContain('Invalid --expires "soon"');
  });

  it("creates the store together with its first token [OPS-5]", {
    timeout: 180_000,
  }, async () => {
    using store = testStore();
    const args = ["token", "add", "*", "--access", "admin", "--workspace", "team", "--json"];
    const added = await store.baton(...args);
    expect(added.code).toBe(0);
    const { token, id, ...info } = JSON.parse(added.stdout);
    expect(info).toMatchObject({ workspace: "team", agent: "*", access: "admin", state: "good" });
    await using hub = await store.open();
    expect(await local(hub).authenticate(token)).toMatchObject({ workspace: "team", token: id });
  });

  it("reports what is wrong and how to fix it [OPS-5]", async () => {
    using store = testStore();
    const nowhere = await store.baton("token", "add", "ben", "--access", "agent");
    expect(nowhere.code).toBe(66);
    await team(store);
    const level = await store.baton("token", "add", "ben", "--access", "admn");
    expect(level.code).toBe(64);
    expect(level.stderr).toContain("admin");
    const none = await store.baton("token", "add", "ben");
    expect(none.code).toBe(64);
    expect(none.stderr).toContain("--access");
    const agent = await store.baton("token", "add", "bem", "--access", "agent");
    expect(agent.stderr).toContain('"ben"');
    const all = await store.baton("token", "add", "*", "--access", "agent");
    expect(all.code).toBe(64);
    expect(all.stderr).toContain("coordinator or admin");
    const unknown = "tok_01900000-0000-7000-8000-000000000000";
    const revoked = await store.baton("token", "revoke", unknown);
    expect(revoked.code).toBe(66);
    expect(revoked.stderr).toContain("baton token list");
    const empty = await store.baton("token", "list");
    expect(empty.stdout).toContain("No tokens");
  });
});
