/**
 * `npm run bench:telephone`: planted facts are present, the simulated agents are fair, and a seed
 * reproduces a run.
 */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { notes, salienceOf, sentencesOf, summarise } from "../../bench/telephone/agents.ts";
import { play } from "../../bench/telephone/measure.ts";
import { GENERATORS, run, wordsInCommon } from "../../bench/telephone/run.ts";
import { mentions, taskOf } from "../../bench/telephone/tasks.ts";
import { countTokens } from "../../bench/telephone/tokens.ts";
import { READ_TOKENS, READS } from "../../bench/telephone/way.ts";
import { baton } from "../../bench/telephone/ways/baton.ts";
import { sharedFile } from "../../bench/telephone/ways/shared-file.ts";
import { sessionOf } from "../../bench/telephone/work.ts";
import { randomFrom } from "../support/random.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const SEED = 7;
const SMALL = { tasks: 4, agents: 4, seed: SEED, generator: "first" } as const;

describe.each(Object.entries(GENERATORS))("tasks of the %s generator", (_, taskBy) => {
  const tasks = Array.from({ length: 200 }, (_, n) => taskBy(SEED, n));

  it("contain each planted fact once, and nothing else that answers for it", () => {
    const wrong = tasks.flatMap(({ name, thread, items }) => {
      const text = thread.join("\n");
      return items
        .filter(
          ({ key, sentence }) => !mentions(text, key) || mentions(text.replace(sentence, ""), key),
        )
        .map(({ sentence }) => `${name}: ${sentence}`);
    });
    expect(wrong).toEqual([]);
  });

  it("have the intent in the opening and eight to fourteen facts in prose", () => {
    for (const { thread, intent, items } of tasks) {
      expect(mentions(thread[0] as string, intent.key)).toBe(true);
      expect(items.length).toBeGreaterThanOrEqual(8);
      expect(items.length).toBeLessThanOrEqual(14);
    }
    expect(new Set(tasks.map(({ thread }) => thread.join("\n"))).size).toBe(tasks.length);
  });

  it("are asked about in other words", () => {
    expect(wordsInCommon(tasks)).toBeLessThan(25);
  });

  it("are not answered by the log of any agent", () => {
    const wrong = tasks.slice(0, 8).flatMap((task) => {
      const logs = [2, 3, 4].flatMap((agent) => sessionOf(task, agent).messages);
      return task.items.filter(({ key }) => logs.some(({ text }) => mentions(text, key)));
    });
    expect(wrong).toEqual([]);
  });
});

describe("the simulated agents", () => {
  const tasks = Array.from({ length: 200 }, (_, n) => taskOf(SEED, n));

  it("do not depend on Baton: only its own way imports it, and only public modules", () => {
    const folder = join(import.meta.dirname, "../../bench/telephone");
    const importing = globSync("**/*.ts", { cwd: folder }).flatMap((file) =>
      [...readFileSync(join(folder, file), "utf8").matchAll(/from "[./]+(src\/[^"]+)"/g)].map(
        ([, from]) => `${file}: ${from}`,
      ),
    );
    expect(importing.sort()).toEqual([
      "ways/baton.ts: src/index.ts",
      "ways/baton.ts: src/testing/index.ts",
    ]);
  });

  it("stay within their budget when they summarize, and lose subtle facts before labelled ones", () => {
    const lost = { labelled: 0, subtle: 0 };
    for (const task of tasks.slice(0, 40)) {
      const sum = summarise(sessionOf(task, 1).sentences, 500, randomFrom(task.seed));
      expect(countTokens(sum)).toBeLessThanOrEqual(500);
      for (const { kind, key } of task.items) {
        if (kind === "must" && !mentions(sum, key)) lost.labelled++;
        if (kind === "aside" && !mentions(sum, key)) lost.subtle++;
      }
    }
    expect(lost.subtle).toBeGreaterThan(4 * lost.labelled);
    expect(salienceOf("MUST: never do it.", 0)).toBeGreaterThan(salienceOf("By the way, no.", 0));
  });

  it("note every labelled constraint and most of the other facts", () => {
    const noted = tasks.flatMap((task) => {
      const taken = notes(task.thread, randomFrom(task.seed));
      return task.items.map(({ kind, key }) => ({
        kind,
        noted: taken.some(({ text }) => mentions(text, key)),
      }));
    });
    expect(noted.filter(({ kind, noted }) => kind === "must" && !noted)).toEqual([]);
    const share = noted.filter((each) => each.noted).length / noted.length;
    expect(share).toBeGreaterThan(0.75);
    expect(share).toBeLessThan(0.95);
  });

  it("split a text into sentences", () => {
    expect(sentencesOf("One. Two at 5:45 pm.\nThree").map(({ text }) => text)).toEqual([
      "One.",
      "Two at 5:45 pm.",
      "Three",
    ]);
  });
});

describe("a line of agents", () => {
  it("shows the last agent the intent and every labelled must with Baton [ENV-10]", async () => {
    using folder = temporaryFolder();
    const { figures } = await run(folder.file("telephone.db"), SMALL);
    const last = figures.find(({ way }) => way === "Baton")?.places.at(-1);
    expect(last).toMatchObject({ agent: 4, musts: 100, intent: 100 });
  });

  it("reads no more for a question than its limits allow", async () => {
    using folder = temporaryFolder();
    const ways = [sharedFile, baton(folder.file("telephone.db"))];
    const { seen } = await play(taskOf(SEED, 1), ways, 3);
    expect(seen.map(({ way, agent }) => `${way} ${agent}`)).toEqual([
      "shared file 2",
      "shared file 3",
      "Baton 2",
      "Baton 3",
    ]);
    for (const { reads, readTokens } of seen) {
      expect(reads).toBeLessThanOrEqual(READS);
      expect(readTokens).toBeLessThanOrEqual(READ_TOKENS);
    }
  });

  it("gives the same figures with the same seed", async () => {
    using folder = temporaryFolder();
    const again = { ...SMALL, tasks: 2, agents: 3 };
    const first = await run(folder.file("one.db"), again);
    expect(await run(folder.file("two.db"), again)).toEqual(first);
    expect(first.figures.map(({ way }) => way)).toHaveLength(5);
  });
});
