/** Texts that were redacted for the word beside them, and that their author declares harmless. */
import { describe, expect, it } from "vitest";
import { openFresh, openTwo, refusal, STORES } from "../../support/hub/support.ts";

/** A build number that seems random. */
const BUILD = "Rel4821x77Qb90Zeu3";
/** Put together here, so that no key stands in this file. */
const TOKEN = `gh${"p_"}Zq7mX2vK9rT4wB6nL1cD8hF3jS5gP0yAeR3u`;

describe.each(STORES)("a text that is declared harmless, on %s", (store) => {
  it("is stored as written from then on, in every hub of the workspace [OPS-6]", async () => {
    const [one, two] = await openTwo(store);
    const [ada, ben] = [
      await one.agent("ada", { role: "planner" }),
      await two.agent("ben", { role: "executor" }),
    ];
    const content = `The token: ${BUILD}, the password: hx8Kq2vLp9`;
    const before = await ada.remember({ content });
    expect(before.content).toBe("The token: [redacted: token], the password: [redacted: password]");
    await ada.memories.allowText(BUILD, "It is a build number.");
    for (const author of [ada, ben]) {
      const after = await author.remember({ content });
      expect(after.content).toBe(`The token: ${BUILD}, the password: [redacted: password]`);
      expect(after.secrets).toEqual([{ kind: "password", path: "content" }]);
    }
    const sent = await ada.handoff({ to: "ben", intent: "Deploy", state: `token: ${BUILD}` });
    expect(sent.envelope.state).toBe(`token: ${BUILD}`);
    expect((await one.verify()).problems).toEqual([]);
  });

  it("is not kept by the store until it is written [OPS-6]", async () => {
    const hub = await openFresh(store);
    const ada = await hub.agent("ada", { role: "planner" });
    await ada.memories.allowText(BUILD, "It is a build number.");
    let exported = "";
    for await (const line of hub.archive.export()) exported += line;
    expect(exported).toContain("It is a build number.");
    expect(exported).not.toContain(BUILD);
  });

  it("is stored also where secrets are refused [OPS-6]", async () => {
    const hub = await openFresh(store, { secrets: "refuse" });
    const ada = await hub.agent("ada", { role: "planner" });
    const content = `api_key: ${BUILD}`;
    expect(await refusal(ada.remember({ content }))).toMatchObject({ code: "secret_found" });
    await ada.memories.allowText(BUILD, "It is a build number.");
    expect((await ada.remember({ content })).content).toBe(content);
  });

  it("must not have the format of a provider's key [OPS-6]", async () => {
    const hub = await openFresh(store);
    const ada = await hub.agent("ada", { role: "planner" });
    const error = await refusal(ada.memories.allowText(TOKEN, "It is mine."));
    expect(error).toMatchObject({ code: "invalid_input", path: "text" });
    expect(error.message).toContain("GitHub token");
    expect(error.message).not.toContain(TOKEN.slice(4));
    expect((await ada.remember({ content: TOKEN })).content).toBe("[redacted: GitHub token]");
    expect(await refusal(ada.memories.allowText("short", "x"))).toMatchObject({ path: "text" });
    expect(await refusal(ada.memories.allowText(BUILD, ""))).toMatchObject({ path: "reason" });
  });
});
