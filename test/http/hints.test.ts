/** Hints over HTTP: routes for plain requests, SDK methods for the client of the SDK. */
import { describe, expect, it } from "vitest";
import { openHub } from "../../src/index.ts";
import { as, HERE, posting, served } from "./support.ts";

describe("hints over HTTP", () => {
  it("name routes, in the error and in each violation [OPS-7]", async () => {
    const { hub, fetch } = await served({ open: "coordinator" });
    await hub.agent("ada", { role: "coder" });
    const sent = posting({ draft: { to: "role:judge", task: "t", intent: "Judge it" } }, as("ada"));
    const problem = await (await fetch("/v1/handoffs", sent)).json();
    expect(problem).toMatchObject({
      code: "unknown_role",
      hint: "Register an agent for it: PUT /v1/agents/:name.",
    });
    const question = { text: "It was blue." };
    const answered = await fetch(
      "/v1/deliveries/dlv_01920000-0000-7000-8000-000000000000/answer",
      posting(question, as("ada")),
    );
    expect(JSON.stringify(await answered.json())).not.toMatch(/\b(hub|agent|work)\.\w+/);
  });

  it("name SDK methods for the client of the SDK [OPS-7]", async () => {
    const { hub, http } = await served({ open: "coordinator" });
    await hub.agent("ada", { role: "coder" });
    await using remote = await openHub(HERE, { fetch: (request) => http.fetch(request) });
    const ada = await remote.agent("ada");
    const refused = ada.handoff({ to: "role:judge", task: "t", intent: "Judge it" });
    await expect(refused).rejects.toMatchObject({
      code: "unknown_role",
      hint: 'Register an agent for it: hub.agent("…", { role: "judge" }).',
    });
  });
});
