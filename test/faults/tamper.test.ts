/**
 * Tampering is found: whatever is changed in the file behind Baton's back, `verify` names the record.
 * The columns come from the file itself, so that a new one is covered or the test fails.
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

/** Rows tried per column; of deliveries all, since what is known of one depends on its state. */
const ROWS = 4;
/** A number no row has. */
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
  it("has no problems, and content of every kind", async () => {
    expect(await problemsAfter(() => {})).toEqual([]);
    const states = new Set(tampering.rows("deliveries").map((row) => row["state"]));
    expect([...states].sort()).toEqual([0, 1, 10, 2, 3, 5, 6, 7].sort());
    for (const { table } of tampering.columns())
      expect(tampering.rows(table), table).not.toEqual([]);
  });
});

describe(`a changed field (BATON_SEED=${seed})`, () => {
  const columns = tampering.columns();

  it("is of a column that verify answers for, or that is listed with the reason why not", () => {
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
      it(`${name} is found, and the record named`, () => expectNamed(column, some(known)));
    }
    if (rule !== undefined) {
      it(`${name} raises no false alarm: ${rule.why}`, () => expectSilence(column, some(unknown)));
    }
  }

  it("at any byte of any text of a memory or an envelope is found [MEM-1 MEM-5]", async () => {
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

describe("a store put together anew", () => {
  const memories = tampering.rows("memories").filter((row) => row["workspace"] === 1);
  const row = (index: number): StoreRow => memories.at(index) as StoreRow;
  const middle = memories.length >> 1;

  it("without one record names the one after it [MEM-1]", async () => {
    for (const index of [0, 1, middle]) {
      const found = await problemsAfter(() => remove("memories", row(index)));
      expect(found).toContainEqual(
        expect.objectContaining({ record: row(index + 1)["id"], field: "seq" }),
      );
    }
  });

  it("without the last record names the branch [MEM-1]", async () => {
    const found = await problemsAfter(() => remove("memories", row(-1)));
    expect(found).toContainEqual(expect.objectContaining({ record: "branch main", field: "seq" }));
  });

  it("with two records in each other's place names both [MEM-1]", async () => {
    const [a, b] = [row(3), row(4)];
    const found = await problemsAfter(() => {
      tampering.run("update memories set seq = ? where pos = ?", FAR, a["pos"] ?? 0);
      tampering.run("update memories set seq = ? where pos = ?", a["seq"] ?? 0, b["pos"] ?? 0);
      tampering.run("update memories set seq = ? where pos = ?", b["seq"] ?? 0, a["pos"] ?? 0);
    });
    expect(recordsOf(found)).toEqual(expect.arrayContaining([a["id"], b["id"]]));
  });

  it("with two texts exchanged names both [MEM-1]", async () => {
    const [a, b] = [row(3), row(4)];
    const found = await problemsAfter(() => {
      rewrite("memories", a, String(b["text"]));
      rewrite("memories", b, String(a["text"]));
    });
    expect(recordsOf(found)).toEqual(expect.arrayContaining([a["id"], b["id"]]));
  });

  it("with a record twice names the copy [MEM-1]", async () => {
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

  it("with another text and a digest to match names the record [MEM-1]", async () => {
    for (const index of [2, middle, memories.length - 1]) {
      const text = String(row(index)["text"]).replace('"content":"', '"content":"Not ');
      const found = await problemsAfter(() => rewrite("memories", row(index), text));
      expect(recordsOf(found)).toContain(row(index)["id"]);
    }
  });

  it("with a signed record rewritten and every link after it made to match names the record [MEM-5]", async () => {
    const signed = memories.find((each) => each["signature"] !== "") as StoreRow;
    const text = String(signed["text"]).replace('"content":"', '"content":"Not ');
    const found = await problemsAfter(() => {
      rewrite("memories", signed, text);
      relink();
    });
    expect(found).toEqual([expect.objectContaining({ record: signed["id"], field: "signature" })]);
  });

  it("with a signature taken away, or exchanged for another of the same agent, names the record [MEM-5]", async () => {
    const [a, b] = memories.filter((each) => authorOf(each) === "coder");
    for (const signature of ["", b?.["signature"] ?? ""]) {
      const found = await problemsAfter(() => {
        const pos = a?.["pos"] ?? 0;
        tampering.run("update memories set signature = ? where pos = ?", signature, pos);
      });
      expect(found).toEqual([expect.objectContaining({ record: a?.["id"], field: "signature" })]);
    }
  });

  it("with another public key for an agent, its digest made to match, names what it signed [MEM-5]", async () => {
    const key = generateKeyPairSync("ed25519")
      .publicKey.export({ type: "spki", format: "der" })
      .toString("hex");
    const found = await problemsAfter(() => changeAgent("coder", { public_key: key }));
    const signed = memories.filter((each) => authorOf(each) === "coder").map((each) => each["id"]);
    expect(recordsOf(found).sort()).toEqual(signed.sort());
  });

  it("without an agent names it, or what it wrote [MEM-1]", async () => {
    for (const agent of ["planner", "coder", "idle"]) {
      const found = await problemsAfter(() =>
        tampering.run("delete from agents where workspace = 1 and id = ?", agent),
      );
      expect(JSON.stringify(found)).toContain(agent);
    }
  });

  it("without a relation, or with one more, names the record it starts from [MEM-1]", async () => {
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

  it("without an envelope names it [MEM-1]", async () => {
    for (const envelope of tampering.rows("envelopes").slice(0, 4)) {
      const found = await problemsAfter(() => remove("envelopes", envelope));
      expect(recordsOf(found)).toContain(envelope["id"]);
    }
  });

  it("with another text and a digest to match in an envelope names it [MEM-1]", async () => {
    for (const envelope of tampering.rows("envelopes").slice(0, 4)) {
      const text = String(envelope["text"]).replace('"intent":"', '"intent":"Do not ');
      const found = await problemsAfter(() => rewrite("envelopes", envelope, text));
      expect(found).toContainEqual(
        expect.objectContaining({ record: envelope["id"], field: "text" }),
      );
    }
  });

  it("under another workspace's name does not follow from that name [MEM-1]", async () => {
    const found = await tampering.during(
      () => tampering.run("update workspaces set name = 'renamed' where name = 'default'"),
      async () => {
        await using renamed = await openHub(`sqlite:${file}`, { workspace: "renamed" });
        return (await renamed.verify()).problems;
      },
    );
    expect(found).toContainEqual(expect.objectContaining({ record: row(0)["id"], field: "link" }));
  });

  it("with records another record refers to renumbered names the ones that refer [MEM-1]", async () => {
    for (const each of memories.filter(isReferredTo).slice(0, 4)) {
      const found = await problemsAfter(() =>
        tampering.run("update memories set pos = ? where pos = ?", FAR, each["pos"] ?? 0),
      );
      expect(found).not.toEqual([]);
    }
  });

  it("without a delivery names the envelope nobody will get", async () => {
    const [delivery] = tampering.rows("deliveries");
    const found = await problemsAfter(() => remove("deliveries", delivery as StoreRow));
    expect(found).not.toEqual([]);
  });

  it("without a chain's head tells that its records are on none", async () => {
    // Relations give it away only by chance; a chain without any is gone without a word.
    const found = await problemsAfter(() => {
      tampering.run("delete from relations");
      tampering.run("update memories set text = replace(text, '\"relations\"', '\"relationx\"')");
      tampering.run("delete from chains where workspace = 1");
    });
    expect(found).toContainEqual(expect.objectContaining({ record: "memories", field: "count" }));
  });

  it("with an attempt less names the delivery", async () => {
    const [attempt] = tampering.rows("attempts");
    const found = await problemsAfter(() => remove("attempts", attempt as StoreRow));
    expect(found).not.toEqual([]);
  });

  it("with a completion put on another record of the same agent and millisecond names the delivery", async () => {
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

  it("with aliases that are no JSON any more names the agent, and goes on", async () => {
    const found = await problemsAfter(() =>
      tampering.run("update agents set aliases = '[x' where id = 'coder'"),
    );
    expect(recordsOf(found)).toContain("agent coder");
  });

  it("with a delivery in any other state, or in one nobody knows, names it", async () => {
    const deliveries = tampering.rows("deliveries");
    for (const { pos, id, state, receiver, task } of deliveries) {
      // Whoever waits behind it in line may be named with it.
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
        const named = recordsOf(found).filter((record) => !behind.includes(record));
        expect(named, `${was} → ${becomes}`).toEqual(alike ? [] : [id]);
      }
    }
  });

  /** Another text, and whatever digest is kept beside it made to match. */
  function rewrite(table: "memories" | "envelopes", of: StoreRow, text: string): void {
    tampering.run(`update ${table} set text = ? where pos = ?`, text, of["pos"] ?? 0);
    if (!("digest" in of)) return;
    tampering.run(`update ${table} set digest = ? where pos = ?`, sha256(text), of["pos"] ?? 0);
  }

  /** Makes all links of the first workspace follow again, as somebody with the code could. */
  function relink(): void {
    let link = genesis("default", "main");
    for (const each of tampering.rows("memories").filter((one) => one["workspace"] === 1)) {
      const { pos, seq, stored_at: storedAt, text } = each;
      link = nextLink(link, {
        seq: Number(seq),
        storedAt: Number(storedAt),
        digest: sha256(String(text)),
      });
      tampering.run("update memories set link = ? where pos = ?", link, pos ?? 0);
    }
    tampering.run("update chains set link = ? where workspace = 1", link);
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

describe("reading what was tampered with", () => {
  it.each([
    [
      "a memory",
      "update memories set text = '{' where pos = 2",
      () => hub.memories.recent({ limit: 1_000 }),
      /^mem_/,
    ],
    [
      "a profile",
      "update agents set profile = '{' where id = 'coder'",
      () => hub.agents.list(),
      "agent coder",
    ],
    [
      "aliases",
      "update agents set aliases = '{' where id = 'coder'",
      () => hub.agent("coder"),
      "agent coder",
    ],
    [
      "an envelope",
      "update envelopes set text = '{'",
      () => hub.tasks.line("auth-refactor"),
      /^env_/,
    ],
    ["a state", "update deliveries set state = 99", () => hub.tasks.line("auth-refactor"), /^dlv_/],
  ])("%s that makes no sense any more is refused as damaged", async (_, damage, read, path) => {
    const expected = { code: "store_corrupt", path } as const;
    await tampering.during(
      () => void tampering.run(damage),
      () => refused(read, expected),
    );
  });
});

describe("verifying", () => {
  const row = (link: string): MemoryRow => {
    return { id: "mem", branch: "main", seq: 1, storedAt: 1, text: "{}", signature: "", link };
  };

  it("costs one hash a record where links follow, and a bounded number where none does", () => {
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

/** Following a link looks at nothing else. */
const noRows = { workspace: "here" } as VerifySource;

const nameOf = ({ table, column }: Column): string => `${table}.${column}`;

function recordsOf(problems: readonly Problem[]): string[] {
  return [...new Set(problems.map(({ record }) => record))];
}

/** Facts that agents share, of every workspace; one was changed since. */
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

/** The first, the last, and some between; of deliveries and attempts all. */
function some(rows: readonly StoreRow[]): readonly StoreRow[] {
  const [first = {}] = rows;
  if (rows.length <= ROWS || "settled_by" in first || "outcome" in first) return rows;
  const chosen = new Set([0, rows.length - 1]);
  while (chosen.size < ROWS) chosen.add(random.below(rows.length));
  return [...chosen].map((index) => rows[index] as StoreRow);
}

/** One more, unless that number is taken; one character of a text, or one where there was none. */
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
  return ["pos", "key", "number", "seq", "n", "version", "source", "workspace", "chain"].includes(
    table === "deliveries" && column === "workspace" ? "" : column,
  );
}

async function expectNamed(column: Column, rows: readonly StoreRow[]): Promise<void> {
  const field = FIELD_NAMES[nameOf(column)];
  for (const row of rows) {
    const value = changed(column, row);
    const found = await problemsAfter(() => tampering.set(column, row, value));
    const about = `${nameOf(column)} of ${JSON.stringify(row)}`;
    const known = [...names(column, row), ...(column.column === "id" ? [String(value)] : [])];
    const named = found.filter((problem) => known.some((name) => said(problem, name)));
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
    // A row number that others refer to: changed elsewhere, where it is found.
    if (nameOf(column) === "memories.pos" && isReferredTo(row)) continue;
    const found = await problemsAfter(() => tampering.set(column, row, changed(column, row)));
    expect(found, `${nameOf(column)} of ${JSON.stringify(row)}`).toEqual([]);
  }
}

const said = ({ record, message }: Problem, name: string): boolean =>
  record.includes(name) || message.includes(name);

/** What a problem with a row may be known by. */
function names({ table, column }: Column, row: StoreRow): string[] {
  switch (table) {
    case "memories":
      // A record that left its chain is missed by the next one, or by the branch.
      return column === "chain"
        ? [idAt(Number(row["pos"]) + 1), "branch main"]
        : [String(row["id"]), ...counted(column)];
    case "agents":
      return [`agent ${row["id"]}`, String(row["id"])];
    case "agent_names":
      return [`agent ${row["agent"]}`];
    case "chains":
      return [`branch ${row["branch"]}`, idAt(1), ...firstOf(row), ...counted(column)];
    case "entries":
      return [String(row[column === "kind" ? "name" : "kind"])];
    case "relations":
      return [idAt(Number(row["source"])), idAt(Number(row["source"]) + 1)];
    default:
      return [String(row["id"] ?? row["delivery"])];
  }
}

/** What left its workspace, or lost its chain there, is missed in the count. */
function counted(column: string): string[] {
  return column === "workspace" ? ["memories"] : [];
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
