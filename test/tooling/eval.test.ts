/**
 * `npm run eval`: reads conversations from a file, asks questions about them and reports figures.
 */
import { writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { readConversations } from "../../eval/conversations.ts";
import { figuresOf, lenient } from "../../eval/measure.ts";
import { runScript } from "../support/run-script.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const turn = (dia_id: string, speaker: string, text: string) => ({ dia_id, speaker, text });

const FILE = [
  {
    sample_id: "talk-1",
    conversation: {
      speaker_a: "Ann",
      speaker_b: "Bo",
      session_1_date_time: "1:56 pm on 8 May, 2023",
      session_1: [
        turn("D1:1", "Ann", "Which island did you sail to?"),
        turn("D1:2", "Bo", "Gotland, for two weeks."),
        turn("D1:3", "Ann", "My harvest of quinces was huge."),
      ],
      session_2_date_time: "2023-06-01T10:00:00Z",
      session_2: [turn("D2:1", "Bo", "The kiln cracked during firing.")],
    },
    qa: [
      { question: "What happened to Bo's kiln?", evidence: ["D2:1"], category: 4 },
      { question: "Which island did Bo sail to?", evidence: ["D1:2; D1:1"], category: 1 },
      { question: "What grew in Ann's garden?", evidence: ["D9:9"], category: 1 },
      { question: "Nothing to find", evidence: [], category: 5 },
    ],
  },
];

describe("the evaluation", () => {
  it("asks questions about conversations and reports strict figures [MEM-8]", async () => {
    using folder = temporaryFolder();
    const file = folder.file("talks.json");
    writeFileSync(file, JSON.stringify(FILE));
    const [{ code, stdout, stderr }, table] = await Promise.all([
      runScript("eval/main.ts", [file, "--json"]),
      runScript("eval/main.ts", [file, "--no-meaning", "--store", "memory"]),
    ]);
    expect([code, stderr]).toEqual([0, ""]);
    const report = JSON.parse(stdout);
    expect(report.separate).toMatchObject({ questions: 2, any5: 100, any10: 100, any20: 100 });
    expect(report.pooled.questions).toBe(2);
    expect(report.unanswerable).toBe(1);
    expect(Object.keys(report.categories)).toEqual(["1", "4"]);
    expect(report.conversations["talk-1"].fraction10).toBe(100);
    expect(table.stdout).toMatch(/per conversation +2 +100\.0 +100\.0/);
  });

  it("counts evidence that was found, and turns next to it only by the lenient rule", () => {
    using folder = temporaryFolder();
    const file = folder.file("talks.json");
    writeFileSync(file, JSON.stringify(FILE));
    const conversations = readConversations(file);
    const [kiln, island] = conversations[0]?.questions ?? [];
    if (kiln === undefined || island === undefined) throw new Error("two questions");
    expect(conversations[0]?.turns.map(({ at }) => at)).toEqual([
      ...Array.from({ length: 3 }, () => Date.parse("2023-05-08T13:56:00Z")),
      Date.parse("2023-06-01T10:00:00Z"),
    ]);
    const answers = [
      { question: kiln, found: ["talk-1/D1:3"], ms: 1 },
      { question: island, found: ["talk-1/D1:3", "talk-1/D1:2"], ms: 3 },
    ];
    expect(figuresOf(answers)).toMatchObject({ any5: 50, mrr: 0.25, fraction10: 25 });
    expect(lenient(answers, conversations, 10)).toBe(50);
    expect(lenient(answers, conversations, 1)).toBe(50);
  });

  it("reports what is wrong with a file of another format", async () => {
    using folder = temporaryFolder();
    const file = folder.file("other.json");
    writeFileSync(file, JSON.stringify({ turns: [] }));
    const [other, none] = await Promise.all([
      runScript("eval/main.ts", [file]),
      runScript("eval/main.ts", []),
    ]);
    expect(other.code).not.toBe(0);
    expect(other.stderr).toContain("Invalid conversations");
    expect(none.code).toBe(64);
  });
});
