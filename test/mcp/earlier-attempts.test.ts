/** What MCP and the command line return about earlier attempts, and what catch_up restores. */
import { describe, expect, it, onTestFinished } from "vitest";
import { testStore } from "../cli/baton.ts";
import { throughHub } from "./listen.ts";
import { call, overHttp } from "./support.ts";

const FAILURE = {
  message: "The suite hangs",
  type: "timeout",
  attempted: "raised the timeout",
  hints: ["start the mock server first"],
};
const SAID = [FAILURE.message, FAILURE.attempted, ...FAILURE.hints, "The mock is on 9099"];
const POLICY = { attempts: 3, backoff: { firstMs: 1, longestMs: 1 } };

describe("a second attempt", () => {
  it("gets the first one's failure from MCP accept, as text and as data [CTX-14]", async () => {
    const { hub, url, close } = await throughHub();
    onTestFinished(close);
    const ben = await overHttp(url, "ben", "2026-07-28");
    const ada = await hub.agent("ada", {});
    await ada.handoff({ to: "ben", task: "api", intent: "Build it", policy: POLICY });
    const first = await call(ben, "accept", {});
    const handle = String(first["handle"]);
    await call(ben, "update", { handle, action: "note", text: "The mock is on 9099" });
    const work = await (await hub.agent("ben")).resume(handle);
    await work.fail(FAILURE);
    for (const detail of ["detailed", "concise"]) {
      const again = await call(ben, "accept", { wait_seconds: 20, detail });
      for (const said of SAID) expect(String(again["text"]), detail).toContain(said);
      expect((again["attempts"] as unknown[])[0]).toMatchObject({
        attempt: 1,
        by: "ben",
        outcome: "failed",
        message: FAILURE.message,
        tried: FAILURE.attempted,
        hints: FAILURE.hints,
        notes: ["The mock is on 9099"],
      });
      await call(ben, "update", { handle: String(again["handle"]), action: "release" });
    }
  });

  it("gets the first one's failure from baton accept, as text and as JSON [CTX-14]", async () => {
    using store = testStore();
    {
      await using hub = await store.open();
      const ada = await hub.agent("ada", {});
      const ben = await hub.agent("ben", {});
      await ada.handoff({ to: "ben", task: "api", intent: "Build it", policy: POLICY });
      const work = await ben.accept();
      await work?.note({ content: "The mock is on 9099" });
      await work?.fail(FAILURE);
    }
    const accepted = await store.baton("accept", "--as", "ben", "--wait", "20s");
    for (const said of SAID) expect(accepted.stdout).toContain(said);
    const [handle = ""] = /dlv_\S+#\d+/.exec(accepted.stdout) ?? [];
    await store.baton("release", handle, "--as", "ben");
    const again = await store.baton("accept", "--as", "ben", "--wait", "20s", "--json");
    const { attempts, primer } = JSON.parse(again.stdout);
    expect(attempts[0]).toMatchObject({ ...FAILURE, outcome: "failed" });
    for (const said of SAID) expect(primer).toContain(said);
  });
});

describe("an agent whose context was compacted", () => {
  it("recovers its work, constraints and waiting handoffs with one catch_up [CTX-15]", async () => {
    const { hub, url, close } = await throughHub();
    onTestFinished(close);
    const ben = await overHttp(url, "ben", "2026-07-28");
    const ada = await hub.agent("ada", {});
    await ada.handoff({
      to: "ben",
      task: "api",
      intent: "Build the export",
      next: ["Write the CSV writer"],
      constraints: [{ rule: "Never log customer names", level: "must" }],
      doNotRedo: ["Do not benchmark the parser again"],
      done: ["Chose the streaming parser"],
      decisions: ["Which delimiter?"],
    });
    await ada.handoff({ to: "ben", task: "docs", intent: "Describe the export" });
    const { handle } = await call(ben, "accept", { task: "api" });
    const { text } = await call(ben, "catch_up", {});
    for (const said of [
      String(handle),
      "Build the export",
      "Write the CSV writer",
      "Never log customer names",
      "Do not benchmark the parser again",
      "Chose the streaming parser",
      "Which delimiter?",
      "Describe the export",
    ]) {
      expect(String(text)).toContain(said);
    }
    const [held = "", waiting = ""] = String(text).split("## Waiting for you");
    expect(held).toContain("## You hold");
    expect(held).toContain("Build the export");
    expect(waiting).toContain("Describe the export");
  });
});
