/** Tests memories: hash-chained records, reads and filters, and how verify finds tampering. */
import { describe, expect, it } from "vitest";
import { MEMORY_TYPES, type Memory, type MemoryInput } from "../../src/index.ts";
import { VirtualClock } from "../../src/testing/index.ts";
import {
  breakIn,
  canonical,
  freshAddress,
  open,
  openFresh,
  refusal,
  STORES,
  sha256,
} from "../support/hub/support.ts";

/** Returns an input with every field an author can set, each with a distinct value. */
const fullMemory = (reference: string): MemoryInput => ({
  type: "finding",
  content: "Mobile clients send the token twice.",
  data: { endpoint: "/login", counts: [1, 2], nested: { seen: true } },
  session: "night-shift",
  run: "run-42",
  task: "auth-refactor",
  tags: ["auth", "mobile"],
  concepts: ["token"],
  importance: 0.7,
  confidence: 0.9,
  scope: "user",
  refs: [reference],
  relations: [{ kind: "supports", to: reference, from: 5, until: 9 }],
  validFrom: 1,
  validUntil: 2,
});

/** Returns what the author's digest covers: all fields except those the store adds. */
function authored(memory: Memory): object {
  const {
    branch: _b,
    seq: _s,
    storedAt: _t,
    digest: _d,
    link: _l,
    signature: _g,
    ...rest
  } = memory;
  return rest;
}

describe.each(STORES)("a memory on %s", (store) => {
  it("returns every field it was written with [MEM-1]", async () => {
    const clock = new VirtualClock();
    const hub = await openFresh(store, { clock });
    const scout = await hub.agent("scout", { owner: "olga" }, { instance: "window-3" });
    const first = await scout.remember({ content: "First." });
    const input = fullMemory(first.id);
    const written = await scout.remember(input);
    const read = await scout.memories.read(written.id);
    expect(read).toEqual(written);
    expect(read).toMatchObject(input);
    expect(read).toMatchObject({
      agent: "scout",
      instance: "window-3",
      createdAt: clock.now(),
      storedAt: clock.now(),
      branch: "main",
      user: "olga",
      seq: 2,
    });
    expect(read).not.toHaveProperty("signature");
    expect(first).toMatchObject({ type: "fact", session: "window-3" });
  });

  it("has a digest over the author's fields and a link over its position [MEM-1]", async () => {
    const hub = await openFresh(store, { workspace: "acme" });
    const scout = await hub.agent("scout", { owner: "olga" });
    const first = await scout.remember({ content: "First.", session: "day" });
    const second = await scout.remember(fullMemory(first.id));
    let link = sha256(JSON.stringify(["baton", "acme", "main"]));
    for (const memory of [first, second]) {
      expect(memory.digest).toBe(sha256(canonical(authored(memory))));
      link = sha256([link, memory.seq, memory.storedAt, memory.digest].join("\n"));
      expect(memory.link).toBe(link);
    }
  });

  it("has its own id, digest and salt even if the content is equal [MEM-1]", async () => {
    const hub = await openFresh(store, { clock: new VirtualClock() });
    const scout = await hub.agent("scout", {});
    const twins = await scout.remember([{ content: "Same." }, { content: "Same." }]);
    expect(new Set(twins.flatMap(({ id, digest, salt }) => [id, digest, salt])).size).toBe(6);
  });

  it("gets a gapless position on the chain under concurrent writes [MEM-1]", async () => {
    const hub = await openFresh(store);
    const agents = await Promise.all(["a", "b", "c"].map((name) => hub.agent(name, {})));
    const written = await Promise.all(
      Array.from({ length: 60 }, (_, i) =>
        (agents[i % 3] as (typeof agents)[0]).remember({ content: `Note ${i}` }),
      ),
    );
    const seqs = written.map(({ seq }) => seq).sort((a, b) => a - b);
    expect(seqs).toEqual(Array.from({ length: 60 }, (_, i) => i + 1));
    // And one audit record for each agent, the hub's own included.
    expect(await hub.verify()).toMatchObject({ memories: 60 + 4, problems: [] });
  });

  it("is written with its whole batch or not at all [MEM-1]", async () => {
    const hub = await openFresh(store);
    const scout = await hub.agent("scout", {});
    const unknown = "mem_01900000-0000-7000-8000-000000000000";
    const list = [{ content: "Good." }, { content: "Bad.", refs: [unknown] }];
    const error = await refusal(scout.remember(list));
    expect(error).toMatchObject({ code: "dangling_reference", details: { reference: unknown } });
    const malformed = [{ content: "Good." }, { content: "" }, { content: "Ok.", colour: "red" }];
    expect(await refusal(scout.remember(malformed))).toMatchObject({
      code: "invalid_memory",
      violations: [{ path: "[1].content", rule: "min_length" }],
    });
    expect((await scout.memories.recent()).items).toEqual([]);
  });

  it("is stored once per id, and refuses other content under the same id [MEM-1]", async () => {
    const hub = await openFresh(store);
    const scout = await hub.agent("scout", {});
    const id = "mem_01900000-0000-7000-8000-000000000001";
    const first = await scout.remember({ id, content: "Said once." });
    expect(await scout.remember({ id, content: "Said once." })).toEqual(first);
    const error = await refusal(scout.remember({ id, content: "Said otherwise." }));
    expect(error).toMatchObject({ code: "id_conflict", details: { id } });
    expect((await scout.memories.recent()).items).toEqual([first]);
  });

  it("accepts the built-in types and custom ones, and refuses invalid names [MEM-2]", async () => {
    const hub = await openFresh(store);
    const scout = await hub.agent("scout", {});
    expect([...MEMORY_TYPES].sort()).toEqual(
      "action artifact checkpoint constraint convention decision fact finding handoff lesson mistake plan question step summary".split(
        " ",
      ),
    );
    const types = [...MEMORY_TYPES, "our_own-kind2"];
    await scout.remember(types.map((type) => ({ type, content: `A ${type}.` })));
    for (const type of types) {
      expect((await scout.memories.recent({ type })).items).toMatchObject([
        { type, content: `A ${type}.` },
      ]);
    }
    for (const type of ["Finding", "two words", "", "9th"]) {
      const error = await refusal(scout.remember({ type, content: "x" }));
      expect(error).toMatchObject({ code: "invalid_memory", path: "type" });
    }
  });

  it("is filtered by task, agent, session, tag and type, newest first [MEM-7]", async () => {
    const hub = await openFresh(store);
    const scout = await hub.agent("scout", { aliases: ["pathfinder"] });
    const scribe = await hub.agent("scribe", {});
    const say = async (agent: typeof scout, input: MemoryInput) => (await agent.remember(input)).id;
    const one = await say(scout, { content: "1", task: "auth", tags: ["x", "y"], session: "s1" });
    const two = await say(scribe, { content: "2", task: "auth", type: "lesson", session: "s1" });
    const three = await say(scout, { content: "3", task: "db", tags: ["y"], type: "lesson" });
    const ids = async (query: Parameters<typeof scout.memories.recent>[0]) =>
      (await scout.memories.recent(query)).items.map(({ id }) => id);
    expect(await ids({})).toEqual([three, two, one]);
    expect(await ids({ task: "auth" })).toEqual([two, one]);
    expect(await ids({ agent: "scout" })).toEqual([three, one]);
    expect(await ids({ agent: "pathfinder" })).toEqual([three, one]);
    expect(await ids({ session: "s1" })).toEqual([two, one]);
    expect(await ids({ tag: "y" })).toEqual([three, one]);
    expect(await ids({ type: "lesson" })).toEqual([three, two]);
    expect(await ids({ task: "auth", tag: "y" })).toEqual([one]);
    expect(await ids({ limit: 2 })).toEqual([three, two]);
    expect(await ids({ limit: 2, after: two })).toEqual([one]);
    expect(await refusal(scout.memories.recent({ agent: "nobody" }))).toMatchObject({
      code: "unknown_agent",
    });
  });

  it("can be read and listed by the hub without an agent [MEM-7]", async () => {
    const hub = await openFresh(store);
    const scout = await hub.agent("scout", {});
    const one = await scout.remember({ content: "1", task: "auth" });
    const two = await scout.remember({ content: "2", task: "db" });
    expect(await hub.memories.read(one.id)).toEqual(one);
    expect((await hub.memories.recent()).items).toEqual([two, one]);
    expect((await hub.memories.recent({ task: "auth" })).items).toEqual([one]);
    const unknown = hub.memories.read("mem_01900000-0000-7000-8000-000000000000");
    expect(await refusal(unknown)).toMatchObject({ code: "unknown_memory" });
  });

  it("is not visible in another workspace", async () => {
    const address = freshAddress(store);
    const [left, right] = [
      await open(address, { workspace: "left" }),
      await open(address, { workspace: "right" }),
    ];
    const scout = await left.agent("scout", {});
    const { id } = await scout.remember({ content: "Ours." });
    const other = await right.agent("scout", {});
    expect(await refusal(other.memories.read(id))).toMatchObject({ code: "unknown_memory" });
    expect((await other.memories.recent()).items).toEqual([]);
    const error = await refusal(other.remember({ content: "Theirs.", refs: [id] }));
    expect(error.code).toBe("dangling_reference");
  });
});

describe("verify", () => {
  /** Writes four memories; returns their ids and the SQLite file they are in. */
  async function written() {
    const address = freshAddress();
    const hub = await open(address);
    const scout = await hub.agent("scout", { owner: "olga" });
    const records = [await scout.remember({ content: "Zero." })];
    for (const content of ["One.", "Two.", "Three."]) {
      records.push(await scout.remember({ ...fullMemory(records[0]?.id ?? ""), content }));
    }
    // And two audit records, of the agent and of the hub's own.
    expect(await hub.verify()).toMatchObject({ memories: 4 + 2, relations: 6, problems: [] });
    const file = breakIn(address);
    const named = async () => new Set((await hub.verify()).problems.map(({ record }) => record));
    return { hub, file, named, ids: records.map(({ id }) => id) };
  }

  it("reports a record when any of its author's fields is changed [MEM-1]", async () => {
    const { file, named, ids } = await written();
    const [, id] = ids as [string, string];
    const { text } = file.prepare("select text from memories where id = ?").get(id) as {
      text: string;
    };
    const write = file.prepare("update memories set text = ? where id = ?");
    const fields = Object.keys(JSON.parse(text));
    expect(fields.length).toBeGreaterThan(18);
    for (const field of fields) {
      write.run(canonical({ ...JSON.parse(text), [field]: "tampered" }), id);
      const records = [...(await named())].filter((record) => record.startsWith("mem_"));
      expect(records, field).toEqual([id]);
    }
    write.run(text, id);
    expect(await named()).toEqual(new Set());
  });

  it("reports a problem when any stored column is changed [MEM-1]", async () => {
    const { file, named, ids } = await written();
    const [, , id] = ids as [string, string, string];
    const row = file.prepare("select * from memories where id = ?").get(id) as object;
    // `pos` only joins the tables; `id` is how a record is named in the report.
    const columns = Object.keys(row).filter((column) => !["pos", "id"].includes(column));
    expect(columns).toContain("stored_at");
    for (const column of columns) {
      const value = row[column as keyof typeof row] as string | number;
      const changed = typeof value === "number" ? value + 1_000 : `${value}x`;
      const write = file.prepare(`update memories set ${column} = ? where id = ?`);
      write.run(changed, id);
      const found = await named();
      expect(found.size, column).toBeGreaterThan(0);
      // A record moved to another chain is missing here: its neighbours are reported.
      if (!["chain", "workspace"].includes(column)) expect(found, column).toContain(id);
      write.run(value, id);
    }
    expect(await named()).toEqual(new Set());
  });

  it("reports a missing record, including the last of a chain [MEM-1]", async () => {
    for (const gone of [1, 3]) {
      const { file, named, ids } = await written();
      file.exec("pragma foreign_keys = off");
      file.prepare("delete from memories where id = ?").run(ids[gone] as string);
      expect(await named()).toContain(gone === 3 ? "branch main" : ids[gone + 1]);
    }
  });

  it("reports records that were swapped [MEM-1]", async () => {
    const { file, named, ids } = await written();
    const move = file.prepare("update memories set seq = ? where id = ?");
    const [, one, two] = ids as [string, string, string];
    move.run(99, one);
    move.run(2, two);
    move.run(3, one);
    const found = await named();
    expect(found).toContain(one);
    expect(found).toContain(two);
  });

  it("reports a changed or deleted relation [MEM-1 MEM-3]", async () => {
    const tampers: [sql: string, whose: number][] = [
      ["update relations set kind = 'contradicts'", 1],
      ["update relations set valid_until = 0", 1],
      ["delete from relations where source = (select max(source) from relations)", 3],
    ];
    for (const [sql, whose] of tampers) {
      const { file, named, ids } = await written();
      file.exec(sql);
      expect(await named(), sql).toContain(ids[whose]);
    }
  });
});
