/** `npm run bench:telephone`: what is planted is there, the stand-ins are fair, and a seed replays it. */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { notes, salienceOf, sentencesOf, summarise } from "../../bench/telephone/agents.ts";
import { play } from "../../bench/telephone/measure.ts";
import { GENERATORS, run, wordsInCommon } from "../../bench/telephone/run.ts";
import { taskOf, tells } from "../../bench/telephone/tasks.ts";
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

  it("say each planted thing once, and nothing else answers for it", () => {
    const wrong = tasks.flatMap(({ name, thread, items }) => {
      const text = thread.join("\n");
      return items
        .filter(({ key, sentence }) => !tells(text, key) || tells(text.replace(sentence, ""), key))
        .map(({ sentence }) => `${name}: ${sentence}`);
    });
    expect(wrong).toEqual([]);
  });

  it("have the intent in the opening and eight to fourteen things in prose", () => {
    for (const { thread, intent, items } of tasks) {
      expect(tells(thread[0] as string, intent.key)).toBe(true);
      expect(items.length).toBeGreaterThanOrEqual(8);
      expect(items.length).toBeLessThanOrEqual(14);
    }
    expect(new Set(tasks.map(({ thread }) => thread.join("\n"))).size).toBe(tasks.length);
  });

  it("are asked about in other words", () => {
    expect(wordsInCommon(tasks)).toBeLessThan(25);
  });

  it("are not answered by anybody's log", () => {
    const wrong = tasks.slice(0, 8).flatMap((task) => {
      const logs = [2, 3, 4].flatMap((agent) => sessionOf(task, agent).messages);
      return task.items.filter(({ key }) => logs.some(({ text }) => tells(text, key)));
    });
    expect(wrong).toEqual([]);
  });
});

describe("the stand-ins", () => {
  const tasks = Array.from({ length: 200 }, (_, n) => taskOf(SEED, n));

  it("know nothing of Baton: only its way imports it, and only what is public", () => {
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

  it("keep to their budget when they sum up, and lose the subtle before the labelled", () => {
    const lost = { labelled: 0, subtle: 0 };
    for (const task of tasks.slice(0, 40)) {
      const sum = summarise(sessionOf(task, 1).sentences, 500, randomFrom(task.seed));
      expect(countTokens(sum)).toBeLessThanOrEqual(500);
      for (const { kind, key } of task.items) {
        if (kind === "must" && !tells(sum, key)) lost.labelled++;
        if (kind === "aside" && !tells(sum, key)) lost.subtle++;
      }
    }
    expect(lost.subtle).toBeGreaterThan(4 * lost.labelled);
    expect(salienceOf("MUST: never do it.", 0)).toBeGreaterThan(salienceOf("By the way, no.", 0));
  });

  it("note every labelled rule, and most of the rest", () => {
    const noted = tasks.flatMap((task) => {
      const taken = notes(task.thread, randomFrom(task.seed));
      return task.items.map(({ kind, key }) => ({
        kind,
        noted: taken.some(({ text }) => tells(text, key)),
      }));
    });
    expect(noted.filter(({ kind, noted }) => kind === "must" && !noted)).toEqual([]);
    const share = noted.filter((each) => each.noted).length / noted.length;
    expect(share).toBeGreaterThan(0.75);
    expect(share).toBeLessThan(0.95);
  });

  it("read a text as its sentences", () => {
    expect(sentencesOf("One. Two at 5:45 pm.\nThree").map(({ text }) => text)).toEqual([
      "One.",
      "Two at 5:45 pm.",
      "Three",
    ]);
  });
});

describe("a line of agents", () => {
  it("has every labelled must and the intent in front of the last agent with Baton [ENV-10]", async () => {
    using folder = temporaryFolder();
    const { figures } = await run(folder.file("telephone.db"), SMALL);
    const last = figures.find(({ way }) => way === "Baton")?.places.at(-1);
    expect(last).toMatchObject({ agent: 4, musts: 100, intent: 100 });
  });

  it("never reads more for a question than it may", async () => {
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

  it("comes to the same figures again with the same seed", async () => {
    using folder = temporaryFolder();
    const again = { ...SMALL, tasks: 2, agents: 3 };
    const first = await run(folder.file("one.db"), again);
    expect(await run(folder.file("two.db"), again)).toEqual(first);
    expect(first.figures.map(({ way }) => way)).toHaveLength(5);
  });
});
