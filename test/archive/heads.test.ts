/**
 * Tests heads that are kept outside the store: a store that has grown still contains them, and one whose
 * chain was cut off or computed anew does not, although it agrees with itself.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { HeadLog } from "../../src/archive/head-log.ts";
import { parseHeads, type WorkspaceHead } from "../../src/archive/heads.ts";
import { generateKey, type Hub, publicKeyOf, signHead } from "../../src/index.ts";
import { genesis, nextLink } from "../../src/store/chain.ts";
import {
  breakIn,
  canonical,
  freshAddress,
  open,
  openFresh,
  refusal,
  STORES,
  sha256,
  tempFolder,
} from "../support/hub/support.ts";
import { runAt } from "../support/postgres/rows.ts";
import { present } from "../support/present.ts";
import { until } from "../support/until.ts";

async function remember(hub: Hub, count: number): Promise<void> {
  const ada = await hub.agent("ada", {});
  for (let i = 1; i <= count; i++) await ada.remember({ content: `Fact ${i}` });
}

describe.each(STORES)("a head on %s", (store) => {
  it("covers every chain, and is still contained in a store that has grown [OPS-14]", async () => {
    const hub = await openFresh(store);
    expect((await hub.archive.head()).chains).toEqual([]);
    await remember(hub, 2);
    const ada = await hub.agent("ada");
    await (await ada.branches.create("side")).remember({ content: "On a branch" });
    await ada.trace({ kind: "tool", name: "grep" });
    const head = await hub.archive.head();
    const branches = head.chains.map(({ branch }) => branch.replace(/^trace\/.*/, "trace"));
    expect(branches).toEqual(["audit", "main", "side", "trace"]);
    expect(head.records).toBe(head.chains.reduce((sum, { seq }) => sum + seq, 0));
    const last = present((await hub.memories.recent({ limit: 1 })).items[0]);
    expect(head.chains[1]).toEqual({ branch: "main", seq: last.seq, link: last.link });
    await remember(hub, 2);
    const later = await hub.archive.head();
    for (const expected of [head, later, [head, later]])
      expect((await hub.verify({ expect: expected })).problems).toEqual([]);
  });

  it("reports a chain that differs from it or ends before it, and names the chain [OPS-14]", async () => {
    const hub = await openFresh(store);
    await remember(hub, 2);
    const other = await openFresh(store);
    await remember(other, 3);
    // The chain of audit records differs too: its records have other ids and times.
    const onMain = async () =>
      (await hub.verify({ expect: await other.archive.head() })).problems.filter(
        ({ record }) => record !== "branch audit",
      );
    expect(await onMain()).toEqual([
      expect.objectContaining({
        record: "branch main",
        field: "seq",
        message: expect.stringMatching(/ends at record 2.*is record 3/),
      }),
    ]);
    await remember(hub, 1);
    expect(await onMain()).toEqual([
      expect.objectContaining({ record: "branch main", field: "link" }),
    ]);
  });

  it("counts only with a valid signature when public keys are given [OPS-14]", async () => {
    const hub = await openFresh(store);
    await remember(hub, 1);
    const [key, stranger] = [generateKey(), generateKey()];
    const plain = await hub.archive.head();
    const head = signHead(plain, key);
    const publicKeys = [publicKeyOf(key)];
    const fields = async (expected: WorkspaceHead, keys?: string[]) =>
      (await hub.verify({ expect: expected, ...(keys && { publicKeys: keys }) })).problems.map(
        ({ field }) => field,
      );
    expect(await fields(head, publicKeys)).toEqual([]);
    expect(await fields(plain, publicKeys)).toEqual(["signature"]);
    expect(await fields(signHead(plain, stranger), publicKeys)).toEqual(["key"]);
    expect(
      await fields({ ...head, signature: present(head.signature).replace(/^../, "ff") }),
    ).toEqual(["signature"]);
    expect(await fields({ ...head, chains: [] }, publicKeys)).toEqual(["digest"]);
    expect(await refusal(hub.verify({ expect: head, publicKeys: [] }))).toMatchObject({
      code: "invalid_input",
    });
  });

  it("of another workspace is a problem [OPS-14]", async () => {
    const hub = await openFresh(store);
    await remember(hub, 1);
    const other = await openFresh(store, { workspace: "other" });
    await remember(other, 1);
    const { problems } = await hub.verify({ expect: await other.archive.head() });
    expect(problems).toEqual([expect.objectContaining({ field: "workspace" })]);
  });
});

describe.each(["sqlite", "postgres"] as const)("a head against a changed store on %s", (store) => {
  /** Runs SQL on the rows themselves, past the hub. */
  async function changing() {
    const address = freshAddress(store);
    const hub = await open(address);
    await remember(hub, 5);
    const head = await hub.archive.head();
    const read = async () => (await hub.memories.recent({ limit: 10 })).items.toReversed();
    const change = async (sql: string) => {
      if (store === "sqlite") breakIn(address).exec(sql);
      else await runAt(address, sql);
    };
    return { hub, head, read, change };
  }

  it("finds the end of a chain cut off, which verify alone cannot [OPS-14]", async () => {
    const { hub, head, read, change } = await changing();
    const [, , third] = await read();
    await change("delete from memories where seq > 3");
    const { storedAt, link } = present(third);
    await change(
      `update chains set seq = 3, stored_at = ${storedAt}, link = '${link}' where branch = 'main'`,
    );
    const isLost = (record: string) => record === "file";
    const alone = (await hub.verify()).problems.filter(({ record }) => !isLost(record));
    expect(alone, "the store agrees with itself").toEqual([]);
    const { problems } = await hub.verify({ expect: head });
    expect(problems.filter(({ record }) => !isLost(record))).toEqual([
      expect.objectContaining({ record: "branch main", field: "seq" }),
    ]);
  });

  it("finds a chain that was computed anew, which verify alone cannot [OPS-14]", async () => {
    const { hub, head, read, change } = await changing();
    const rows = await read();
    let link = genesis("default", "main");
    for (const { seq, storedAt, id, ...memory } of rows) {
      const { link: _l, digest: _d, branch: _b, session: _s, ...authored } = memory;
      const text = canonical({ ...authored, id, content: `Not ${memory.content}` });
      link = nextLink(link, { seq, storedAt, digest: sha256(text) });
      await change(`update memories set text = '${text}', link = '${link}' where id = '${id}'`);
    }
    await change(`update chains set link = '${link}' where branch = 'main'`);
    const isFile = (record: string) => record === "file";
    const alone = (await hub.verify()).problems.filter(({ record }) => !isFile(record));
    expect(alone, "the store agrees with itself").toEqual([]);
    expect((await hub.memories.recent({ limit: 1 })).items[0]?.content).toBe("Not Fact 5");
    const { problems } = await hub.verify({ expect: head });
    expect(problems.filter(({ record }) => !isFile(record))).toEqual([
      expect.objectContaining({ record: "branch main", field: "link" }),
    ]);
  });
});

describe("a file of heads", () => {
  async function recording(everyMs?: number) {
    const hub = await openFresh();
    await remember(hub, 1);
    const file = join(tempFolder(), "heads.jsonl");
    const key = generateKey();
    const log = () => new HeadLog(() => hub.archive.head(), { file, key, everyMs });
    const heads = () => parseHeads(readFileSync(file, "utf8"));
    const publicKeys = [publicKeyOf(key)];
    const verify = (expected = heads()) => hub.verify({ expect: expected, publicKeys });
    return { hub, file, log, heads, verify };
  }

  it("has every chain first, then the chains that have grown, each line linked [OPS-14]", async () => {
    const { hub, log, heads, verify } = await recording();
    const first = log();
    await first.write();
    await (await hub.agent("ada")).trace({ kind: "tool", name: "grep" });
    await first.close();
    await remember(hub, 1);
    await log().close(); // A new run continues the file.
    const branches = heads().map(({ chains }) => chains.map(({ branch }) => branch));
    expect(branches).toMatchObject(
      [["audit", "main"], [/^trace/], ["audit", "main", /^trace/]].map(matchers),
    );
    expect(heads().map(({ previous }) => previous)).toEqual([
      undefined,
      ...heads()
        .slice(0, 2)
        .map(({ digest }) => digest),
    ]);
    expect((await verify()).problems).toEqual([]);
  });

  it("shows a line that was taken out, and a line only partly written [OPS-14]", async () => {
    const { hub, file, log, heads, verify } = await recording();
    for (let i = 0; i < 3; i++) {
      await remember(hub, 1);
      await log().close();
    }
    const [first, , third] = heads();
    expect((await verify([present(first), present(third)])).problems).toEqual([
      expect.objectContaining({ field: "previous" }),
    ]);
    const lines = readFileSync(file, "utf8");
    writeFileSync(file, `${lines}{"version":1,"works`);
    await log().close(); // After a crash in the middle of a line.
    expect(heads()).toHaveLength(4);
    expect((await verify()).problems).toEqual([]);
  });

  it("grows on a schedule without a call, and reports lines it cannot write [OPS-14]", async () => {
    const { hub, file, heads } = await recording();
    const errors: unknown[] = [];
    const everyMs = 5;
    const onError = (error: unknown) => errors.push(error);
    let fails = false;
    const read = () => (fails ? Promise.reject(new Error("no store")) : hub.archive.head());
    const log = new HeadLog(read, { file, everyMs, onError });
    await until("two lines", () => {
      try {
        return heads().length >= 2;
      } catch {
        return false;
      }
    });
    fails = true;
    await until("an error", () => errors.length > 0);
    fails = false;
    const before = heads().length;
    await until("another line", () => heads().length > before);
    await log.close();
  });

  it("refuses a file that is not one [OPS-14]", async () => {
    const { file, log } = await recording();
    writeFileSync(file, "hello\n");
    expect(() => log()).toThrow(/neither a head nor a file/);
    writeFileSync(file, '{"version":2}\n');
    expect(() => log()).toThrow(/file of heads/);
  });
});

const matchers = (names: readonly (string | RegExp)[]) =>
  names.map((name) => (typeof name === "string" ? name : expect.stringMatching(name)));
