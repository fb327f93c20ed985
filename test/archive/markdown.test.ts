/** MEMORY.md: memories of a team as a document that people read and edit, and its import. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Agent, Memory } from "../../src/index.ts";
import { openFresh, refusal } from "../support/hub/support.ts";
import { present } from "../support/present.ts";
import { chosenSeed } from "../support/random.ts";

async function team() {
  const hub = await openFresh("sqlite");
  const ada = await hub.agent("ada", { owner: "pat" });
  const ben = await hub.agent("ben", {});
  return { hub, ada, ben };
}

const known = async (agent: Agent): Promise<string[]> =>
  (await agent.memories.recent({ limit: 1_000 })).items.map(({ content }) => content).reverse();

/** Returns a line of the document that ends with the marker of a record. */
const entry = (text: string, { id, digest }: Memory): string =>
  `- ${text} <!-- ${id} ${digest.slice(0, 12)} -->`;

describe("the Markdown document", () => {
  it("lists current memories by type, each with its marker [MEM-17]", async () => {
    const { hub, ada } = await team();
    const old = await ada.remember({ type: "decision", content: "Use RS256." });
    const wrong = await ada.remember({ content: "The limit is 5." });
    const [decision, fact] = await ada.remember([
      {
        type: "decision",
        content: "Use EdDSA.",
        relations: [{ kind: "supersedes", to: old.id }],
      },
      { content: "The limit is 6.", relations: [{ kind: "corrects", to: wrong.id }] },
    ]);
    const lesson = await ada.remember({ type: "lesson", content: "Measure first." });
    await ada.remember({ type: "step", content: "ran the tests" });
    await ada.remember({ content: "over since long", validUntil: 5 });
    await ada.remember({ content: "mine alone", scope: "agent" });
    await ada.handoff({ to: "ben", task: "t", intent: "Go on" });
    const text = await hub.memories.exportMarkdown();
    expect(text.slice(text.indexOf("-->\n\n## ") + 5)).toBe(
      [
        "## Decisions",
        "",
        entry("Use EdDSA.", decision as Memory),
        "",
        "## Facts",
        "",
        entry("The limit is 6.", fact as Memory),
        "",
        "## Lessons",
        "",
        entry("Measure first.", lesson),
        "",
      ].join("\n"),
    );
    expect(await hub.memories.exportMarkdown()).toBe(text);
    expect(await ada.memories.exportMarkdown()).toContain("mine alone");
    expect(await hub.memories.exportMarkdown({ type: "step" })).toContain(
      "## Type: step\n\n- ran the tests",
    );
  });

  it("changes nothing when it is imported unchanged [MEM-17]", async () => {
    const { hub, ada, ben } = await team();
    await ada.remember([{ content: "one" }, { type: "decision", content: "two\n\n- three\n" }]);
    const before = await known(ada);
    const text = await hub.memories.exportMarkdown();
    expect(await ben.memories.importMarkdown(text)).toEqual({
      taken: [],
      unchanged: 2,
      redacted: [],
    });
    expect(await known(ada)).toEqual(before);
  });

  it("restores any content exactly, as one entry [MEM-17]", async () => {
    const { hub, ada } = await team();
    const piece = fc.oneof(
      fc.constantFrom(
        ...["# h", "## Decisions", "- b", "* b", "+ b", "1. n", "2) n", "> q", "---", "***", "___"],
        ...["===", "```", "~~~js", "<!-- c -->", "-->", "\\", "\\<!--", "&#10;", "&amp;", "|a|b|"],
        ...[
          " ",
          "  ",
          "\t",
          "\n",
          "\n\n",
          "\r\n",
          "\u2028",
          "\u0085",
          "\ufeff",
          "é",
          "🎉",
          "a",
          "",
        ],
        ...["<!-- mem_01890000-0000-7000-8000-000000000000 0123456789ab -->", "[x](y)", "\\\\"],
      ),
      fc.string({ unit: "grapheme" }),
    );
    const content = fc
      .array(piece, { minLength: 1, maxLength: 8 })
      .map((pieces) => pieces.join(""))
      .filter((text) => text !== "" && !text.includes("\0") && text.isWellFormed());
    const seed = chosenSeed();
    const contents = fc.sample(content, { numRuns: 400, seed });
    const memories = await ada.remember(contents.map((each) => ({ content: each })));
    const text = await hub.memories.exportMarkdown();
    const report = await ada.memories.importMarkdown(text);
    const lost = memories.filter(({ id }) =>
      report.taken.some(({ supersedes }) => supersedes.includes(id)),
    );
    expect(
      lost.map((each) => JSON.stringify(each.content)),
      `BATON_SEED=${seed}`,
    ).toEqual([]);
    expect(report, `BATON_SEED=${seed}`).toEqual({
      taken: [],
      unchanged: contents.length,
      redacted: [],
    });
    // Also through an editor that strips trailing spaces and changes line endings.
    const edited = text.replaceAll(/[ \t]+$/gm, "").replaceAll("\n", "\r\n");
    expect(await ada.memories.importMarkdown(edited)).toEqual(report);
  });
});

describe("an edited document", () => {
  it("supersedes edited entries, adds new ones and deletes nothing [MEM-17]", async () => {
    const { hub, ada, ben } = await team();
    const first = await ada.remember({
      ...{ type: "decision", content: "Use RS256.", task: "auth", tags: ["jwt"] },
    });
    const second = await ada.remember({ content: "Deleted in the document." });
    const text = await hub.memories.exportMarkdown();
    const edited = text
      .replace("Use RS256.", "Use EdDSA.\n  It is smaller.")
      .replace(entry("Deleted in the document.", second), "- A new fact.")
      .concat("\n## Lessons\n\n- Sleep over it.\n");
    const report = await ben.memories.importMarkdown(edited, { task: "review" });
    expect(report.taken).toMatchObject([
      { type: "decision", supersedes: [first.id] },
      { type: "fact", supersedes: [] },
      { type: "lesson", supersedes: [] },
    ]);
    const [changed, added] = await Promise.all(
      report.taken.map(({ memory }) => hub.memories.read(present(memory))),
    );
    expect(changed).toMatchObject({
      ...{ agent: "ben", content: "Use EdDSA.\nIt is smaller.", task: "auth", tags: ["jwt"] },
      relations: [{ kind: "supersedes", to: first.id }],
    });
    expect(added).toMatchObject({ content: "A new fact.", task: "review" });
    expect((await hub.memories.read(second.id)).content).toBe("Deleted in the document.");
    const after = await hub.memories.exportMarkdown();
    expect(after).not.toContain("RS256");
    expect(after).toContain("Deleted in the document.");
    expect((await hub.verify()).problems).toEqual([]);
  });

  it("is imported once when it is imported twice [MEM-17]", async () => {
    const { hub, ada } = await team();
    await ada.remember({ content: "Before." });
    const edited = `${(await hub.memories.exportMarkdown()).replace("Before.", "After.")}\n- New.\n`;
    expect((await ada.memories.importMarkdown(edited)).taken).toHaveLength(2);
    expect(await ada.memories.importMarkdown(edited)).toMatchObject({ taken: [], unchanged: 2 });
    expect(await known(ada)).toEqual(["Before.", "After.", "New."]);
  });

  it("is refused with the line of an outdated entry, and nothing is imported [MEM-17]", async () => {
    const { hub, ada, ben } = await team();
    const old = await ada.remember({ content: "One." });
    const text = await hub.memories.exportMarkdown();
    const newer = await ada.remember({
      ...{ content: "Two.", relations: [{ kind: "supersedes", to: old.id }] },
    });
    const line = text.split("\n").findIndex((each) => each.includes("One.")) + 1;
    const error = await refusal(
      ben.memories.importMarkdown(`${text.replace("One.", "Three.")}\n- New.\n`),
    );
    expect(error).toMatchObject({ code: "document_stale", path: `line ${line}` });
    expect(error.details).toMatchObject({ memory: old.id, newer: newer.id });
    expect(await known(ada)).toEqual(["One.", "Two."]);
    // Entries that were not edited do not conflict.
    expect((await ben.memories.importMarkdown(text)).taken).toEqual([]);
  });

  it("is refused when a marker has another digest [MEM-17]", async () => {
    const { hub, ada } = await team();
    const one = await ada.remember({ content: "One." });
    const text = (await hub.memories.exportMarkdown()).replace(
      one.digest.slice(0, 12),
      "0123456789ab",
    );
    expect(await refusal(ada.memories.importMarkdown(text))).toMatchObject({
      code: "document_stale",
    });
  });

  it("does not restore redacted memories [MEM-17 MEM-18]", async () => {
    const { hub, ada } = await team();
    const leak = await ada.remember({ content: "The password is hunter2." });
    const text = await hub.memories.exportMarkdown();
    await ada.memories.redact({ ids: [leak.id] }, "a password");
    const report = await ada.memories.importMarkdown(text);
    expect(report).toMatchObject({ taken: [], redacted: [{ memory: leak.id }] });
    expect(await hub.memories.exportMarkdown()).not.toContain("hunter2");
  });

  it("reports its changes in a dry run without making them [MEM-17]", async () => {
    const { ada } = await team();
    const report = await ada.memories.importMarkdown("- New.\n", { dryRun: true });
    expect(report.taken).toEqual([{ line: 1, type: "fact", supersedes: [] }]);
    expect(await known(ada)).toEqual([]);
  });
});

describe("a document from elsewhere", () => {
  it("is imported block by block, with headings as types or tags [MEM-17]", async () => {
    const { hub, ada } = await team();
    const report = await ada.memories.importMarkdown(
      [
        "---",
        "description: settings of an editor",
        "---",
        "# CLAUDE.md",
        "",
        "<!-- a comment -->",
        "Build with `npm test`.",
        "It takes a while.",
        "",
        "## Code style",
        "",
        "* Two spaces",
        "  - also in JSON",
        "1. Name files after nouns",
        "",
        "## Deploying",
        "",
        "- Run:",
        "  ```sh",
        "  # not a heading",
        "  - not a bullet \\* as it is",
        "  ```",
        "- [ ] Ask \\*first\\*",
        "",
      ].join("\r\n"),
    );
    const memories = await Promise.all(
      report.taken.map(({ memory }) => hub.memories.read(present(memory))),
    );
    expect(memories.map(({ type, tags, content }) => ({ type, tags, content }))).toEqual([
      { type: "fact", tags: ["CLAUDE.md"], content: "Build with `npm test`.\nIt takes a while." },
      { type: "convention", tags: undefined, content: "Two spaces\n- also in JSON" },
      { type: "convention", tags: undefined, content: "Name files after nouns" },
      {
        type: "fact",
        tags: ["Deploying"],
        content: "Run:\n```sh\n# not a heading\n- not a bullet \\* as it is\n```",
      },
      { type: "fact", tags: ["Deploying"], content: "[ ] Ask *first*" },
    ]);
    expect((await ada.memories.importMarkdown(await hub.memories.exportMarkdown())).taken).toEqual(
      [],
    );
  });

  it("is imported as new when it is of another workspace, ignoring its markers [MEM-17]", async () => {
    const { hub, ada } = await team();
    await ada.remember({ type: "decision", content: "From there." });
    const text = await hub.memories.exportMarkdown();
    const other = await team();
    expect((await other.ada.memories.importMarkdown(text)).taken).toMatchObject([
      { type: "decision", supersedes: [] },
    ]);
    expect((await other.ada.memories.importMarkdown(text)).taken).toEqual([]);
  });

  it("is refused when it is too large [MEM-17]", async () => {
    const hub = await openFresh("memory", { limits: { documentBytes: 100 } });
    const ada = await hub.agent("ada", {});
    const error = await refusal(ada.memories.importMarkdown(`- ${"x".repeat(100)}`));
    expect(error).toMatchObject({ code: "limit_exceeded", details: { limit: "documentBytes" } });
    await ada.remember({ content: "x".repeat(100) });
    expect(await refusal(hub.memories.exportMarkdown())).toMatchObject({ code: "limit_exceeded" });
  });
});
