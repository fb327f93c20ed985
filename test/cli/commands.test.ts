/**
 * Tests of single commands: output and exit codes, and that commands which only read change
 * nothing.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, it } from "vitest";
import { COMMANDS } from "../../src/cli/commands.ts";
import {
  ENVELOPE_VERSION,
  ENVELOPE_VERSIONS,
  ERROR_CODES,
  envelopeJsonSchema,
  openHub,
} from "../../src/index.ts";
import { testSchema } from "../support/postgres/schema.ts";
import { dumpStore } from "../support/store-dump.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { baton, batonInProcess, type TestStore, testStore, withHandoff } from "./baton.ts";

const READ_COMMANDS = [
  ["line", "auth"],
  ["timeline", "auth"],
  ["ledger", "auth"],
  ["reservations"],
  ["inbox", "coder"],
  ["questions", "--as", "planner"],
  ["dead", "list"],
  ["channel", "list"],
  ["route", "list"],
  ["breaker", "list"],
  ["recent"],
  ["branch", "list"],
  ["sql", "select * from handoffs"],
  ["agents"],
  ["verify"],
];

describe("baton line", () => {
  it("shows the handoffs of a task with constraints, next steps and state", async () => {
    using store = testStore();
    await withHandoff(store);
    const { code, stdout } = await store.baton("line", "auth");
    expect(code).toBe(0);
    expect(stdout).toContain("planner → coder");
    expect(stdout).toMatch(/next +Extract validateToken\(\)/);
    expect(stdout).toMatch(/must +Keep the fixtures/);
    expect(stdout).toMatch(/should +Stay small/);
    expect(stdout).toMatch(/do not redo +Choosing a library/);
    expect(stdout).toMatch(/references +plan: Split, then test\./);
    expect(stdout).toMatch(/state +ready on attempt 0 of 3/);
  });

  it("prints the same data with --json", async () => {
    using store = testStore();
    await withHandoff(store);
    const steps = JSON.parse((await store.baton("line", "auth", "--json")).stdout);
    await using hub = await store.open();
    expect(steps).toEqual(JSON.parse(JSON.stringify(await hub.tasks.line("auth"))));
  });

  it("suggests a task for a misspelled name", async () => {
    using store = testStore();
    await withHandoff(store);
    const { stdout } = await store.baton("line", "auht");
    expect(stdout).toContain('No handoffs of task "auht". Did you mean auth?');
  });
});

describe("baton inbox", () => {
  it("shows ready deliveries, and resolves an alias to its agent", async () => {
    using store = testStore();
    await withHandoff(store);
    expect((await store.baton("inbox", "coder")).stdout).toMatch(
      /ready +auth from planner[\s\S]*Refactor auth/,
    );
    expect((await store.baton("inbox", "plan-bot")).stdout).toBe(
      "The inbox of planner is empty.\n",
    );
  });

  it("shows the handle of work that the agent has accepted", async () => {
    using store = testStore();
    await withHandoff(store);
    const { handle } = JSON.parse((await store.baton("accept", "--as", "coder", "--json")).stdout);
    expect((await store.baton("inbox", "coder")).stdout).toContain(`  ${handle}\n`);
  });

  it("suggests an agent for a misspelled name", async () => {
    using store = testStore();
    await withHandoff(store);
    const { code, stdout, stderr } = await store.baton("inbox", "codre");
    expect({ code, stdout }).toEqual({ code: ERROR_CODES.unknown_agent.exit, stdout: "" });
    expect(stderr).toContain('Did you mean "coder"?');
  });
});

describe("baton recent", () => {
  it("filters memories, and pages to older ones with --after", async () => {
    using store = testStore();
    await withHandoff(store);
    const types = async (...args: string[]) => {
      const { stdout } = await store.baton("recent", "--json", ...args);
      return (JSON.parse(stdout) as { items: { type: string }[] }).items.map(({ type }) => type);
    };
    const [all, plans, ofOther, one] = await Promise.all([
      types(),
      types("--type", "plan"),
      types("--task=other"),
      types("--agent", "plan-bot", "--limit", "1"),
    ]);
    expect(all).toEqual(["handoff", "plan"]);
    expect(plans).toEqual(["plan"]);
    expect(ofOther).toEqual([]);
    expect(one).toEqual(["handoff"]);
    const { items } = JSON.parse((await store.baton("recent", "--json")).stdout);
    expect(await types("--after", items[0].id)).toEqual(["plan"]);
  });

  it("shows control characters of stored text as escapes", async () => {
    using store = testStore();
    await withHandoff(store);
    await store.baton("remember", "--as", "coder", "red \u001b[31m and \u009b2J gone");
    const { stdout } = await store.baton("recent", "--limit", "1");
    expect(stdout).toContain("red \\u{1b}[31m and \\u{9b}2J gone");
    for (const control of ["\u001b", "\u009b"]) expect(stdout).not.toContain(control);
  });
});

describe("baton remember", () => {
  it("writes one memory as a registered agent", async () => {
    using store = testStore();
    await withHandoff(store);
    const args = ["--as", "plan-bot", "--task", "auth", "--type", "decision", "We use jose."];
    const { code, stdout } = await store.baton("remember", ...args);
    expect(code).toBe(0);
    await using hub = await store.open();
    const planner = await hub.agent("planner");
    const memory = await planner.memories.read(stdout.split(" ", 1)[0] ?? "");
    expect(memory).toMatchObject({
      agent: "planner",
      task: "auth",
      type: "decision",
      content: "We use jose.",
    });
  });

  it("requires --as", async () => {
    using store = testStore();
    await withHandoff(store);
    const { code, stderr } = await store.baton("remember", "something");
    expect(code).toBe(ERROR_CODES.invalid_input.exit);
    expect(stderr).toContain("--as");
  });
});

describe("baton verify", () => {
  it("reports that all records match what was written", async () => {
    using store = testStore();
    await withHandoff(store);
    const { code, stdout } = await store.baton("verify");
    expect(code).toBe(0);
    expect(stdout).toContain("No problems: all records match what was written.");
    expect(stdout).toContain("5 memories, 1 relation, 1 envelope, 1 delivery, 3 agents");
  });

  it("names a changed record, and exits with the code of store_corrupt", async () => {
    using store = testStore();
    await withHandoff(store);
    const id = await planOf(store);
    const bytes = readFileSync(store.file);
    bytes.write("Merge", bytes.indexOf("Split, then test."));
    writeFileSync(store.file, bytes);
    const { code, stdout } = await store.baton("verify");
    expect(code).toBe(ERROR_CODES.store_corrupt.exit);
    expect(stdout).toMatch(/\d problem/);
    expect(stdout).toContain(id);
    const report = JSON.parse((await store.baton("verify", "--json")).stdout);
    expect(report.whole).toBe(false);
    expect(report.problems.map(({ record }: { record: string }) => record)).toContain(id);
  });
});

describe("baton schema", () => {
  it("prints the JSON Schema of every version, and real envelopes match it [ENV-8]", async () => {
    using store = testStore();
    await withHandoff(store);
    await using hub = await store.open();
    const [step] = await hub.tasks.line("auth");
    for (const version of ENVELOPE_VERSIONS) {
      const { code, stdout } = await batonInProcess(["schema", "envelope", "--version", version]);
      expect(code).toBe(0);
      const schema = JSON.parse(stdout);
      expect(schema).toEqual(envelopeJsonSchema(version));
      const fits = new Ajv2020({ strict: false }).compile(schema);
      expect(fits(step?.envelope)).toBe(true);
      expect(fits({ ...step?.envelope, intent: "" })).toBe(false);
    }
    const newest = JSON.parse((await baton(["schema", "envelope"])).stdout);
    expect(newest).toEqual(envelopeJsonSchema(ENVELOPE_VERSION));
  });

  it("refuses an unknown version", async () => {
    const { code, stderr } = await baton(["schema", "envelope", "--version", "9.9"]);
    expect(code).toBe(ERROR_CODES.invalid_input.exit);
    expect(stderr).toContain(ENVELOPE_VERSIONS.join(", "));
  });
});

describe("a command", () => {
  it("reads only the workspace that --workspace names", async () => {
    using store = testStore();
    await withHandoff(store);
    const { stdout } = await store.baton("agents", "--workspace", "other", "--json");
    expect(JSON.parse(stdout)).toEqual([]);
    expect(JSON.parse((await store.baton("agents", "--json")).stdout)).toHaveLength(2);
  });

  it("prefers --store to BATON_STORE", async () => {
    using one = testStore();
    using other = testStore();
    await withHandoff(other);
    const { stdout } = await one.baton("agents", "--store", other.address);
    expect(stdout).toContain("coder");
    expect(existsSync(one.file)).toBe(false);
  });

  it("treats an empty BATON_STORE as unset", async () => {
    using folder = temporaryFolder();
    await (await openHub(`sqlite:${folder.file(".baton/hub.db")}`)).close();
    const { code } = await baton(["agents"], { cwd: folder.path, env: { BATON_STORE: "" } });
    expect(code).toBe(0);
  });

  it.each(READ_COMMANDS)("changes nothing if it only reads: %s", async (...words) => {
    using store = testStore();
    await withHandoff(store);
    const before = dumpStore(store.file);
    expect((await store.baton(...words)).code).toBe(0);
    expect(dumpStore(store.file)).toEqual(before);
  });

  it.each(READ_COMMANDS)("creates no store file if it only reads: %s", async (...words) => {
    using folder = temporaryFolder();
    const { code, stderr } = await batonInProcess([
      ...words,
      "--store",
      `sqlite:${folder.file("no/hub.db")}`,
    ]);
    expect(code).toBe(ERROR_CODES.store_missing.exit);
    expect(stderr).toContain("No store exists at");
    expect(existsSync(folder.file("no"))).toBe(false);
  });

  it.each(READ_COMMANDS)(
    "creates no store in PostgreSQL if it only reads: %s",
    async (...words) => {
      await using schema = testSchema();
      const { code, stderr } = await batonInProcess([...words, "--store", schema.address]);
      expect(stderr).toContain("the store does not exist yet");
      expect(code).toBe(ERROR_CODES.store_missing.exit);
      const made = "select 1 from information_schema.schemata where schema_name = $1";
      expect(await schema.query(made, [schema.schema])).toEqual([]);
    },
  );

  it("exits by itself when the database has no store", async () => {
    await using schema = testSchema();
    const { code, stderr } = await baton(["recent", "--store", schema.address]);
    expect({ code, stderr }).toEqual({
      code: ERROR_CODES.store_missing.exit,
      stderr: expect.stringContaining("the store does not exist yet"),
    });
  });

  it.each(COMMANDS)(
    "describes its arguments and options in its help: $name",
    async ({ name, args, options, summary }) => {
      const words = name.split(" ");
      const { code, stdout } = await batonInProcess([...words, "--help"]);
      expect(code).toBe(0);
      expect(stdout).toContain(summary);
      for (const argument of args) expect(stdout).toContain(`<${argument.name}>`);
      for (const option of Object.keys(options)) expect(stdout).toContain(`--${option}`);
      expect((await batonInProcess(["help", ...words])).stdout).toBe(stdout);
    },
  );

  it("accepts --json, except demo, hook and mcp", () => {
    const without = COMMANDS.filter(({ options }) => !("json" in options));
    // hook and mcp print only the JSON that their harness or client expects.
    expect(without.map(({ name }) => name).toSorted()).toEqual(["demo", "hook", "mcp"]);
  });
});

async function planOf(store: TestStore): Promise<string> {
  await using hub = await store.open();
  const [plan] = (await (await hub.agent("planner")).memories.recent({ type: "plan" })).items;
  return plan?.id ?? "";
}
