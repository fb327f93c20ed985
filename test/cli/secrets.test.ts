/** `baton secrets`: the policy on secrets, and where secrets were redacted. */
import { describe, expect, it } from "vitest";
import { team, testStore } from "./baton.ts";

/** Not a real token; assembled here, so that this file does not contain a key. */
const TOKEN = `gh${"p_"}Zq7mX2vK9rT4wB6nL1cD8hF3jS5gP0yAeR3u`;

describe("baton secrets", () => {
  it("redacts secrets without printing them; lists place, kind and author [OPS-6]", async () => {
    using store = testStore();
    await team(store);
    expect((await store.baton("secrets")).stdout).toContain("No secrets were found.");
    const said = await store.baton("remember", `Push with ${TOKEN}`, "--as", "ada");
    expect(said.code).toBe(0);
    expect(said.stdout).toContain("content: redacted a possible secret (GitHub token)");
    const sent = await store.baton(
      ...["handoff", "send", `Rotate ${TOKEN}`, "--as", "ada", "--to", "ben"],
    );
    expect(sent.stdout).toContain("intent: redacted a possible secret (GitHub token)");
    const { stdout } = await store.baton("secrets");
    expect(stdout).toMatch(/^redact /);
    expect(stdout).toMatch(/ada +GitHub token +memory mem_\S+ content/);
    expect(stdout).toMatch(/GitHub token \d/);
    const { policy, byKind, found } = JSON.parse((await store.baton("secrets", "--json")).stdout);
    expect(policy).toBe("redact");
    expect(byKind["GitHub token"]).toBe(found.length);
    for (const { stdout: text, stderr } of [said, sent]) {
      expect(text + stderr).not.toContain(TOKEN.slice(4));
    }
  });

  it("declares a redacted text harmless, with the agent and the reason [OPS-6]", async () => {
    using store = testStore();
    await team(store);
    const said = ["remember", "The token: Rel4821x77Qb90Zeu3", "--as", "ada"];
    expect((await store.baton(...said)).stdout).toContain("possible secret (token)");
    const allow = ["secrets", "--allow-text", "Rel4821x77Qb90Zeu3"];
    expect((await store.baton(...allow)).code).toBe(64);
    expect((await store.baton(...allow, "--as", "ada")).stderr).toContain("--reason");
    const allowed = await store.baton(...allow, "--as", "ada", "--reason", "A build number");
    expect(allowed.code).toBe(0);
    expect((await store.baton(...said)).stdout).not.toContain("possible secret");
  });

  it("sets the policy of the workspace; the policy refuse rejects secrets [OPS-6]", async () => {
    using store = testStore();
    await team(store);
    expect((await store.baton("secrets", "--policy", "refuse")).stdout).toMatch(/^refuse /);
    const refused = await store.baton("remember", `Push with ${TOKEN}`, "--as", "ada");
    expect(refused).toMatchObject({ code: 65, stdout: "" });
    expect(refused.stderr).toContain("content: looks like a secret (GitHub token)");
    expect(refused.stderr).not.toContain(TOKEN.slice(4));
    expect((await store.baton("secrets", "--policy", "hide")).code).toBe(64);
  });
});
