/**
 * Running out of space: a write that does not fit is refused as a whole and can be retried,
 * acknowledged writes stay, and writing continues once there is space.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { type Agent, BatonError, type Hub, openHub } from "../../src/index.ts";
import { refused } from "../support/refusal.ts";
import { refusedWithoutTrace } from "../support/team.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const LIMIT = 300_000;
const FILLING = "x".repeat(8_000);

/** Writes memories until one is refused. Returns the acknowledged ids and the error. */
async function fill(agent: Agent): Promise<{ ids: string[]; refusal: unknown }> {
  const ids: string[] = [];
  for (;;) {
    try {
      ids.push((await agent.remember({ content: `${ids.length} ${FILLING}` })).id);
    } catch (refusal) {
      return { ids, refusal };
    }
  }
}

function expectFull(refusal: unknown): void {
  expect(refusal).toBeInstanceOf(BatonError);
  expect(refusal).toMatchObject({ code: "store_full", retryable: true });
}

async function expectWhole(hub: Hub, ids: readonly string[]): Promise<void> {
  const { memories, problems } = await hub.verify();
  expect(problems).toEqual([]);
  expect(memories).toBeGreaterThanOrEqual(ids.length);
  const agent = await hub.agent("writer");
  for (const id of ids) expect((await agent.memories.read(id)).id).toBe(id);
}

describe("a store at its size limit", () => {
  it("refuses writes that do not fit, keeps acknowledged ones and continues with a larger limit [DLV-1]", async () => {
    using folder = temporaryFolder();
    const file = folder.file("hub.db");
    const limited = await openHub(`sqlite:${file}`, { limits: { storeBytes: LIMIT } });
    const writer = await limited.agent("writer", { role: "writer" });
    await writer.handoff({ to: "writer", task: "before", intent: "Sent while there was space" });
    const { ids, refusal } = await fill(writer);
    expectFull(refusal);
    expect(refusal).toMatchObject({ path: file, hint: expect.stringContaining("storeBytes") });
    expect(ids.length).toBeGreaterThan(10);
    await expectWhole(limited, ids);
    await limited.close();

    await using larger = await openHub(`sqlite:${file}`, { limits: { storeBytes: LIMIT * 4 } });
    await expectWhole(larger, ids);
    const again = await larger.agent("writer");
    await again.remember({ content: FILLING });
    await again.handoff({ to: "writer", task: "after", intent: "Sent when there was space again" });
    await (await again.accept({ task: "before" }))?.complete();
    await expectWhole(larger, ids);
  });

  it("refuses every kind of write that does not fit and stores nothing of it [DLV-1]", async () => {
    using folder = temporaryFolder();
    const file = folder.file("hub.db");
    await using hub = await openHub(`sqlite:${file}`, { limits: { storeBytes: LIMIT } });
    const writer = await hub.agent("writer", { role: "writer" });
    await writer.handoff({ to: "writer", task: "held", intent: "Go" });
    const work = await writer.accept();
    await fill(writer);
    const many = Array.from({ length: 20 }, () => ({ content: FILLING }));
    const data = { all: FILLING.repeat(4) };
    const writes: Record<string, () => Promise<unknown>> = {
      batch: () => writer.remember(many),
      handoff: () =>
        writer.handoff({ to: "writer", task: "new", intent: "Go", payload: { type: "t", data } }),
      note: async () => work?.note({ content: FILLING, data }),
      complete: async () => work?.complete({ outputs: data }),
      handOn: async () => work?.handoff({ to: "writer", payload: { type: "t", data } }),
      register: () =>
        hub.agent("another", {
          capabilities: Array.from({ length: 200 }, (_, n) => `${"c".repeat(100)}${n}`),
        }),
    };
    for (const [name, write] of Object.entries(writes)) {
      await refusedWithoutTrace(file, write, { code: "store_full", path: file }).catch(
        (error: Error) => expect.fail(`${name}: ${error.message}`),
      );
    }
    expect((await hub.verify()).problems).toEqual([]);
    expect((await hub.deliveries.totals()).byState).toMatchObject({
      accepted: 1,
      completed: 0,
      ready: 0,
    });
  });

  it("stores exactly the acknowledged writes of a group in which one did not fit [DLV-1]", async () => {
    using folder = temporaryFolder();
    await using hub = await openHub(`sqlite:${folder.file("hub.db")}`, {
      limits: { storeBytes: LIMIT },
    });
    const writer = await hub.agent("writer", { role: "writer" });
    const written = await Promise.allSettled([
      writer.remember({ content: "small" }),
      writer.remember(Array.from({ length: 100 }, () => ({ content: FILLING }))),
      writer.remember({ content: "small too" }),
    ]);
    expect(written[1]?.status).toBe("rejected");
    const kept = (await writer.memories.recent()).items.map(({ content }) => content).sort();
    const acknowledged = written.flatMap((each) =>
      each.status === "fulfilled" && !Array.isArray(each.value) ? [each.value.content] : [],
    );
    expect(kept).toEqual(acknowledged.sort());
    expect((await hub.verify()).problems).toEqual([]);
    await writer.remember({ content: "and on" });
  });
});

describe("a full disk", () => {
  it.skipIf(!canMount())(
    "refuses writes that do not fit, keeps acknowledged ones and continues once there is space",
    async () => {
      using folder = temporaryFolder();
      using disk = smallDisk(folder.file("disk"));
      const file = disk.file("hub.db");
      writeFileSync(disk.file("ballast"), Buffer.alloc(1_000_000));
      const hub = await openHub(`sqlite:${file}`);
      const writer = await hub.agent("writer", { role: "writer" });
      const { ids, refusal } = await fill(writer);
      expectFull(refusal);
      await refused(() => writer.handoff({ to: "writer", intent: FILLING }), {
        code: "store_full",
      });
      expect((await writer.memories.recent({ limit: 1 })).items[0]?.id).toBe(ids.at(-1));
      rmSync(disk.file("ballast"));
      await writer.remember({ content: "there is space again" });
      await expectWhole(hub, ids);
      await hub.close();
      const again = await openHub(`sqlite:${file}`);
      await expectWhole(again, ids);
      await again.close();
    },
  );

  it.skipIf(!canMount())(
    "refuses to create a store that does not fit, and creates it later",
    async () => {
      using folder = temporaryFolder();
      using disk = smallDisk(folder.file("disk"));
      const { bsize, bfree } = statfsSync(disk.path);
      writeFileSync(disk.file("ballast"), Buffer.alloc(bsize * (bfree - 3)));
      // The code depends on which file ran out of space; both errors are retryable.
      const error = await openHub(`sqlite:${disk.file("hub.db")}`).catch((each: unknown) => each);
      expect(error).toBeInstanceOf(BatonError);
      expect(["store_full", "store_unavailable"]).toContain((error as BatonError).code);
      rmSync(disk.file("ballast"));
      await using hub = await openHub(`sqlite:${disk.file("hub.db")}`);
      expect((await hub.verify()).problems).toEqual([]);
    },
  );
});

/** Mounts a 3 MB disk in memory. */
function smallDisk(path: string): Disposable & { path: string; file(name: string): string } {
  mkdirSync(path);
  execFileSync("/bin/mount", ["-t", "tmpfs", "-o", "size=3m", "tmpfs", path], { stdio: "ignore" });
  return {
    path,
    file: (name) => `${path}/${name}`,
    [Symbol.dispose]: () => void execFileSync("/bin/umount", ["-l", path]),
  };
}

/** Returns whether this process can mount a disk: only root can, and not in every container. */
function canMount(): boolean {
  if (process.platform !== "linux" || process.geteuid?.() !== 0) return false;
  using folder = temporaryFolder();
  try {
    using disk = smallDisk(folder.file("disk"));
    return disk.path !== "";
  } catch {
    return false;
  }
}
