/**
 * Tampering is detected: whatever is changed directly in the file, `verify` names the record. The
 * columns are read from the file, so that a new column is covered or the test fails.
 */

import { generateKeyPairSync } from "node:crypto";
import fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import { systemClock } from "../../src/base/clock.ts";
import { sha256 } from "../../src/base/digest.ts";
import { DEFAULT_LIMITS } from "../../src/base/limits.ts";
import { openHub } from "../../src/index.ts";
import { genesis, nextLink } from "../../src/store/chain.ts";
import { agentDigest, DELIVERY_STATES, type MemoryRow } from "../../src/store/rows.ts";
import { openSqliteStore } from "../../src/store/sqlite/open.ts";
import { Audit, type VerifySource } from "../../src/store/verify/audit.ts";
import { checkLink } from "../../src/store/verify/chains.ts";
import type { Problem } from "../../src/store/verify-report.ts";
import { chosenSeed, randomFrom } from "../support/random.ts";
import { refused } from "../support/refusal.ts";
import { openRichStore } from "../support/rich-store.ts";
import { runs } from "../support/runs.ts";
import type { StoreRow } from "../support/store-dump.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { FIELD_NAMES, LOOKS_ALIKE, UNCHECKABLE } from "./tamper-columns.ts";
import { type Column, Tampering } from "./tampering.ts";

/**
 * Rows changed per column; all deliveries and attempts, where the state decides what can be
 * checked.
 */
const ROWS = 4;
/** A number that no row has. */
const FAR = 100_000;

const seed = chosenSeed();
const random = randomFrom(seed);
const folder = temporaryFolder();
const file = folder.file("hub.db");
const { hub, other } = await openRichStore(file);
await putEntries();
const tampering = new Tampering(file);

afterAll(async () => {
  tampering[Symbol.dispose]();
  await hub.close();
  await other.close();
  folder[Symbol.dispose]();
});

describe("an untouched store", () => {
  it("has no problems, and contains every kind of row", async () => {
    expect(await problemsAfter(() => {})).toEqual([]);
    const states = new Set(tampering.rows("deliveries").map((row) => row["state"]));
    expect([...states].sort()).toEqual([0, 1, 10, 2, 3, 5, 6, 7].sort());
    for (const { table } of tampering.columns())
      expect(tampering.rows(table), table).not.toEqual([]);
  });
});

describe(`verify after a changed field (BATON_SEED=${seed})`, () => {
  const columns = tampering.columns();

  it("has expectations only for columns that exist", () => {
    const known = new Set(columns.map(nameOf));
    for (const name of [...Object.keys(UNCHECKABLE), ...Object.keys(FIELD_NAMES)]) {
      expect(known, `${name} is listed and does not exist`).toContain(name);
    }
  });

  for (const column of columns) {
    const name = nameOf(column);
    const rule = UNCHECKABLE[name];
    const all = tampering.rows(column.table);
    const [unknown = [], known = []] = [true, false].map((is) =>
      all.filter((row) => (rule?.isUnknown(row, all) ?? false) === is),
    );
    if (known.length > 0) {
      it(`reports ${name} with its record`, () => expectNamed(column, some(known)));
    }
    if (rule !== undefined) {
      it(`raises no false alarm for ${name}: ${rule.why}`, () =>
        expectSilence(column, some(unknown)));
    }
  }

  it("reports a changed byte anywhere in the text of a memory or envelope [MEM-1 MEM-5]", async () => {
    const places = ["memories", "envelopes"].flatMap((table) =>
      ["text", "digest", "link", "signature"].flatMap((column) =>
        tampering.rows(table).map((row) => ({ table, column, row })),
      ),
    );
    const flip = fc.record({
      place: fc.constantFrom(...places.filter(({ column, row }) => (row[column] ?? "") !== "")),
      at: fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }),
      change: fc.integer({ min: 1, max: 255 }),
    });
    const property = fc.asyncProperty(
      flip,
      async ({ place: { table, column, row }, at, change }) => {
        const bytes = Buffer.from(String(row[column]));
        const index = Math.floor(at * bytes.length);
        bytes[index] = (bytes[index] ?? 0) ^ change;
        const found = await problemsAfter(() =>
          tampering.set({ table, column, type: "TEXT" }, row, bytes),
        );
        return found.some((problem) => problem.record === row["id"]);
      },
    );
    await fc.assert(property, { seed, numRuns: runs(50) });
  });
});

describe("verify on a manipulated store", () => {
  const memories = mainRecords();
  const row = (index: number): StoreRow => memories.at(index) as StoreRow;
  const middle = memories.length >> 1;

  it("names the record after a deleted one [MEM-1]", async () => {
    for (const index of [0, 1, middle]) {
      const found = await problemsAfter(() => remove("memories", row(index)));
      expect(found).toContainEqual(
        expect.objectContaining({ record: row(index + 1)["id"], field: "seq" }),
      );
    }
  });

  it("names the branch when its last record is deleted [MEM-1]", async () => {
    const found = await problemsAfter(() => remove("memories", row(-1)));
    expect(found).toContainEqual(expect.objectContaining({ record: "branch main", field: "seq" }));
  });

  it("names both of two records with exchanged positions [MEM-1]", async () => {
    const [a, b] = [row(3), row(4)];
    const found = await problemsAfter(() => {
      tampering.run("update memories set seq = ? where pos = ?", FAR, a["pos"] ?? 0);
      tampering.run("update memories set seq = ? where pos = ?", a["seq"] ?? 0, b["pos"] ?? 0);
      tampering.run("update memories set seq = ? where pos = ?", b["seq"] ?? 0, a["pos"] ?? 0);
    });
    expect(recordsOf(found)).toEqual(expect.arrayContaining([a["id"], b["id"]]));
  });

  it("names both of two records with exchanged texts [MEM-1]", async () => {
    const [a, b] = [row(3), row(4)];
    const found = await problemsAfter(() => {
      rewrite("memories", a, String(b["text"]));
      rewrite("memories", b, String(a["text"]));
    });
    expect(recordsOf(found)).toEqual(expect.arrayContaining([a["id"], b["id"]]));
  });

  it("names the copy of a duplicated record [MEM-1]", async () => {
    const copy = "mem_copy";
    const found = await problemsAfter(() => {
      tampering.run(
        `insert into memories (pos, workspace, chain, seq, stored_at, id, link, signature, text)
          select pos + ?, workspace, chain, seq + ?, stored_at, ?, link, signature, text
          from memories where pos = ?`,
        FAR,
        FAR,
        copy,
        row(3)["pos"] ?? 0,
      );
    });
    expect(recordsOf(found)).toContain(copy);
  });

  it("names a record with another text and a matching digest [MEM-1]", async () => {
    for (const index of [2, middle, memories.length - 1]) {
      const text = String(row(index)["text"]).replace('"content":"', '"content":"Not ');
      const found = await problemsAfter(() => rewrite("memories", row(index), text));
      expect(recordsOf(found)).toContain(row(index)["id"]);
    }
  });

  it("names a rewritten signed record, even if every later link was recomputed [MEM-5]", async () => {
    const signed = memories.find((each) => each["signature"] !== "") as StoreRow;
    const text = String(signed["text"]).replace('"content":"', '"content":"Not ');
    const found = await problemsAfter(() => {
      rewrite("memories", signed, text);
      relink();
    });
    expect(found).toContainEqual(
      expect.objectContaining({ record: signed["id"], field: "signature" }),
    );
    // Every later signed record names a link that is not there any more.
    const later = memories.slice(memories.indexOf(signed) + 1).filter((each) => each["signature"]);
    const witnesses = found.filter(({ field }) => field === "witness").map(({ record }) => record);
    expect(witnesses.sort()).toEqual(later.map((each) => each["id"]).sort());
    const fields = new Set(found.map(({ field }) => field.replace(/\[\d+\]/, "")));
    fields.delete("log"); // Reported if the last known head is on a chain that was linked anew.
    expect([...fields].sort()).toEqual(["refs.digest", "signature", "witness"]);
  });

  it("names the envelope whose reference was rewritten, even if every link was recomputed [OPS-14]", async () => {
    const refsOf = (each: StoreRow): { id: string }[] => JSON.parse(String(each["text"])).refs;
    const envelope = tampering.rows("envelopes").find((each) => refsOf(each).length > 0);
    const [ref] = refsOf(envelope as StoreRow);
    const target = memories.find((each) => each["id"] === ref?.id) as StoreRow;
    const text = String(target["text"]).replace('"content":"', '"content":"Not ');
    const found = await problemsAfter(() => {
      rewrite("memories", target, text);
      relink();
    });
    expect(found).toContainEqual(
      expect.objectContaining({ record: envelope?.["id"], field: "refs[0].digest" }),
    );
  });

  it("names a record whose signature was removed or replaced by another of the same agent [MEM-5]", async () => {
    const [a, b] = memories.filter((each) => authorOf(each) === "coder");
    for (const signature of ["", b?.["signature"] ?? ""]) {
      const found = await problemsAfter(() => {
        const pos = a?.["pos"] ?? 0;
        tampering.run("update memories set signature = ? where pos = ?", signature, pos);
      });
      expect(found).toEqual([expect.objectContaining({ record: a?.["id"], field: "signature" })]);
    }
  });

  it("names the agent when its public key is replaced in the registry [MEM-5 OPS-14]", async () => {
    const key = generateKeyPairSync("ed25519")
      .publicKey.export({ type: "spki", format: "der" })
      .toString("hex");
    const found = await problemsAfter(() => changeAgent("coder", { public_key: key }));
    const signed = memories.filter((each) => authorOf(each) === "coder").map((each) => each["id"]);
    expect(signed).not.toEqual([]);
    expect(found.map(({ record, field }) => `${record}: ${field}`).sort()).toEqual([
      "agent coder: audit",
      "agent coder: publicKey",
    ]);
  });

  it("mentions a deleted agent [MEM-1]", async () => {
    for (const agent of ["planner", "coder", "idle"]) {
      const found = await problemsAfter(() =>
        tampering.run("delete from agents where workspace = 1 and id = ?", agent),
      );
      expect(JSON.stringify(found)).toContain(agent);
    }
  });

  it("names the source record of a deleted or an added relation [MEM-1]", async () => {
    const [edge] = tampering.rows("relations");
    const source = memories.find((each) => each["pos"] === edge?.["source"]);
    const dropped = await problemsAfter(() => remove("relations", edge as StoreRow));
    expect(dropped).toContainEqual(
      expect.objectContaining({ record: source?.["id"], field: "relations" }),
    );
    for (const each of [source as StoreRow, row(0)]) {
      const added = await problemsAfter(() =>
        tampering.run(
          "insert into relations values (?, ?, ?, 0, 0, 'supports')",
          each["pos"] ?? 0,
          FAR,
          row(1)["pos"] ?? 0,
        ),
      );
      expect(added).toContainEqual(
        expect.objectContaining({ record: each["id"], field: "relations" }),
      );
    }
  });

  it("names a deleted envelope [MEM-1]", async () => {
    for (const envelope of tampering.rows("envelopes").slice(0, 4)) {
      const found = await problemsAfter(() => remove("envelopes", envelope));
      expect(recordsOf(found)).toContain(envelope["id"]);
    }
  });

  it("names an envelope with another text and a matching digest [MEM-1]", async () => {
    for (const envelope of tampering.rows("envelopes").slice(0, 4)) {
      const text = String(envelope["text"]).replace('"intent":"', '"intent":"Do not ');
      const found = await problemsAfter(() => rewrite("envelopes", envelope, text));
      expect(found).toContainEqual(
        expect.objectContaining({ record: envelope["id"], field: "text" }),
      );
    }
  });

  it("names the first record when the workspace is renamed [MEM-1]", async () => {
    const found = await tampering.during(
      () => tampering.run("update workspaces set name = 'renamed' where name = 'default'"),
      async () => {
        await using renamed = await openHub(`sqlite:${file}`, { workspace: "renamed" });
        return (await renamed.verify()).problems;
      },
    );
    expect(found).toContainEqual(expect.objectContaining({ record: row(0)["id"], field: "link" }));
  });

  it("reports renumbered records that others refer to [MEM-1]", async () => {
    for (const each of memories.filter(isReferredTo).slice(0, 4)) {
      const found = await problemsAfter(() =>
        tampering.run("update memories set pos = ? where pos = ?", FAR, each["pos"] ?? 0),
      );
      expect(found).not.toEqual([]);
    }
  });

  it("reports a deleted delivery", async () => {
    const [delivery] = tampering.rows("deliveries");
    const found = await problemsAfter(() => remove("deliveries", delivery as StoreRow));
    expect(found).not.toEqual([]);
  });

  it("reports the wrong memory count when the head of a chain is deleted", async () => {
    // Relations would reveal it only by chance, so they are removed as well.
    const found = await problemsAfter(() => {
      tampering.run("delete from relations");
      tampering.run("update memories set text = replace(text, '\"relations\"', '\"relationx\"')");
      tampering.run("delete from chains where workspace = 1");
    });
    expect(found).toContainEqual(expect.objectContaining({ record: "memories", field: "count" }));
  });

  it("reports a deleted attempt", async () => {
    const [attempt] = tampering.rows("attempts");
    const found = await problemsAfter(() => remove("attempts", attempt as StoreRow));
    expect(found).not.toEqual([]);
  });

  it("reports a completion that points to the record after its own", async () => {
    const completed = tampering.rows("deliveries").find((each) => each["state"] === 5);
    const settled = memories.find((each) => each["id"] === completed?.["settled_by"]);
    const index = memories.indexOf(settled as StoreRow);
    const neighbour = row(index + 1);
    const found = await problemsAfter(() => {
      tampering.run(
        "update deliveries set settled_by = ?, settled_at = ? where pos = ?",
        neighbour["id"] ?? "",
        neighbour["stored_at"] ?? 0,
        completed?.["pos"] ?? 0,
      );
    });
    expect(found).not.toEqual([]);
  });

  it("names an agent whose aliases are not valid JSON", async () => {
    const found = await problemsAfter(() =>
      tampering.run("update agents set aliases = '[x' where id = 'coder'"),
    );
    expect(recordsOf(found)).toContain("agent coder");
  });

  it("names a delivery in any other state, or in an unknown one", async () => {
    const deliveries = tampering.rows("deliveries");
    for (const { pos, id, state, receiver, task } of deliveries) {
      // Deliveries that queue behind it may be named as well.
      const behind = deliveries
        .filter((row) => row["receiver"] === receiver && row["task"] === task && row["id"] !== id)
        .map((row) => row["id"]);
      const was = String(DELIVERY_STATES[Number(state)]);
      for (const is of [...DELIVERY_STATES.keys(), 99].filter((number) => number !== state)) {
        const found = await problemsAfter(() =>
          tampering.run("update deliveries set state = ? where pos = ?", is, pos ?? 0),
        );
        const becomes = DELIVERY_STATES[is] ?? "unknown";
        const alike = LOOKS_ALIKE[was]?.some((each) => each === becomes) === true;
        // The other workspace reports the file.
        const named = recordsOf(found).filter((record) => ![...behind, "file"].includes(record));
        expect(named, `${was} → ${becomes}`).toEqual(alike ? [] : [id]);
      }
    }
  });

  /** Replaces the text, and its digest if the table has one. */
  function rewrite(table: "memories" | "envelopes", of: StoreRow, text: string): void {
    tampering.run(`update ${table} set text = ? where pos = ?`, text, of["pos"] ?? 0);
    if (!("digest" in of)) return;
    tampering.run(`update ${table} set digest = ? where pos = ?`, sha256(text), of["pos"] ?? 0);
  }

  /** Recomputes all links of the first workspace, as an attacker with the code could. */
  function relink(): void {
    let link = genesis("default", "main");
    for (const each of mainRecords()) {
      const { pos, seq, stored_at: storedAt, text } = each;
      link = nextLink(link, {
        seq: Number(seq),
        storedAt: Number(storedAt),
        digest: sha256(String(text)),
      });
      tampering.run("update memories set link = ? where pos = ?", link, pos ?? 0);
    }
    tampering.run("update chains set link = ? where workspace = 1 and branch = 'main'", link);
  }

  function changeAgent(id: string, changes: { public_key: string }): void {
    const agent = tampering.rows("agents").find((each) => each["id"] === id) as StoreRow;
    const digest = agentDigest({
      id,
      status: agent["status"] as "active",
      role: String(agent["role"]),
      aliases: JSON.parse(String(agent["aliases"])) as string[],
      publicKey: changes.public_key,
      keyedAt: Number(agent["keyed_at"]),
      profile: String(agent["profile"]),
      revision: Number(agent["revision"]),
    });
    tampering.run(
      "update agents set public_key = ?, digest = ? where workspace = 1 and id = ?",
      changes.public_key,
      digest,
      id,
    );
  }
});

describe("reading tampered data", () => {
  it.each([
    [
      "a memory with invalid text",
      "update memories set text = '{' where pos = (select min(m.pos) from memories m join chains c on c.key = m.chain where c.branch = 'main')",
      () => hub.memories.recent({ limit: 1_000 }),
      /^mem_/,
    ],
    [
      "an invalid profile",
      "update agents set profile = '{' where id = 'coder'",
      () => hub.agents.list(),
      "agent coder",
    ],
    [
      "invalid aliases",
      "update agents set aliases = '{' where id = 'coder'",
      () => hub.agent("coder"),
      "agent coder",
    ],
    [
      "an envelope with invalid text",
      "update envelopes set text = '{'",
      () => hub.tasks.line("auth-refactor"),
      /^env_/,
    ],
    [
      "an unknown state",
      "update deliveries set state = 99",
      () => hub.tasks.line("auth-refactor"),
      /^dlv_/,
    ],
  ])("fails with store_corrupt for %s", async (_, damage, read, path) => {
    const expected = { code: "store_corrupt", path } as const;
    await tampering.during(
      () => void tampering.run(damage),
      () => refused(read, expected),
    );
  });
});

describe("verifying a chain", () => {
  const row = (link: string): MemoryRow => {
    return { id: "mem", branch: "main", seq: 1, storedAt: 1, text: "{}", signature: "", link };
  };

  it("follows one link where the chain is intact, and at most 16 where it is broken", () => {
    const audit = new Audit(noRows, () => {});
    const start = genesis("here", "main");
    const good = nextLink(start, { ...row(""), digest: sha256("{}") });
    expect(checkLink(audit, { row: row(good), previous: undefined, links: [start] })).toEqual([
      good,
    ]);
    let links = [start];
    for (let i = 0; i < 1_000; i++) {
      links = checkLink(audit, { row: row(`wrong ${i}`), previous: undefined, links });
      expect(links.length).toBeLessThanOrEqual(16);
    }
  });
});

/** Checking a link reads only the workspace. */
const noRows = { workspace: "here" } as VerifySource;

const nameOf = ({ table, column }: Column): string => `${table}.${column}`;

function recordsOf(problems: readonly Problem[]): string[] {
  return [...new Set(problems.map(({ record }) => record))];
}

/** Writes an entry in each workspace, and changes it once. */
async function putEntries(): Promise<void> {
  const store = await openSqliteStore({ file, clock: systemClock, limits: DEFAULT_LIMITS });
  for (const workspace of ["default", "other"]) {
    for (const basedOn of [0, 1]) {
      await store.putEntry(workspace, { kind: "probe", name: "kept", value: "{}", basedOn });
    }
  }
  await store.close();
}

function problemsAfter(damage: () => unknown): Promise<Problem[]> {
  return tampering.during(
    () => void damage(),
    async () => {
      const reports = await Promise.all([hub.verify(), other.verify()]);
      return reports.flatMap(({ problems }) => problems);
    },
  );
}

function remove(table: string, row: StoreRow): void {
  const names = Object.keys(row);
  const where = names.map((name) => `"${name}" is ?`).join(" and ");
  tampering.run(`delete from "${table}" where ${where}`, ...names.map((name) => row[name] ?? null));
}

/** Returns the first row, the last and some between; all rows of deliveries and attempts. */
function some(rows: readonly StoreRow[]): readonly StoreRow[] {
  const [first = {}] = rows;
  if (rows.length <= ROWS || "settled_by" in first || "outcome" in first) return rows;
  const chosen = new Set([0, rows.length - 1]);
  while (chosen.size < ROWS) chosen.add(random.below(rows.length));
  return [...chosen].map((index) => rows[index] as StoreRow);
}

/**
 * Returns the number plus one, or a free number if that is taken; or the text with one other
 * character.
 */
function changed({ table, column, type }: Column, row: StoreRow): number | Uint8Array {
  const value = row[column];
  if (type === "INTEGER") {
    const taken = tampering.rows(table).some((each) => each[column] === Number(value) + 1);
    return Number(value) + (taken && isUnique(table, column) ? FAR : 1);
  }
  const text = String(value);
  const middle = text.length >> 1;
  const letter = text[middle] === "x" ? "y" : "x";
  return Buffer.from(text.slice(0, middle) + letter + text.slice(middle + 1));
}

function isUnique(table: string, column: string): boolean {
  return ["pos", "key", "last", "seq", "n", "version", "source", "workspace", "chain"].includes(
    table === "deliveries" && column === "workspace" ? "" : column,
  );
}

async function expectNamed(column: Column, rows: readonly StoreRow[]): Promise<void> {
  const field = FIELD_NAMES[nameOf(column)];
  for (const row of rows) {
    const value = changed(column, row);
    const found = await problemsAfter(() => tampering.set(column, row, value));
    const about = `${nameOf(column)} of ${JSON.stringify(row)}`;
    const after = { ...row, [column.column]: value };
    const known = [
      ...names(column, row),
      ...(column.column === "id" ? [String(value)] : []),
      // Its numbers are the name of a row of events.
      ...(column.table === "event_groups" ? [eventNames(after as StoreRow)] : []),
    ];
    const named = found.filter((problem) => known.some((name) => mentions(problem, name)));
    expect(named, about).not.toEqual([]);
    if (field !== undefined)
      expect(
        named.map((each) => each.field),
        about,
      ).toContain(field);
  }
}

async function expectSilence(column: Column, rows: readonly StoreRow[]): Promise<void> {
  for (const row of rows) {
    // A row number that others refer to has a test of its own.
    if (nameOf(column) === "memories.pos" && isReferredTo(row)) continue;
    const found = await problemsAfter(() => tampering.set(column, row, changed(column, row)));
    expect(found, `${nameOf(column)} of ${JSON.stringify(row)}`).toEqual([]);
  }
}

function eventNames({ last, count }: StoreRow): string {
  return count === 1 ? `event ${last}` : `events ${Number(last) - Number(count) + 1}–${last}`;
}

const mentions = ({ record, message }: Problem, name: string): boolean =>
  record.includes(name) || message.includes(name);

/** Returns the records of the main branch of the first workspace, in order. */
function mainRecords(): StoreRow[] {
  const isMain = (row: StoreRow) => row["workspace"] === 1 && row["branch"] === "main";
  const key = tampering.rows("chains").find(isMain)?.["key"];
  return tampering.rows("memories").filter((row) => row["chain"] === key);
}

/** Returns the names by which a problem with a row may be reported. */
function names({ table, column }: Column, row: StoreRow): string[] {
  switch (table) {
    case "memories":
      // A record that left its chain is reported by the next record, or by the branch.
      return column === "chain"
        ? [nextInChain(row), "branch main", "branch #keys", "branch audit"]
        : [String(row["id"]), ...counted(column)];
    case "agents":
      return [`agent ${row["id"]}`, String(row["id"])];
    case "agent_names":
      return [`agent ${row["agent"]}`];
    case "chains":
      return [`branch ${row["branch"]}`, idAt(1), ...firstOf(row), ...counted(column)];
    case "entries":
      return [String(row[column === "kind" ? "name" : "kind"])];
    case "event_groups":
      return [eventNames(row)];
    case "workspaces":
      return ["workspace"];
    case "relations":
      return [idAt(Number(row["source"])), idAt(Number(row["source"]) + 1)];
    default:
      return [String(row["id"] ?? row["delivery"])];
  }
}

/** A record that left its workspace, or lost its chain there, is reported by the memory count. */
function counted(column: string): string[] {
  return column === "workspace" ? ["memories"] : [];
}

/** Returns the id of the next record of a record's chain. */
function nextInChain({ chain, seq }: StoreRow): string {
  const isNext = (row: StoreRow) => row["chain"] === chain && row["seq"] === Number(seq) + 1;
  return String(tampering.rows("memories").find(isNext)?.["id"]);
}

function idAt(position: number): string {
  return String(tampering.rows("memories").find((row) => row["pos"] === position)?.["id"]);
}

function firstOf(chain: StoreRow): string[] {
  const memories = tampering.rows("memories");
  const first = memories.find((row) => row["chain"] === chain["key"]);
  return first === undefined ? [] : [String(first["id"])];
}

function authorOf(memory: StoreRow): string {
  return (JSON.parse(String(memory["text"])) as { agent: string }).agent;
}

function isReferredTo(row: StoreRow): boolean {
  const position = row["pos"];
  const edges = tampering.rows("relations");
  return (
    edges.some((edge) => edge["source"] === position || edge["target"] === position) ||
    tampering.rows("envelopes").some((envelope) => envelope["pos"] === position)
  );
}
