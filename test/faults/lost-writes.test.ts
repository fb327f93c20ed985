/**
 * A log whose end is damaged after its writes were acknowledged. SQLite drops that end without an error and
 * what is left verifies, so the store is compared with the head that was known last.
 */
import { copyFileSync, existsSync, readFileSync, statSync, truncateSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { type Agent, type Hub, openHub, restore } from "../../src/index.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { until } from "../support/until.ts";

const folder = temporaryFolder();
const file = folder.file("hub.db");
const WRITES = 20;

/** Copies the open store to a new place; returns its path. */
function copyTo(name: string): string {
  const copy = folder.file(name);
  for (const suffix of ["", "-wal", ".head"]) copyFileSync(file + suffix, copy + suffix);
  return copy;
}

const fieldsOf = async (hub: Hub): Promise<string[]> =>
  (await hub.verify()).problems.map(({ field }) => field);

describe("a store whose log lost acknowledged writes", () => {
  let hub: Hub;
  let sender: Agent;
  /** Length of the log before the last writes. */
  let early = 0;
  let event = 0;

  beforeAll(async () => {
    hub = await openHub(`sqlite:${file}`);
    sender = await hub.agent("sender", {});
    for (let n = 0; n < WRITES; n++) {
      early = statSync(`${file}-wal`).size;
      const sent = await sender.handoff({ to: "sender", task: `t${n}`, intent: `Do ${n}` });
      event = (await hub.events.list({ limit: 1_000 })).items.at(-1)?.number ?? 0;
      expect(sent.id).not.toBe("");
    }
    await until("the head to be written", () =>
      readFileSync(`${file}.head`, "utf8").includes(`"event":${event}`),
    );
  });

  afterAll(async () => {
    await hub.close();
    folder[Symbol.dispose]();
  });

  it("has no problem while the log is whole", async () => {
    await using copy = await openHub(`sqlite:${copyTo("whole.db")}`);
    expect(await fieldsOf(copy)).toEqual([]);
  });

  it("is reported when it is opened and by verify, also after later writes [DLV-1]", async () => {
    const warning = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
    const path = copyTo("cut.db");
    truncateSync(`${path}-wal`, early);
    for (const round of [1, 2]) {
      await using copy = await openHub(`sqlite:${path}`);
      expect(await fieldsOf(copy), `round ${round}`).toEqual(["log"]);
      const agent = await copy.agent("sender");
      for (let n = 0; n < WRITES; n++) await agent.remember({ content: `later ${n}` });
      await agent.handoff({ to: "sender", task: `later-${round}`, intent: "Go on" });
      expect(await fieldsOf(copy), `round ${round}`).toEqual(["log"]);
    }
    const codes = warning.mock.calls.map(([, options]) => (options as { code?: string }).code);
    expect(codes).toContain("BATON_WRITES_LOST");
    warning.mockRestore();
  });

  it("is not reported after a backup was restored in its place [DLV-1]", async () => {
    const [backup, path] = [folder.file("early.backup"), copyTo("restored.db")];
    await hub.archive.backup(backup);
    await sender.remember({ content: "not in the backup" });
    await restore(backup, `sqlite:${path}`, { force: true });
    expect(existsSync(`${path}.head`)).toBe(false);
    await using restored = await openHub(`sqlite:${path}`);
    expect(await fieldsOf(restored)).toEqual([]);
  });
});
