/**
 * Tests witnesses: the signature of a record covers its workspace, its branch and what was stored before it,
 * so that signed records cannot be moved, reordered or left out, even if every hash is computed anew.
 */
import { describe, expect, it } from "vitest";
import { generateKey, type Hub, type Memory } from "../../src/index.ts";
import { genesis, nextLink } from "../../src/store/chain.ts";
import { traceBranch } from "../../src/store/visibility.ts";
import {
  breakIn,
  EMBEDDED_STORES,
  freshAddress,
  open,
  openFresh,
  openTwo,
  sha256,
  take,
} from "../support/hub/support.ts";
import { present } from "../support/present.ts";

const NO_PROBLEMS = { problems: [] };
const pointOf = ({ branch, id, link, seq }: Memory) => ({ branch, id, link, seq });

describe.each(EMBEDDED_STORES)("a witness on %s", (store) => {
  it("names workspace, branch and the newest record that the author knew [OPS-14]", async () => {
    const hub = await openFresh(store);
    const plain = await (await hub.agent("plain", {})).remember({ content: "Unsigned" });
    const coder = await hub.agent("coder", { key: generateKey() });
    expect(plain.witness).toBeUndefined();
    const first = await coder.remember({ content: "First" });
    const second = await coder.remember({ content: "Second" });
    const side = await coder.branches.create("side");
    const other = await side.remember({ content: "Elsewhere" });
    const step = await coder.trace({ kind: "tool", name: "grep" });
    const back = await coder.remember({ content: "Back" });
    const on = { workspace: "default", branch: "main" };
    expect(first.witness).toEqual({ ...on, after: pointOf(plain) });
    expect(second.witness).toEqual({ ...on, after: pointOf(first) });
    expect(other.witness).toMatchObject({ branch: "side", after: { branch: "side" } });
    const trace = traceBranch(coder.instance);
    expect(step.witness).toMatchObject({ branch: trace, previous: pointOf(other) });
    expect(back.witness).toMatchObject({ ...on, previous: pointOf(step) });
    expect(await hub.verify()).toMatchObject(NO_PROBLEMS);
  });

  it("holds for everything a signed agent does, at once and in two processes [OPS-14]", async () => {
    const [hub, second] = await openTwo(store);
    const key = generateKey();
    const planner = await hub.agent("planner", { key: generateKey() });
    const coders = [await hub.agent("coder", { key }), await second.agent("coder", { key })];
    const some = Array.from({ length: 8 }, (_, i) => ({ content: `Fact ${i}` }));
    await Promise.all(coders.flatMap((coder) => some.map((each) => coder.remember(each))));
    await planner.branches.create("work");
    await planner.handoff({ to: "coder", intent: "Go", branch: "work", mergeOnComplete: true });
    const work = await take(present(coders[1]));
    await work.note("A finding");
    await planner.branches.abandon("work", "Not needed.");
    await work.note("Follows to main");
    await work.complete({ summary: "Done" });
    await coders[0]?.remember([{ content: "One" }, { content: "Two" }]);
    const written = (await hub.memories.recent({ agent: "coder" })).items;
    expect(written.length).toBeGreaterThan(10);
    expect(written.every(({ witness }) => witness !== undefined)).toBe(true);
    expect(await hub.verify()).toMatchObject(NO_PROBLEMS);
  });

  it("holds after redaction, pruning, and export and import under the same name [OPS-14]", async () => {
    const hub = await openFresh(store);
    const coder = await hub.agent("coder", { key: generateKey() });
    for (let i = 0; i < 3; i++) await coder.trace({ kind: "tool", name: `step ${i}` });
    const { id } = await coder.remember({ content: "Erase me" });
    await coder.remember({ content: "Keep me" });
    await coder.memories.redact({ ids: [id] }, "It is private.");
    await hub.settings.update({ retention: { traces: { sessions: 0 } } });
    expect((await coder.memories.prune()).steps).toBeGreaterThan(0);
    await coder.trace({ kind: "tool", name: "after" });
    expect(await hub.verify()).toMatchObject(NO_PROBLEMS);
    const copy = await openFresh(store);
    await copy.archive.import(hub.archive.export());
    expect(await copy.verify()).toMatchObject(NO_PROBLEMS);
    expect((await copy.archive.head()).chains).toEqual((await hub.archive.head()).chains);
  });
});

describe("verify of signed records", () => {
  /** A chain of signed and unsigned records, and a way to replace it by other rows with correct links. */
  async function chain() {
    const address = freshAddress();
    const hub = await open(address);
    const plain = await hub.agent("plain", {});
    const coder = await hub.agent("coder", { key: generateKey() });
    const records: Memory[] = [];
    for (const [i, agent] of [coder, plain, coder, plain, coder].entries())
      records.push(await agent.remember({ content: `Record ${i + 1}` }));
    const file = breakIn(address);
    const textOf = (id: string) =>
      String(file.prepare("select text from memories where id = ?").get(id)?.["text"]);
    const replaceBy = (ids: readonly string[], branch = "main", workspace = "default") => {
      const rows = ids.map((id) => ({ id, text: textOf(id) }));
      file.exec("update memories set seq = seq + 1000");
      let link = genesis(workspace, branch);
      for (const [i, { id, text }] of rows.entries()) {
        const storedAt = records.at(-1)?.storedAt ?? 0;
        link = nextLink(link, { seq: i + 1, storedAt, digest: sha256(text) });
        file
          .prepare("update memories set seq = ?, link = ?, stored_at = ? where id = ?")
          .run(i + 1, link, storedAt, id);
      }
      file.exec('delete from memories where seq > 1000 and text not like \'%"type":"key"%\'');
      file.exec("update memories set seq = seq - 1000 where seq > 1000");
      file
        .prepare("update chains set seq = ?, link = ?, stored_at = ? where branch = 'main'")
        .run(ids.length, link, records.at(-1)?.storedAt ?? 0);
    };
    return { hub, file, records, ids: records.map(({ id }) => id), replaceBy };
  }

  const fieldsOf = async (hub: Hub) =>
    (await hub.verify()).problems
      .filter(({ record }) => record !== "file")
      .map(({ record, field }) => `${record} ${field}`);

  it("finds an own or another agent's record that was dropped before a signed one [OPS-14]", async () => {
    for (const dropped of [0, 1, 2, 3]) {
      const { hub, ids, replaceBy } = await chain();
      replaceBy(ids.filter((_, i) => i !== dropped));
      const last = present(ids[4]);
      expect(await fieldsOf(hub), `without ${dropped + 1}`).toContain(`${last} witness`);
    }
  });

  it("finds reordered records, and a signed record moved before what it names [OPS-14]", async () => {
    const orders = [
      [1, 0, 2, 3, 4],
      [0, 1, 4, 3, 2],
      [4, 0, 1, 2, 3],
    ];
    for (const order of orders) {
      const { hub, ids, replaceBy } = await chain();
      replaceBy(order.map((i) => present(ids[i])));
      expect((await fieldsOf(hub)).filter((each) => each.endsWith(" witness"))).not.toEqual([]);
    }
  });

  it("finds a record that was inserted before a signed one [OPS-14]", async () => {
    const { hub, file, ids, replaceBy } = await chain();
    const forged = '{"agent":"plain","content":"Forged","id":"mem_forged","instance":"x"}';
    file.exec(
      `insert into memories (workspace, chain, seq, stored_at, id, link, signature, text)
       select workspace, chain, 500, stored_at, 'mem_forged', link, '', '${forged}'
       from memories where id = '${ids[0]}'`,
    );
    replaceBy([present(ids[0]), "mem_forged", ...ids.slice(1)]);
    expect(await fieldsOf(hub)).toContain(`${ids[4]} witness`);
  });

  it("cannot find the newest records dropped; an expected head can [OPS-14]", async () => {
    const { hub, ids, replaceBy } = await chain();
    const head = await hub.archive.head();
    const storedAt = (await hub.memories.read(present(ids[3]))).storedAt;
    expect(storedAt).toBeGreaterThan(0);
    replaceBy(ids.slice(0, 4));
    const { problems } = await hub.verify({ expect: head });
    expect(problems).toContainEqual(
      expect.objectContaining({ record: "branch main", field: "seq" }),
    );
  });

  it("finds a signed record copied to another branch or workspace [OPS-14]", async () => {
    const address = freshAddress();
    const hub = await open(address);
    const other = await open(address, { workspace: "other" });
    const key = generateKey();
    await (await hub.agent("filler", {})).remember({ content: "Nothing" });
    const record = await (await hub.agent("coder", { key })).remember({ content: "Deploy" });
    const target = await other.agent("coder", { key });
    await target.remember({ content: "Something" });
    await (await target.branches.create("side")).remember({ content: "On a branch" });
    const file = breakIn(address);
    const { text } = file
      .prepare("select text, signature from memories where id = ?")
      .get(record.id) as { text: string };
    for (const branch of ["main", "side"]) {
      const end = present(
        (await other.archive.head()).chains.find((each) => each.branch === branch),
      );
      const at = record.storedAt + 60_000;
      const link = nextLink(end.link, { seq: end.seq + 1, storedAt: at, digest: sha256(text) });
      const inOther = `workspace = (select key from workspaces where name = 'other') and branch = '${branch}'`;
      file.exec(
        `insert into memories (workspace, chain, seq, stored_at, id, link, signature, text)
         select c.workspace, c.key, ${end.seq + 1}, ${at}, m.id, '${link}', m.signature, m.text
         from memories m, chains c where m.id = '${record.id}' and c.${inOther.replace(" and branch", " and c.branch")}`,
      );
      file.exec(
        `update chains set seq = ${end.seq + 1}, stored_at = ${at}, link = '${link}' where ${inOther}`,
      );
      const found = (await other.verify()).problems.filter(({ field }) => field !== "log");
      expect(found).toContainEqual(
        expect.objectContaining({ record: record.id, field: "workspace" }),
      );
      const isElsewhere = branch !== "main";
      expect(found.some(({ field }) => field === "branch")).toBe(isElsewhere);
      file.exec(
        `delete from memories where id = '${record.id}' and workspace <> (select key from workspaces where name = 'default')`,
      );
      file.exec(`update chains set seq = ${end.seq}, link = '${end.link}' where ${inOther}`);
    }
  });
});
