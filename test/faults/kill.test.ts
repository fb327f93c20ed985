/** Kills writers with SIGKILL at random moments: acknowledged writes are stored once and verify. */
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openHub } from "../../src/index.ts";
import { chosenSeed } from "../support/random.ts";
import { runs } from "../support/runs.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { audit } from "./kill-audit.ts";
import type { FactOf } from "./kill-facts.ts";
import { type KillReport, killRun } from "./kill-run.ts";

const KILLS = runs(8);
const TIMEOUT_MS = 120_000 + KILLS * 5_000;
const KINDS = [
  "remembered",
  "sent",
  "accepted",
  "noted",
  "completed",
  "handed-on",
  "failed",
] as const;
const seed = chosenSeed();
const folder = temporaryFolder();
const address = `sqlite:${folder.file("hub.db")}`;

describe(`writers killed ${KILLS} times (BATON_SEED=${seed})`, () => {
  let report: KillReport;

  beforeAll(async () => {
    report = await killRun({ address, kills: KILLS, kinds: KINDS, seed });
    console.log(`kill test, seed ${seed}:`, report.byKind, "redelivered", report.redelivered);
  }, TIMEOUT_MS);

  afterAll(() => folder[Symbol.dispose]());

  it("are killed often enough, with every kind of write acknowledged", () => {
    expect(report.kills).toBeGreaterThanOrEqual(KILLS);
    for (const kind of KINDS) expect(report.byKind[kind] ?? 0, kind).toBeGreaterThan(0);
  });

  it("leave every acknowledged write stored once, a chain that verifies and matching totals [DLV-1]", () => {
    expect(report.violations).toEqual([]);
  });

  it("have their work redelivered after the lease expires, and completed once [DLV-6]", () => {
    expect(report.redelivered).toBeGreaterThan(0);
    expect(report.violations).toEqual([]);
  });

  it("leave a store whose audit detects each kind of loss when it is made by hand", async () => {
    const first = <Kind extends "remembered" | "sent" | "completed" | "handed-on" | "failed">(
      kind: Kind,
    ): FactOf<Kind> =>
      report.acknowledged.facts.find((fact): fact is FactOf<Kind> => fact.kind === kind) as never;
    const memory = first("remembered").id;
    const { envelope, delivery } = first("sent");
    const completed = first("completed").delivery;
    const damages = [
      `delete from memories where id = '${memory}'`,
      `update memories set text = text || ' ' where id = '${memory}'`,
      `delete from envelopes where id = '${envelope}'`,
      `update envelopes set text = text || ' ' where id = '${envelope}'`,
      `delete from deliveries where id = '${delivery}'`,
      `update deliveries set state = 1 where id = '${completed}'`,
      `update deliveries set settled_by = '${memory}' where id = '${completed}'`,
      `delete from memories where id = '${first("completed").memory}'`,
      `delete from attempts where delivery = '${first("failed").delivery}'`,
      `delete from event_groups where last = (select min(last) from event_groups)`,
      `insert into event_groups (last, workspace, at, count, text, sum)
        values (1000000, 1, 1, 1, '[[1,"completed","ann","t","${completed}","e"]]', 0)`,
    ];
    for (const damage of damages) {
      const { violations } = await auditAfter(damage, report);
      expect(violations, damage).not.toEqual([]);
    }
  });
});

/** Damages a copy, so that the next case starts from an intact store, and audits it. */
async function auditAfter(damage: string, { acknowledged }: KillReport) {
  using scratch = temporaryFolder();
  const file = scratch.file("hub.db");
  const original = new DatabaseSync(folder.file("hub.db"));
  original.exec(`vacuum into '${file}'`);
  original.close();
  const copy = new DatabaseSync(file);
  expect(copy.prepare(damage).run().changes, damage).toBeGreaterThan(0);
  copy.close();
  await using hub = await openHub(`sqlite:${file}`);
  return await audit(hub, `sqlite:${file}`, acknowledged);
}
