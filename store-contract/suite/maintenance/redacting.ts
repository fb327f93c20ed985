/**
 * Tests of redaction: bodies are erased in the operation that stores the memory vouching for it, or
 * not at all.
 */
import { describe, expect } from "vitest";
import { sha256 } from "../../../src/base/digest.ts";
import { resolveLimits } from "../../../src/base/limits.ts";
import { DEFAULT_VERSIONS } from "../../../src/envelope/versions.ts";
import { writeRecord } from "../../../src/memory/record.ts";
import { envelopeStub, memoryStub } from "../../../src/memory/redaction/stub.ts";
import type { MemoryFilter } from "../../../src/store/memory-filter.ts";
import type { RedactedItem } from "../../../src/store/redaction.ts";
import type { EnvelopeRow, MemoryRow, NewMemory } from "../../../src/store/rows.ts";
import type { Erasure, TextOccurrence } from "../../../src/store/store.ts";
import { MAIN_BRANCH, publicVisibility } from "../../../src/store/visibility.ts";
import { expectOutcome } from "../expectations.ts";
import { RELEASED } from "../handoff-input.ts";
import type { Scene, SceneTest } from "../scene.ts";

const SECRET = "hunter2-hunter2";

export function redacting(it: SceneTest): void {
  describe("redacting", () => {
    it("erases a body and keeps its row and all others [MEM-18]", async ({ scene }) => {
      const [row, ...others] = await threeRecords(scene);
      const { erasure, place } = await redactMemory(scene, row);
      await scene.reopen();
      const [after] = await scene.store.readMemories(scene.workspace, [row.id]);
      expect(after).toEqual({ ...row, text: erasure.text });
      const ids = others.map(({ id }) => id);
      expect(await scene.store.readMemories(scene.workspace, ids)).toEqual(others);
      const [record] = await scene.everything();
      expect(record).toMatchObject(place);
      expect((await scene.store.verify(scene.workspace)).problems).toEqual([]);
    });

    it("redacts a memory of another branch [MEM-18]", async ({ scene }) => {
      const memory = scene.record("ada", SECRET);
      await scene.remember([memory], { branch: "side" });
      const [row] = await scene.store.readMemories(scene.workspace, [memory.id]);
      await redactMemory(scene, row as MemoryRow);
      expect((await scene.store.verify(scene.workspace)).problems).toEqual([]);
    });

    it("erases an envelope and keeps its delivery [MEM-18]", async ({ scene }) => {
      const { delivery } = await scene.send();
      const { envelope: row } = await findWithEnvelope(scene, delivery.id);
      const digest = sha256(row.text);
      await redact(scene, (mark) => {
        const text = envelopeStub({ versions: DEFAULT_VERSIONS }, row, {
          ...mark,
          digest,
          id: row.id,
        });
        return [{ kind: "envelope", id: row.id, digest, text }];
      });
      const held = await scene.acceptOne("ben");
      expect(held.envelope.text).not.toContain(intentJson(row));
      await scene.settle(held, { kind: "completed" });
      expect((await scene.store.verify(scene.workspace)).problems).toEqual([]);
    });

    it("replaces an attempt's reason, an entry and a profile [MEM-18]", async ({ scene }) => {
      const { store, workspace } = scene;
      const held = await scene.underWay();
      await scene.settle(held, RELEASED);
      const [attempt] = await store.readAttempts(workspace, held.delivery.id);
      const entry = await scene.put("key", "k", `{"a":"${SECRET}"}`);
      const agent = await scene.register("cyd", { profile: `{"model":"${SECRET}"}` });
      const reason = '{"redacted":"x"}';
      await redact(scene, () => [
        {
          kind: "attempt",
          delivery: held.delivery.id,
          attempt: 1,
          digest: sha256(attempt?.reason ?? ""),
          reason,
        },
        { kind: "entry", entry: { kind: "key", name: "k", value: '{"a":""}', basedOn: 1 } },
        { kind: "agent", agent: "cyd", basedOn: agent.revision, profile: "{}" },
      ]);
      expect(await store.readAttempts(workspace, held.delivery.id)).toEqual([
        { ...attempt, reason },
      ]);
      expect(await store.findEntry(workspace, "key", "k")).toMatchObject({
        ...{ value: '{"a":""}', revision: (entry?.revision ?? 0) + 1 },
      });
      expect(await store.findAgent(workspace, "cyd")).toMatchObject({
        ...{ profile: "{}", revision: agent.revision + 1, keyedAt: agent.keyedAt },
      });
      expect((await store.verify(workspace)).problems).toEqual([]);
    });

    it.for<[string, (row: MemoryRow) => Erasure]>([
      ["a memory with another text", ({ id }) => memoryErasure(id, sha256("other"))],
      ["an unknown memory", () => memoryErasure("mem_none", sha256(""))],
      ["an unknown envelope", () => ({ ...memoryErasure("env_none", ""), kind: "envelope" })],
      [
        "an unknown attempt",
        () => ({ kind: "attempt", delivery: "dlv_x", attempt: 1, digest: "", reason: "{}" }),
      ],
      [
        "an unknown entry",
        () => ({ kind: "entry", entry: { kind: "key", name: "x", value: "1", basedOn: 1 } }),
      ],
      [
        "an agent at another revision",
        () => ({ kind: "agent", agent: "ada", basedOn: 7, profile: "{}" }),
      ],
    ])("changes nothing when the erasures include %s [MEM-18]", async ([_, wrong], { scene }) => {
      const [row] = await threeRecords(scene);
      const erasure = wrong(row);
      const good = memoryErasure(row.id, sha256(row.text));
      const outcome = await scene.unchanged(() =>
        scene.store.redactBodies({
          ...{ workspace: scene.workspace, branch: scene.branch },
          memory: scene.record("ada"),
          erasures:
            erasure.kind === "memory" && erasure.id === row.id ? [erasure] : [good, erasure],
        }),
      );
      expect(outcome).toEqual({ kind: "changed", erasure });
    });

    it("returns `changed` for a second redaction of the same body [MEM-18]", async ({ scene }) => {
      const [row] = await threeRecords(scene);
      const { erasure } = await redactMemory(scene, row);
      const again = await scene.unchanged(() =>
        scene.store.redactBodies({
          ...{ workspace: scene.workspace, branch: scene.branch },
          memory: scene.record("ada"),
          erasures: [erasure],
        }),
      );
      expect(again).toEqual({ kind: "changed", erasure });
    });

    it("refuses an unknown or disabled author [MEM-18]", async ({ scene }) => {
      const [row] = await threeRecords(scene);
      await scene.register("cyd", { status: "disabled" });
      for (const [author, kind] of [
        ["nobody", "unknown_agent"],
        ["cyd", "agent_disabled"],
      ] as const) {
        const outcome = await scene.unchanged(() =>
          scene.store.redactBodies({
            ...{ workspace: scene.workspace, branch: scene.branch },
            memory: scene.record(author),
            erasures: [memoryErasure(row.id, sha256(row.text))],
          }),
        );
        expect(outcome).toEqual({ kind, agent: author });
      }
    });

    it("redacts nothing when the id of its memory is taken [MEM-18]", async ({ scene }) => {
      const [row, other] = await threeRecords(scene);
      const memory = scene.record("ada", { content: "again", id: other.id });
      const outcome = await scene.unchanged(() =>
        scene.store.redactBodies({
          ...{ workspace: scene.workspace, branch: scene.branch },
          memory,
          erasures: [memoryErasure(row.id, sha256(row.text))],
        }),
      );
      expect(outcome).toEqual({ kind: "id_taken", id: other.id });
    });

    it("finds a redacted memory by its task, but not by its tags [MEM-18]", async ({ scene }) => {
      const memory = scene.record("ada", { content: SECRET, task: "t", tags: ["secret"] });
      await scene.remember([memory]);
      const [row] = await scene.store.readMemories(scene.workspace, [memory.id]);
      await redactMemory(scene, row as MemoryRow);
      await scene.store.scrub(scene.workspace, [SECRET]);
      const found = async (filter: MemoryFilter): Promise<string[]> => {
        const sight = publicVisibility(scene.branch);
        const { workspace } = scene;
        const rows = await scene.store.recentMemories({ workspace, sight, filter, limit: 9 });
        expect(rows.some(({ text }) => text.includes(SECRET))).toBe(false);
        return rows.map(({ id }) => id);
      };
      expect(await found({ task: "t" })).toEqual([memory.id]);
      expect(await found({ tag: "secret" })).toEqual([]);
      expect(await found({})).toContain(memory.id);
    });
  });

  describe("searching for a text", () => {
    it("finds every row that contains it, and no other [MEM-18]", async ({ scene }) => {
      const { store, workspace } = scene;
      const inside = scene.record("ada", `it is ${SECRET}.`);
      await scene.remember([scene.record("ada", "nothing"), inside]);
      const elsewhere = scene.record("ben", { content: "x", data: { deep: [{ a: SECRET }] } });
      await scene.remember([elsewhere], { branch: "side" });
      await scene.register("cyd", { profile: `{"model":"${SECRET}"}` });
      await scene.put("key", "k", `"${SECRET}"`);
      await scene.put("key", "other", '"none"');
      const held = await scene.underWay();
      await scene.settle(held, { kind: "failed", becomes: "dead" }, `{"why":"${SECRET}"}`);
      const found = (await seek(scene, [SECRET])).map(describeOccurrence);
      const [failed] = await store.readMemories(workspace, [
        (await scene.deliveryNow(held.delivery.id)).settledBy,
      ]);
      expect(found).toEqual([
        "agent cyd",
        "entry k",
        `attempt ${held.delivery.id}`,
        ...[inside.id, elsewhere.id, failed?.id].map((id) => `memory ${id}`),
      ]);
    });

    it("finds envelopes by any of several forms [MEM-18]", async ({ scene }) => {
      const { delivery } = await scene.send({ task: "auth" });
      const found = await seek(scene, ["none of it", '"task":"auth"']);
      expect(found.map(({ kind }) => kind)).toEqual(["envelope", "memory"]);
      expect(found[0]).toMatchObject({ row: { id: delivery.envelope } });
    });

    it("finds nothing in other workspaces [MEM-18]", async ({ scene }) => {
      await scene.register("zoe", { profile: `{"model":"${SECRET}"}` }, "elsewhere");
      expect(await seek(scene, [SECRET])).toEqual([]);
    });

    it("searches 1,100 memories in slices and returns each match once [MEM-18]", async ({
      scene,
    }) => {
      const all: NewMemory[] = [];
      for (let n = 0; n < 2; n++) {
        const some = Array.from({ length: 550 }, (_, i) =>
          scene.record("ada", i % 4 === 0 ? `${SECRET} ${n} ${i}` : "x"),
        );
        await scene.remember(some);
        all.push(...some);
      }
      const wanted = all.filter(({ text }) => text.includes(SECRET)).map(({ id }) => id);
      const found = await seek(scene, [SECRET]);
      expect(found.map(({ row }) => ("id" in row ? row.id : ""))).toEqual(wanted);
    });

    it("finds what is written during the search [MEM-18]", async ({ scene }) => {
      const { store, workspace } = scene;
      const first = await store.seekText({ workspace, forms: [SECRET], after: "" });
      await scene.remember([scene.record("ada", SECRET)]);
      // A store that searched everything in one slice is searched again from the start.
      expect(await seek(scene, [SECRET], first.next ?? "")).toHaveLength(1);
    });
  });
}

type Mark = Parameters<typeof memoryStub>[1];

const memoryErasure = (id: string, digest: string) => ({
  ...{ kind: "memory" as const, id, digest, text: `{"content":"","id":"${id}"}` },
});

async function threeRecords(scene: Scene): Promise<[MemoryRow, MemoryRow, MemoryRow]> {
  const first = scene.record("ada", { content: SECRET, tags: ["t"], data: { a: 1 } });
  const second = scene.record("ben", {
    content: "stays",
    refs: [first.id],
    relations: [{ kind: "derived-from", to: first.id }],
  });
  const third = scene.record("ada", "stays too");
  await scene.remember([first, second, third]);
  const ids = [first.id, second.id, third.id];
  const rows = await scene.store.readMemories(scene.workspace, ids);
  return rows as [MemoryRow, MemoryRow, MemoryRow];
}

/** Redacts with a memory that vouches for it, as the hub does. */
export async function redact(scene: Scene, make: (mark: Omit<Mark, "digest" | "id">) => Erasure[]) {
  const record = scene.ids.mint("memory");
  const mark = { at: scene.now, by: "ada", reason: "leaked", record };
  const erasures = make(mark);
  const redacts = erasures.flatMap((erasure): RedactedItem[] =>
    erasure.kind === "memory" || erasure.kind === "envelope"
      ? [
          {
            digest: erasure.digest,
            id: erasure.id,
            kind: erasure.kind,
            stub: sha256(erasure.text),
          },
        ]
      : [],
  );
  const memory = writeRecord(
    { agent: "ada", instance: "ada-1" },
    { id: record, type: "redaction", content: "ada redacted: leaked" },
    {
      ids: scene.ids,
      now: scene.now,
      limits: resolveLimits(),
      branch: MAIN_BRANCH,
      hallmark: { redacts },
    },
  ).record;
  const { workspace, branch } = scene;
  const outcome = await scene.store.redactBodies({ workspace, branch, memory, erasures });
  return { erasures, place: expectOutcome(outcome, "redacted").place };
}

async function redactMemory(scene: Scene, row: MemoryRow) {
  const digest = sha256(row.text);
  const { erasures, place } = await redact(scene, (mark) => {
    const text = memoryStub(row, { ...mark, digest, id: row.id });
    return [{ kind: "memory", id: row.id, digest, text }];
  });
  return { erasure: erasures[0] as Extract<Erasure, { kind: "memory" | "envelope" }>, place };
}

async function findWithEnvelope(
  scene: Scene,
  delivery: string,
): Promise<{ envelope: EnvelopeRow }> {
  const found = await scene.store.findDelivery(scene.workspace, delivery);
  expect(found).toBeDefined();
  return found as { envelope: EnvelopeRow };
}

/** Returns the sender's intent as the envelope contains it. */
const intentJson = (row: EnvelopeRow): string =>
  JSON.stringify((JSON.parse(row.text) as { intent: string }).intent);

async function seek(scene: Scene, forms: readonly string[], from = ""): Promise<TextOccurrence[]> {
  const found: TextOccurrence[] = [];
  let after: string | undefined = from;
  while (after !== undefined) {
    const page = await scene.store.seekText({ workspace: scene.workspace, forms, after });
    expect(page.checked).toBeLessThanOrEqual(page.total);
    found.push(...page.found);
    after = page.next;
  }
  return found;
}

function describeOccurrence({ kind, row }: TextOccurrence): string {
  if (kind === "attempt") return `attempt ${row.delivery}`;
  return kind === "entry" ? `entry ${row.name}` : `${kind} ${row.id}`;
}
