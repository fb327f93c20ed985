/** SIGKILL at random moments: what was acknowledged is there afterwards, once, and verifies. */
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

  it("did enough to prove anything", () => {
    expect(report.kills).toBeGreaterThanOrEqual(KILLS);
    for (const kind of KINDS) expect(report.byKind[kind] ?? 0, kind).toBeGreaterThan(0);
  });

  it("acknowledged is durable: every memory, envelope, delivery and settlement is there once, the chain verifies and the books balance [DLV-1]", () => {
    expect(report.violations).toEqual([]);
  });

  it("what a killed holder held goes to the next after its lease, and is completed once [DLV-6]", () => {
    expect(report.redelivered).toBeGreaterThan(0);
    expect(report.violations).toEqual([]);
  });

  it("the audit would have noticed: each kind of loss, made by hand, is a violation", async () => {
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
      `delete from events where number = 1`,
      `insert into events (workspace, at, attempt, kind, agent, task, delivery, envelope)
        values (1, 1, 1, 'completed', 'ann', 't', '${completed}', 'e')`,
    ];
    for (const damage of damages) {
      const { violations } = await auditAfter(damage, report);
      expect(violations, damage).not.toEqual([]);
    }
  });
});

/** Does the damage to a copy, so that the next one starts from a whole store. */
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
