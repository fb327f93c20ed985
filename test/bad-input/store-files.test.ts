/**
 * Files that are not usable stores: each is refused with a code that says what to do, and no byte
 * of it changes.
 */
import {
  chmodSync,
  chownSync,
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ErrorCode, openHub } from "../../src/index.ts";
import { chosenSeed, randomFrom } from "../support/random.ts";
import { refused } from "../support/refusal.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const seed = chosenSeed();
const random = randomFrom(seed);
const folder = temporaryFolder();
/** A valid closed store; the tests damage copies of it. */
const good = folder.file("good.db");

beforeAll(async () => {
  await using hub = await openHub(`sqlite:${good}`);
  const agent = await hub.agent("writer", { role: "writer" });
  const batch = Array.from({ length: 200 }, (_, n) => ({
    content: `record ${n} ${"x".repeat(500)}`,
  }));
  await agent.remember(batch);
  await agent.handoff({ to: "writer", task: "t", intent: "Go on" });
});

afterAll(() => folder[Symbol.dispose]());

/** Expects opening to be refused and the file to keep every byte. */
async function refusedUntouched(
  file: string,
  expected: { code: ErrorCode; path?: string | RegExp },
): Promise<void> {
  const before = readFileSync(file);
  const error = await refused(() => openHub(`sqlite:${file}`), { path: file, ...expected });
  expect(error.message).toContain(file);
  expect(readFileSync(file).equals(before), "the file was changed").toBe(true);
}

describe("a file that is not a store", () => {
  it.each([
    ["one byte", Buffer.from("x")],
    ["some text", Buffer.from("Dear diary,\n".repeat(500))],
    ["zeros", Buffer.alloc(8_192)],
    ["a PNG", Buffer.from("89504e470d0a1a0a0000000d49484452", "hex")],
    ["an unknown SQLite format", Buffer.from("SQLite format 2\0".padEnd(4_096, "x"))],
    ["a SQLite header and nothing else", Buffer.from("SQLite format 3\0")],
  ])("is refused as store_corrupt and not changed: %s", async (_, bytes) => {
    using scratch = temporaryFolder();
    const file = scratch.file("hub.db");
    writeFileSync(file, bytes);
    await refusedUntouched(file, { code: "store_corrupt" });
  });

  it("is refused as store_foreign and gets no tables when it is another program's database", async () => {
    using scratch = temporaryFolder();
    for (const [name, sql] of [
      ["plain.db", "create table songs (title text); insert into songs values ('x')"],
      ["claimed.db", "pragma application_id = 252006674; create table features (id integer)"],
      ["empty.db", "pragma application_id = 252006674; vacuum"],
    ] as const) {
      const file = scratch.file(name);
      const db = new DatabaseSync(file);
      db.exec(sql);
      db.close();
      await refused(() => openHub(`sqlite:${file}`), { code: "store_foreign", path: file });
      const after = new DatabaseSync(file);
      const tables = after.prepare("select name from sqlite_schema").all();
      expect(tables.map((row) => row["name"])).not.toContain("memories");
      after.close();
    }
  });

  it("keeps every byte when it is another program's database", async () => {
    using scratch = temporaryFolder();
    const file = scratch.file("songs.db");
    const db = new DatabaseSync(file);
    db.exec("create table songs (title text)");
    db.close();
    await refusedUntouched(file, { code: "store_foreign" });
  });

  it("is refused and not changed when it is a directory", async () => {
    using scratch = temporaryFolder();
    const file = scratch.file("hub.db");
    mkdirSync(file);
    writeFileSync(`${file}/kept`, "x");
    await refused(() => openHub(`sqlite:${file}`), { code: "store_read_only", path: file });
    expect(readdirSync(file)).toEqual(["kept"]);
  });

  it("is refused when its parent is a file", async () => {
    using scratch = temporaryFolder();
    writeFileSync(scratch.file("file"), "x");
    const file = scratch.file("file/below/hub.db");
    await refused(() => openHub(`sqlite:${file}`), { code: "store_read_only", path: file });
    expect(readFileSync(scratch.file("file"), "utf8")).toBe("x");
  });

  it("becomes a store when it is empty", async () => {
    using scratch = temporaryFolder();
    const file = scratch.file("hub.db");
    writeFileSync(file, "");
    await using hub = await openHub(`sqlite:${file}`);
    expect((await hub.verify()).problems).toEqual([]);
  });
});

describe("a store of a newer Baton", () => {
  it("is refused with its version and a hint, and not changed", async () => {
    using scratch = temporaryFolder();
    const file = scratch.file("hub.db");
    copyFileSync(good, file);
    const db = new DatabaseSync(file);
    db.exec("insert into migrations (version, name, at) values (99, 'from the future', 1)");
    db.exec("pragma wal_checkpoint(truncate)");
    db.close();
    await refusedUntouched(file, { code: "store_too_new" });
    const error = await refused(() => openHub(`sqlite:${file}`), {
      code: "store_too_new",
      hint: /npm install/,
    });
    expect(error.details).toMatchObject({ found: 99 });
  });
});

describe("a store of a development version before the first release", () => {
  it.each([1, 2, 6])("is refused with a hint and not changed: %i schema steps", async (version) => {
    using scratch = temporaryFolder();
    const file = scratch.file("hub.db");
    copyFileSync(good, file);
    const db = new DatabaseSync(file);
    db.exec("update migrations set name = 'memories, envelopes, deliveries, events'");
    const step = db.prepare(
      "insert or replace into migrations (version, name, at) values (?, 'later', 1)",
    );
    for (let next = 2; next <= version; next++) step.run(next);
    db.exec("pragma wal_checkpoint(truncate)");
    db.close();
    await refusedUntouched(file, { code: "store_too_old" });
    const error = await refused(() => openHub(`sqlite:${file}`), {
      code: "store_too_old",
      hint: /baton export.*baton import/,
    });
    expect(error.details).toMatchObject({ version: 1, expected: "initial schema" });
  });
});

describe(`a damaged store (BATON_SEED=${seed})`, () => {
  it("is refused and not changed when it was truncated at any point", async () => {
    const { length } = readFileSync(good);
    const cuts = [1, 15, 16, 99, 100, 512, 4_095, 4_096, 4_097, length - 4_096, length - 1];
    for (let i = 0; i < 10; i++) cuts.push(1 + random.below(length - 1));
    for (const cut of cuts) {
      using scratch = temporaryFolder();
      const file = scratch.file("hub.db");
      copyFileSync(good, file);
      truncateSync(file, cut);
      await refusedUntouched(file, { code: "store_corrupt" }).catch((error: Error) =>
        expect.fail(`cut to ${cut} of ${length}: ${error.message}`),
      );
    }
  });

  it("is refused or reported by verify when rows are overwritten with garbage [MEM-1]", async () => {
    const bytes = readFileSync(good);
    for (let i = 0; i < 15; i++) {
      using scratch = temporaryFolder();
      const file = scratch.file("hub.db");
      const at = 100 + random.below(bytes.length - 100);
      const damaged = Buffer.from(bytes);
      const end = Math.min(damaged.length, at + 64 + random.below(4_096));
      for (let each = at; each < end; each++) damaged[each] = random.below(256);
      writeFileSync(file, damaged);
      expect(await findings(file), `garbage from ${at} to ${end}`).not.toBe("nothing");
    }
  });

  it("is reported by verify, which reads as far as it can", async () => {
    using scratch = temporaryFolder();
    const file = scratch.file("hub.db");
    const bytes = readFileSync(good);
    bytes.fill(0xff, bytes.length >> 1, (bytes.length >> 1) + 8_192);
    writeFileSync(file, bytes);
    await using hub = await openHub(`sqlite:${file}`);
    expect((await hub.verify()).problems).toContainEqual(
      expect.objectContaining({ record: "file", field: "pages" }),
    );
  });

  /**
   * Returns how the damage shows: as an error, as a problem, not in any row, or not at all
   * ("nothing").
   */
  async function findings(file: string): Promise<string> {
    try {
      await using hub = await openHub(`sqlite:${file}`);
      const { problems } = await hub.verify();
      if (problems.length > 0) return "problems";
    } catch (error) {
      // SQLite reports damage in many ways; an error in our own code is not one of them.
      expect(`${error}`).not.toMatch(/TypeError|SyntaxError|RangeError|unreachable/);
      return "an error";
    }
    return sameRows(file, good) ? "only unused bytes" : "nothing";
  }

  function sameRows(one: string, other: string): boolean {
    const rows = (file: string): string => {
      const db = new DatabaseSync(file, { readOnly: true });
      const tables = ["memories", "relations", "envelopes", "deliveries", "agents"];
      const all = tables.map((table) => db.prepare(`select * from ${table}`).all());
      db.close();
      return JSON.stringify(all);
    };
    return rows(one) === rows(other);
  }
});

describe("a folder without write permission", () => {
  const OTHER_USER = 65_534;

  it("is refused as store_read_only, for a new store and for an existing one", async () => {
    using scratch = temporaryFolder();
    const locked = scratch.file("locked");
    const there = scratch.file("locked/hub.db");
    mkdirSync(locked);
    copyFileSync(good, there);
    const before = readFileSync(there);
    for (const file of [
      scratch.file("locked/new/hub.db"),
      scratch.file("locked/other.db"),
      there,
    ]) {
      const expected = { code: "store_read_only", path: file } as const;
      await withoutRights(scratch.path, there, () =>
        refused(() => openHub(`sqlite:${file}`), expected),
      );
    }
    expect(readFileSync(there).equals(before)).toBe(true);
    expect(readdirSync(locked)).toEqual(["hub.db"]);
  });

  /**
   * Runs `act` without write permission: root switches to an unprivileged user, because file modes
   * do not stop it.
   */
  async function withoutRights<T>(outer: string, file: string, act: () => Promise<T>): Promise<T> {
    const isRoot = process.geteuid?.() === 0;
    chmodSync(outer, 0o755);
    chmodSync(file, 0o444);
    chmodSync(dirname(file), 0o555);
    if (isRoot) {
      for (const path of [dirname(file), file]) chownSync(path, OTHER_USER, OTHER_USER);
      process.seteuid?.(OTHER_USER);
    }
    try {
      return await act();
    } finally {
      if (isRoot) process.seteuid?.(0);
      chmodSync(dirname(file), 0o755);
    }
  }
});

describe("an unsupported store address", () => {
  it.each([
    "ftp://hub.example.com",
    "ftp://planner:s3cret@hub.example.com/x",
    "mysql://x",
    "sqlite:",
    "sqlite",
    "hub",
    "",
    "memory",
    "postgres//planner:s3cret@db/x",
    " postgres://planner:s3cret@db/x",
    '"postgres://planner:s3cret@db/x"',
    "my_user:s3cret@localhost/x",
    "./postgres://planner:s3cret@db/x",
    "localhost/x",
    "127.0.0.1:5432/x",
    "hub.example.com",
    "~/team.db",
  ])("is refused without showing its password: %s", async (address) => {
    const error = await refused(() => openHub(address), {
      code: "store_unsupported",
      path: "address",
      hint: /sqlite:/,
    });
    expect(JSON.stringify(error) + error.stack).not.toContain("s3cret");
  });

  it("is refused with a hint to use a token when a hub's URL contains a password", async () => {
    const error = await refused(() => openHub("https://planner:s3cret@hub.example.com/x"), {
      code: "invalid_input",
      path: "address",
      hint: /token/,
    });
    expect(JSON.stringify(error) + error.stack).not.toContain("s3cret");
  });

  it.each([[42], [{}], [Symbol("s")], ["sqlite:a\0b"]])(
    "is refused when it is not an address at all: %s",
    async (address) => {
      const expected = { code: "store_unsupported", path: "address" } as const;
      await refused(() => openHub(address as never), expected);
    },
  );
});

describe("a closed hub", () => {
  it.each(["sqlite", "memory"])("refuses every call and can be closed again (%s)", async (kind) => {
    using scratch = temporaryFolder();
    const address = kind === "memory" ? "memory:" : `sqlite:${scratch.file("hub.db")}`;
    const hub = await openHub(address);
    const agent = await hub.agent("a", { role: "a" });
    const { id } = await agent.remember({ content: "x" });
    const sent = await agent.handoff({ to: "a", task: "t", intent: "Go" });
    const work = await agent.accept();
    await hub.close();
    await hub.close();
    const acts: Record<string, () => unknown> = {
      agent: () => hub.agent("a"),
      register: () => hub.agent("b", { role: "b" }),
      "agents.list": () => hub.agents.list(),
      "tasks.line": () => hub.tasks.line("t"),
      "deliveries.attempts": () => hub.deliveries.attempts(sent.id),
      "events.list": () => hub.events.list(),
      "deliveries.totals": () => hub.deliveries.totals(),
      verify: () => hub.verify(),
      "index.state": () => hub.index.state(),
      remember: () => agent.remember({ content: "y" }),
      "memories.read": () => agent.memories.read(id),
      "memories.recent": () => agent.memories.recent(),
      "memories.relations": () => agent.memories.relations(id),
      "memories.pin": () => agent.memories.pin(id),
      "memories.pins": () => agent.memories.pins(),
      catchUp: () => agent.catchUp(),
      handoff: () => agent.handoff({ to: "a", intent: "Go" }),
      accept: () => agent.accept(),
      inbox: () => agent.inbox().next(),
      "deliveries.waiting": () => agent.deliveries.waiting(),
      status: () => sent.status(),
      note: () => work?.note("x"),
      renew: () => work?.renew(),
      complete: () => work?.complete(),
    };
    for (const [name, act] of Object.entries(acts)) {
      await refused(act, { code: "store_closed", hint: /openHub/ }).catch((error: Error) =>
        expect.fail(`${name}: ${error.message}`),
      );
    }
  });

  it("finishes writes that were submitted before it was closed", async () => {
    using scratch = temporaryFolder();
    const file = scratch.file("hub.db");
    const hub = await openHub(`sqlite:${file}`);
    const agent = await hub.agent("a", { role: "a" });
    const writes = Array.from({ length: 50 }, (_, n) => agent.remember({ content: `${n}` }));
    await hub.close();
    const written = await Promise.all(writes);
    await using again = await openHub(`sqlite:${file}`);
    expect((await (await again.agent("a")).memories.recent({ limit: 100 })).items).toHaveLength(
      written.length,
    );
  });

  it("leaves one file that can be copied and opened elsewhere, and its head", async () => {
    using scratch = temporaryFolder();
    const file = scratch.file("one/hub.db");
    const hub = await openHub(`sqlite:${file}`);
    await (await hub.agent("a", { role: "a" })).remember({ content: "x" });
    await hub.close();
    expect(readdirSync(dirname(file)).sort()).toEqual(["hub.db", "hub.db.head"]);
    mkdirSync(scratch.file("two"));
    copyFileSync(file, scratch.file("two/hub.db"));
    rmSync(dirname(file), { recursive: true });
    await using copy = await openHub(`sqlite:${scratch.file("two/hub.db")}`);
    expect((await copy.memories.recent()).items).toHaveLength(1);
    expect((await copy.verify()).problems).toEqual([]);
  });
});
