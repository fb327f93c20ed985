/** Tests duplicate detection through a store, which finds the candidates among many notes. */
import { describe, expect, it } from "vitest";
import type { Agent, SimilarMemory } from "../../src/index.ts";
import { openFresh, STORES } from "../support/hub/support.ts";
import { type Answer, figuresOf, forTuning, heldOut, table } from "./known-pairs.ts";

/** Returns notes of common words, each about a different tenant. */
function distractors(): string[] {
  const subjects =
    "gateway scheduler mailer importer cache proxy index ledger crawler printer".split(" ");
  const verbs = "retries stores deploys limits sends keeps rebuilds owns expires tests".split(" ");
  const objects = "backups tokens invoices users sessions images logs tickets keys releases".split(
    " ",
  );
  return subjects.flatMap((subject, s) =>
    verbs.flatMap((verb, v) =>
      objects.map((object, o) => `The ${subject} of tenant t${s}${v}${o} ${verb} ${object}.`),
    ),
  );
}

describe.each(STORES)("duplicate detection through %s", { timeout: 120_000 }, (store) => {
  it("reaches the minimum precision and recall among 1,000 other notes [MEM-9]", async () => {
    const hub = await openFresh(store);
    const ada = await hub.agent("ada", {});
    const ben = await hub.agent("ben", {});
    const pairs = heldOut();
    const noise = distractors();
    const write = async (agent: Agent, contents: readonly string[]) =>
      (await agent.remember(contents.map((content) => ({ content })))).map(({ id }) => id);
    const none = new Set(await write(ben, noise.slice(0, noise.length / 2)));
    const ids = await write(
      ben,
      pairs.map(({ known }) => known),
    );
    for (const id of await write(ben, noise.slice(noise.length / 2))) none.add(id);
    await write(
      ben,
      forTuning().map(({ known }) => known),
    );
    const answers: Answer[] = [];
    let strays = 0;
    for (const [n, { verdict, said }] of pairs.entries()) {
      const known: readonly SimilarMemory[] = await ada.memories.similar({ content: said });
      const found = known.find(({ memory }) => memory.id === ids[n]);
      answers.push([verdict, found?.verdict ?? "other"]);
      strays += known.filter(({ memory }) => none.has(memory.id)).length;
    }
    console.log(table(`through ${store}`, answers));
    expect(strays, "notes that say neither").toBe(0);
    expect(figuresOf(answers, "same").precision).toBeGreaterThanOrEqual(0.92);
    expect(figuresOf(answers, "same").recall).toBeGreaterThanOrEqual(0.83);
    expect(figuresOf(answers, "contradicts").precision).toBeGreaterThanOrEqual(0.93);
    expect(figuresOf(answers, "contradicts").recall).toBeGreaterThanOrEqual(0.83);
  });
});
