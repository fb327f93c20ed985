/**
 * Tampering with a redacted store. What is left of a redacted record is valid only if a redaction
 * record on the chain names exactly it; `verify` reports everything else.
 */
import { afterAll, describe, expect, it } from "vitest";
import { canonicalJson, sha256 } from "../../src/base/digest.ts";
import { openHub } from "../../src/index.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { Tampering } from "./tampering.ts";

const folder = temporaryFolder();
const file = folder.file("hub.db");
const hub = await openHub(`sqlite:${file}`);
const ada = await hub.agent("ada", {});
await hub.agent("ben", {});
const first = await ada.remember({ content: "sk-live-first", tags: ["a"] });
const plain = await ada.remember({ content: "not redacted at all" });
const second = await ada.remember({ content: "sk-live-second" });
const sent = await ada.handoff({ to: "ben", task: "t", intent: "sk-live-third" });
const tampering = new Tampering(file);
const originals = new Map(
  [...tampering.rows("memories"), ...tampering.rows("envelopes")].map((row) => [
    String(row["id"]),
    String(row["text"]),
  ]),
);
const { records } = await ada.memories.redact(
  { ids: [first.id, second.id, sent.envelope.id] },
  "leaked",
);
const record = records[0] ?? "";

afterAll(async () => {
  tampering[Symbol.dispose]();
  await hub.close();
  folder[Symbol.dispose]();
});

/** Returns the problems that `verify` reports after the damage, as text. */
async function problemsAfter(damage: () => void): Promise<string[]> {
  const { problems } = await tampering.during(damage, () => hub.verify());
  return problems.map(({ record: id, field, message }) => `${id} ${field}: ${message}`);
}

const textOf = (table: string, id: string): string =>
  String(tampering.rows(table).find((row) => row["id"] === id)?.["text"]);

const write = (table: string, id: string, text: string): number =>
  tampering.run(`update ${table} set text = ? where id = ?`, text, id);

const change = (table: string, id: string, edit: (value: Stub) => object): number => {
  const value = JSON.parse(textOf(table, id)) as Stub;
  return write(table, id, canonicalJson(edit(value), "invalid_input"));
};

interface Stub {
  readonly redacted: Record<string, unknown>;
  readonly redacts: readonly Record<string, unknown>[];
}

describe("verify on a redacted store", () => {
  it("reports no problems [MEM-18]", async () => {
    expect(await problemsAfter(() => {})).toEqual([]);
  });

  it.each([
    ["changed content", (stub: Stub) => ({ ...stub, content: "something nicer" })],
    ["a changed author", (stub: Stub) => ({ ...stub, agent: "ben" })],
    [
      "a changed redacting agent",
      (stub: Stub) => ({ ...stub, redacted: { ...stub.redacted, by: "ben" } }),
    ],
    [
      "a changed reason",
      (stub: Stub) => ({ ...stub, redacted: { ...stub.redacted, reason: "other" } }),
    ],
    ["an added field", (stub: Stub) => ({ ...stub, data: { a: 1 } })],
  ])("reports a redacted memory with %s [MEM-18]", async (_what, edit) => {
    expect(await problemsAfter(() => change("memories", first.id, edit))).toEqual([
      expect.stringMatching(new RegExp(`^${first.id} text: is `)),
    ]);
  });

  it("reports a redacted envelope with a changed intent [MEM-18]", async () => {
    const found = await problemsAfter(() =>
      change("envelopes", sent.envelope.id, (stub) => ({ ...stub, intent: "Do as I say" })),
    );
    expect(found).toEqual([expect.stringMatching(new RegExp(`^${sent.envelope.id} text: is `))]);
  });

  it("reports a redacted memory with another digest [MEM-18]", async () => {
    const found = await problemsAfter(() =>
      change("memories", first.id, (stub) => ({
        ...stub,
        redacted: { ...stub.redacted, digest: second.digest },
      })),
    );
    expect(found.join("\n")).toContain(`${first.id} redacted.digest: is`);
    expect(found.join("\n")).toContain(`${first.id} link: does not follow`);
  });

  it("reports both of two redacted memories that were exchanged [MEM-18]", async () => {
    const [a, b] = [textOf("memories", first.id), textOf("memories", second.id)];
    const found = await problemsAfter(() => {
      write("memories", first.id, b);
      write("memories", second.id, a);
    });
    expect(found.join("\n")).toContain(first.id);
    expect(found.join("\n")).toContain(second.id);
  });

  it("reports a memory marked as redacted without a redaction record, whatever its digest [MEM-18]", async () => {
    const fake = (digest: string): string =>
      canonicalJson(
        {
          ...{ agent: "ada", content: "", createdAt: plain.createdAt, id: plain.id },
          ...{ instance: plain.instance, type: "fact" },
          redacted: { at: 1, by: "ada", digest, id: plain.id, reason: "leaked", record },
        },
        "invalid_input",
      );
    const right = await problemsAfter(() => write("memories", plain.id, fake(plain.digest)));
    expect(right).toEqual([
      `${plain.id} redacted: is marked as redacted, but no record vouches for it`,
    ]);
    const wrong = await problemsAfter(() => write("memories", plain.id, fake(sha256("x"))));
    expect(wrong).toContain(`${plain.id} link: does not follow from the record before`);
  });

  it("reports an envelope marked as redacted without a redaction record [MEM-18]", async () => {
    const other = await ada.handoff({ to: "ben", task: "u", intent: "kept" });
    const stub = textOf("envelopes", sent.envelope.id)
      .replaceAll(sent.envelope.id, other.envelope.id)
      .replaceAll(sent.digest, other.digest);
    const found = await problemsAfter(() => write("envelopes", other.envelope.id, stub));
    expect(found.join("\n")).toContain(`${other.envelope.id} text: is`);
  });

  it("reports every redacted record when the redaction record is deleted [MEM-18]", async () => {
    const found = await problemsAfter(() => {
      tampering.run("delete from memories where id = ?", record);
    });
    for (const id of [first.id, second.id, sent.memory]) {
      expect(found).toContain(
        `${id} redacted: is marked as redacted, but no record vouches for it`,
      );
    }
    expect(found.join("\n")).toContain(`${sent.envelope.id} text: is`);
  });

  it("reports a changed redaction record, and the memory it no longer names [MEM-18]", async () => {
    const found = await problemsAfter(() =>
      change("memories", record, (value) => ({
        ...value,
        redacts: value.redacts.filter(({ id }) => id !== first.id),
      })),
    );
    expect(found).toContain(`${record} link: does not follow from the record before`);
    expect(found).toContain(
      `${first.id} redacted: is marked as redacted, but no record vouches for it`,
    );
  });

  it("reports bodies that were put back [MEM-18]", async () => {
    expect(
      await problemsAfter(() => {
        write("memories", first.id, originals.get(first.id) ?? "");
        write("envelopes", sent.envelope.id, originals.get(sent.envelope.id) ?? "");
      }),
    ).toEqual([
      `${first.id} redacted: ${record} redacted it, but its body still exists`,
      expect.stringContaining(`${sent.envelope.id} text: is`),
    ]);
  });
});
