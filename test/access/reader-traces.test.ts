/** Traces and tokens: a token with access reader reads no steps of other agents. */
import { describe, expect, it } from "vitest";
import { refusal } from "../support/hub/support.ts";
import { openTokenHub } from "../support/hub/token-hub.ts";

const NEEDS = { code: "forbidden", details: { has: "reader", needs: "agent" } };

async function scene() {
  const { local, client } = await openTokenHub();
  const ada = await local.agent("ada", { aliases: ["ada-bot"] });
  const ben = await local.agent("ben", {});
  const fact = await ben.remember({ content: "The port is 80.", task: "t" });
  const shared = { kind: "tool", task: "t", refs: [fact.id] };
  const theirs = await ben.trace({ ...shared, name: "psql secret-table" });
  const own = await ada.trace({ ...shared, name: "curl" });
  return { local, client, ada, ben, fact, theirs, own };
}

describe("a token with access reader", () => {
  it("lists and reads no steps of other agents [OPS-5]", async () => {
    const { client, ben, theirs } = await scene();
    const hub = await client("ada", "reader");
    const reader = await hub.agent("ada");
    const attempts = [
      () => hub.traces.list(),
      () => hub.traces.list({ agent: "ben" }),
      () => hub.traces.list({ session: ben.instance }),
      () => hub.traces.list({ task: "t" }),
      () => reader.traces.list({ task: "t" }),
      () => hub.traces.sessions(),
      () => hub.memories.read(theirs.id),
      () => reader.memories.read(theirs.id),
      () => hub.memories.impact(theirs.id),
      () => hub.recall("psql", { traces: true }),
      () => reader.recall("psql", { traces: true }),
      () => hub.memories.sql("select * from memories", { traces: true }),
    ];
    for (const attempt of attempts) expect(await refusal(attempt())).toMatchObject(NEEDS);
  });

  it("gets the number of steps derived from a memory, not the steps [OPS-5]", async () => {
    const { client, fact, own } = await scene();
    const hub = await client("ada", "reader");
    const impact = await hub.memories.impact(fact.id);
    expect(impact).toMatchObject({ downstream: [{ id: own.id }], hidden: 1 });
    expect(JSON.stringify(impact)).not.toContain("secret-table");
  });

  it("reads the steps of its own agent [OPS-5]", async () => {
    const { client, own } = await scene();
    const hub = await client("ada", "reader");
    for (const agent of ["ada", "ada-bot"]) {
      expect((await hub.traces.list({ agent })).items).toMatchObject([{ id: own.id }]);
    }
    expect(await hub.memories.read(own.id)).toMatchObject({ id: own.id });
  });
});

describe("a token with access agent", () => {
  it("reads the steps of every agent [OPS-5]", async () => {
    const { client, fact, theirs, own } = await scene();
    const hub = await client("ada", "agent");
    expect((await hub.traces.list()).items.map(({ id }) => id)).toEqual([theirs.id, own.id]);
    expect((await hub.traces.sessions()).items).toHaveLength(2);
    expect(await hub.memories.read(theirs.id)).toMatchObject({ id: theirs.id });
    expect((await hub.memories.impact(fact.id)).downstream).toHaveLength(2);
    const { items } = await hub.recall("psql", { traces: true });
    expect(items.map(({ memory }) => memory.id)).toContain(theirs.id);
  });
});
