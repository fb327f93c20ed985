/** `baton secrets`: what is done about secrets, and where some were taken out. */
import { describe, expect, it } from "vitest";
import { team, testStore } from "./baton.ts";

/** Nobody's; put together here, so that no key stands in this file. */
const TOKEN = `gh${"p_"}Zq7mX2vK9rT4wB6nL1cD8hF3jS5gP0yAeR3u`;

describe("baton secrets", () => {
  it("tells where some were redacted, of which kind and by whom, never what they were [OPS-6]", async () => {
    using store = testStore();
    await team(store);
    expect((await store.baton("secrets")).stdout).toContain("No secrets were found.");
    const said = await store.baton("remember", `Push with ${TOKEN}`, "--agent", "ada");
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

  it("sets the rule of the workspace, and what it refuses leaves with the code for it [OPS-6]", async () => {
    using store = testStore();
    await team(store);
    expect((await store.baton("secrets", "--policy", "refuse")).stdout).toMatch(/^refuse /);
    const refused = await store.baton("remember", `Push with ${TOKEN}`, "--agent", "ada");
    expect(refused).toMatchObject({ code: 65, stdout: "" });
    expect(refused.stderr).toContain("content: looks like a secret (GitHub token)");
    expect(refused.stderr).not.toContain(TOKEN.slice(4));
    expect((await store.baton("secrets", "--policy", "hide")).code).toBe(64);
  });
});
