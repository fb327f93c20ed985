/**
 * Coverage of options: every field of a memory, a handoff and a query has an option, or a reason
 * why not.
 */
import { describe, expect, it } from "vitest";
import type * as z from "zod";
import { COMMANDS } from "../../src/cli/commands.ts";
import { DraftSchema } from "../../src/envelope/schema.ts";
import type { Memory } from "../../src/index.ts";
import { RecentSchema, RelationsSchema } from "../../src/memory/read.ts";
import { RecallSchema } from "../../src/memory/recall/recall.ts";
import { MemoryInputSchema, RELATION_KINDS } from "../../src/memory/record.ts";
import { type TestStore, team, testStore } from "./baton.ts";

interface Coverage {
  readonly command: string;
  readonly schema: z.ZodObject;
  /** Fields whose option or argument has another name. */
  readonly renamed?: Readonly<Record<string, string>>;
  /** Fields without an option, with the reason. */
  readonly excluded?: Readonly<Record<string, string>>;
}

const MEMORY_ID =
  "For programs that retry, or whose records mention each other: the hub makes one.";

const COVERAGE: readonly Coverage[] = [
  {
    command: "remember",
    schema: MemoryInputSchema,
    renamed: { content: "text" },
    excluded: { id: MEMORY_ID },
  },
  {
    command: "note",
    schema: MemoryInputSchema,
    renamed: { content: "text" },
    excluded: { id: MEMORY_ID, task: "A note belongs to the task of its work." },
  },
  {
    command: "recall",
    schema: RecallSchema,
    renamed: { branch: "from-branch", meaning: "words-only", superseded: "current" },
  },
  { command: "recent", schema: RecentSchema },
  { command: "relations", schema: RelationsSchema },
  {
    command: "handoff send",
    schema: DraftSchema,
    renamed: { delayMs: "delay", policy: "attempts" },
    excluded: { parents: "--continue names the work it continues; the hub sets its envelope." },
  },
];

/**
 * Returns the option names of a field: `validFrom` → `valid-from`; `tags` → `tag`, because an
 * option takes one value.
 */
function optionNames(field: string): string[] {
  const kebab = field.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  return [kebab, kebab.replace(/s$/, "")];
}

describe.each(COVERAGE)("baton $command", ({ command, schema, renamed = {}, excluded = {} }) => {
  it("has an option for every field except those excluded with a reason [OPS-7]", () => {
    const { options = {}, args = [] } = COMMANDS.find(({ name }) => name === command) ?? {};
    const words = new Set([...Object.keys(options), ...args.map(({ name }) => name)]);
    const missing = Object.keys(schema.shape).filter((field) => {
      const names = renamed[field] === undefined ? optionNames(field) : [renamed[field]];
      return !names.some((name) => words.has(name));
    });
    expect(missing.toSorted()).toEqual(Object.keys(excluded).toSorted());
    for (const reason of Object.values(excluded)) expect(reason).toMatch(/\w+ \w+.*\.$/);
  });
});

const AT = "2026-01-31T12:00Z";

async function printed<T>(store: TestStore, ...words: string[]): Promise<T> {
  const { code, stdout, stderr } = await store.baton(...words, "--json");
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  return JSON.parse(stdout) as T;
}

/** Returns every option that describes a memory, with the fields and relations that they set. */
const described = (first: string, second: string) => ({
  words: [
    ...["--scope", "team", "--tag", "auth", "--concept", "tokens", "--session", "spring"],
    ...["--importance", "0.9", "--confidence", "0.8", "--run", "run-7", "--ref", first],
    ...["--valid-from", AT, "--valid-until", "2026-02-01T00:00Z", "--data", '{"port":80}'],
    ...["--continues", first, "--supersedes", second, "--corrects", second],
    ...["--relation", `supports:${first}`],
  ],
  fields: {
    scope: "team",
    tags: ["auth"],
    concepts: ["tokens"],
    session: "spring",
    importance: 0.9,
    confidence: 0.8,
    run: "run-7",
    refs: [first],
    validFrom: Date.parse(AT),
    validUntil: Date.parse("2026-02-01T00:00Z"),
    data: { port: 80 },
  },
  relations: [
    { kind: "continues-from", to: first },
    { kind: "supersedes", to: second },
    { kind: "corrects", to: second },
    { kind: "supports", to: first },
  ],
});

describe("options that describe a memory", () => {
  async function withTwo(store: TestStore) {
    await team(store);
    const [first, second] = [
      await printed<Memory>(store, "remember", "Old phones exist.", "--as", "ada"),
      await printed<Memory>(store, "remember", "Ports differ.", "--as", "ada"),
    ];
    return described(first.id, second.id);
  }

  it("are all stored by remember [OPS-7]", async () => {
    using store = testStore();
    const { words, fields, relations } = await withTwo(store);
    const about = ["--as", "ada", "--task", "auth", "--type", "decision", ...words];
    const memory = await printed<Memory>(store, "remember", "Keep v1.", ...about);
    expect(memory).toMatchObject({ task: "auth", type: "decision", ...fields, relations });
  });

  it("are all stored by note, besides its relation to the acceptance [OPS-7]", async () => {
    using store = testStore();
    const { words, fields, relations } = await withTwo(store);
    await store.baton("handoff", "send", "Do it", "--as", "ada", "--to", "ben");
    const { handle } = await printed<{ handle: string }>(store, "accept", "--as", "ben");
    const { memory } = await printed<{ memory: Memory }>(store, "note", handle, "Done.", ...words);
    expect(memory).toMatchObject({ type: "step", ...fields });
    expect(memory.relations?.slice(1)).toEqual(relations);
  });

  it("accept every kind of relation; baton relations lists them [OPS-7]", async () => {
    using store = testStore();
    await team(store);
    const { id } = await printed<Memory>(store, "remember", "Old phones exist.", "--as", "ada");
    const all = RELATION_KINDS.flatMap((kind) => ["--relation", `${kind}:${id}`]);
    const words = ["remember", "Keep v1.", "--as", "ada", ...all];
    const { id: keep, relations } = await printed<Memory>(store, ...words);
    expect(relations).toEqual(RELATION_KINDS.map((kind) => ({ kind, to: id })));
    const listed = async (...words: string[]): Promise<string> =>
      (await store.baton("relations", ...words, "--as", "ada")).stdout;
    expect((await listed(keep)).trim().split("\n")).toEqual(
      RELATION_KINDS.map((kind) => `${keep}  ${kind}  ${id}`),
    );
    expect(await listed(id)).toBe("No relations.\n");
    expect(await listed(id, "--direction", "in", "--kind", "supports")).toBe(
      `${keep}  supports  ${id}\n`,
    );
    const wrong = async (relation: string): Promise<string> =>
      (await store.baton("remember", "x", "--as", "ada", "--relation", relation)).stderr;
    expect(await wrong(`suports:${id}`)).toContain("Did you mean supports?");
    expect(await wrong(id)).toContain("Write <kind>:<memory>");
    expect(await wrong("supports:")).toContain("Write <kind>:<memory>");
  });
});

/**
 * Pairs of `recall` options: the first matches one of the two memories, the second matches neither.
 */
const FILTERS: readonly (readonly [readonly string[], readonly string[]])[] = [
  [
    ["--concept", "tokens"],
    ["--concept", "ports"],
  ],
  [
    ["--run", "run-7"],
    ["--run", "run-8"],
  ],
  [
    ["--scope", "agent", "--as", "ada"],
    ["--scope", "user"],
  ],
  [
    ["--from-branch", "main", "--run", "run-7"],
    ["--from-branch", "try"],
  ],
  [
    ["--min-importance", "0.9"],
    ["--min-importance", "1"],
  ],
  [
    ["--min-confidence", "0.8"],
    ["--min-confidence", "1"],
  ],
  [
    ["--valid-at", AT, "--min-importance", "0.9"],
    ["--valid-at", "2020-01-01T00:00Z", "--run", "run-7"],
  ],
  [
    ["--visits", "0", "--run", "run-7"],
    ["--until", "1h"],
  ],
];

describe("the options of recall", () => {
  it.each(FILTERS)("match one memory with %j and none with %j [OPS-7]", async (finds, leaves) => {
    using store = testStore();
    await team(store);
    const remember = (...words: string[]) =>
      printed<Memory>(store, "remember", ...words, "--as", "ada");
    const wanted = await remember(
      "The login uses the v1 token.",
      ...["--concept", "tokens", "--run", "run-7", "--importance", "0.95", "--confidence", "0.85"],
      ...[
        "--valid-from",
        "2026-01-01T00:00Z",
        "--scope",
        finds.includes("--as") ? "agent" : "team",
      ],
    );
    await remember("The login page is blue.", "--confidence", "0.5");
    const found = async (words: readonly string[]): Promise<string[]> => {
      const { items: hits } = await printed<{ items: { memory: Memory }[] }>(
        store,
        ...["recall", "which token does the login use?", ...words],
      );
      return hits.map(({ memory }) => memory.id);
    };
    expect(await found(finds)).toEqual([wanted.id]);
    expect(await found(leaves)).toEqual([]);
  });
});

describe("the options of handoff send", () => {
  it("set run, blocked, decisions, history, artifacts and metadata [OPS-7]", async () => {
    using store = testStore();
    await team(store);
    const { deliveries } = await printed<{ deliveries: { id: string }[] }>(
      store,
      ...["handoff", "send", "Do it", "--as", "ada", "--to", "ben", "--run", "run-7"],
      ...["--blocked", "The release=Legal approval", "--blocked", "The demo"],
      ...["--decision", "Which cache?=memory; redis", "--decision", "When?"],
      ...["--history", "ada:Split it=It was too long", "--history", "ben:Read: all of it"],
      ...["--artifact", "pr:42", "--artifact", "url:https://example.org/?a=b"],
      ...["--metadata", '{"confidence":0.5,"mine":"yes"}'],
    );
    const [{ id } = { id: "" }] = deliveries;
    await using hub = await store.open();
    const { envelope } = await hub.deliveries.get(id);
    expect(envelope).toMatchObject({
      run: "run-7",
      blocked: [{ what: "The release", on: "Legal approval" }, { what: "The demo" }],
      decisions: [
        { question: "Which cache?", options: ["memory", "redis"] },
        { question: "When?", options: [] },
      ],
      history: [
        { agent: "ada", did: "Split it", why: "It was too long" },
        { agent: "ben", did: "Read: all of it" },
      ],
      artifacts: [
        { kind: "pr", path: "42" },
        { kind: "url", path: "https://example.org/?a=b" },
      ],
      metadata: { confidence: 0.5, mine: "yes" },
    });
    const { stdout } = await store.baton("handoff", "show", id);
    expect(stdout).toMatch(/blocked +The release, waits for Legal approval\n +The demo/);
    expect(stdout).toMatch(/artifacts +pr 42/);
  });

  it.each([
    ["--history", "Split it", '"<agent>:<what it did>=<why>"'],
    ["--artifact", "42", "<kind>:<path>"],
    ["--metadata", "[]", "Pass an object."],
  ])("are refused with the expected format: %s %j", async (option, value, hint) => {
    using store = testStore();
    await team(store);
    const words = ["handoff", "send", "Do it", "--as", "ada", "--to", "ben", option, value];
    const { code, stderr } = await store.baton(...words);
    expect(code).not.toBe(0);
    expect(stderr).toContain(hint);
  });
});
