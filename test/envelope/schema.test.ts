/**
 * The published JSON Schema of the envelope: it accepts a value in a field if and only if the hub
 * sends a handoff with that value.
 */
import { execFile } from "node:child_process";
import { copyFileSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual, promisify } from "node:util";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type Agent,
  BatonError,
  type DraftOf,
  ENVELOPE_VERSION,
  ENVELOPE_VERSIONS,
  type Envelope,
  envelopeJsonSchema,
  FORMAT_LIMITS,
} from "../../src/index.ts";
import { openFresh, take, tempFolder } from "../support/hub/support.ts";
import { chosenSeed } from "../support/random.ts";
import { runs } from "../support/runs.ts";

const root = join(import.meta.dirname, "..", "..");
const MEMORY_ID = "mem_01900000-0000-7000-8000-000000000000";

function validator(): ValidateFunction {
  return new Ajv2020({ strict: true, strictTypes: false, allErrors: true }).compile(
    envelopeJsonSchema(ENVELOPE_VERSION),
  );
}

async function team() {
  const hub = await openFresh("memory");
  const planner = await hub.agent("planner", { role: "planner" });
  const coder = await hub.agent("coder", {});
  return { hub, planner, coder };
}

/** Fields that drafts and envelopes share unchanged, so that the hub's verdict applies to both. */
const { intentLength, lineLength, textLength, nameLength, listItems } = FORMAT_LIMITS;
const CASES: Record<string, readonly unknown[]> = {
  action: ["failed", "our_own-word", "Shouted", "two words", "", "9th", "a".repeat(nameLength + 1)],
  intent: ["x", "", 7, null, "x".repeat(textLength + 1)],
  state: ["somewhere", "", ["list"], "x".repeat(textLength), "x".repeat(textLength + 1)],
  run: ["run-42/planner", "ラン 7", "-leading", "trailing ", "a:b", "", "n".repeat(nameLength + 1)],
  task: ["t", "a b", " a", "a\nb", "💥"],
  done: [[], ["x"], [""], [1], "x", ["x".repeat(lineLength + 1)], Array(listItems + 1).fill("x")],
  next: [["x".repeat(lineLength)], Array(listItems).fill("x"), {}],
  doNotRedo: [["y"], [null]],
  blocked: [[{ what: "x" }], [{ what: "x", on: "y" }], [{ on: "y" }]],
  artifacts: [
    [{ kind: "pr", path: "#17" }],
    [{ kind: "file", path: "a.ts", note: "n", digest: "ab".repeat(32) }],
    [{ kind: "file", path: "a.ts", digest: "AB".repeat(32) }],
    [{ kind: "File", path: "a.ts" }],
    [{ kind: "file" }],
  ],
  constraints: [
    [{ id: "a", level: "must", rule: "x" }],
    [{ id: "a", level: "never", rule: "x" }],
    [{ id: "A", level: "may", rule: "x" }],
    [{ id: "a", level: "may" }],
    [{ id: "a", level: "should", rule: "x", source: "QA" }],
  ],
  decisions: [
    [{ id: "a", question: "?", options: ["x"], owner: "lead" }],
    [{ id: "a", question: "?", options: [], owner: "the lead" }],
    [{ id: "a", options: [] }],
  ],
  expects: [
    [{ name: "patch", type: "code", criteria: [] }],
    [{ name: "patch", type: "code", criteria: ["x"], format: "diff", maxLength: 1 }],
    [{ name: "patch", type: "code", criteria: [], maxLength: 0 }],
    [{ name: "patch", type: "code", criteria: [], maxLength: 1.5 }],
    [{ name: "", type: "code", criteria: [] }],
  ],
  history: [
    [{ agent: "a", did: "x" }],
    [{ agent: "a", did: "x", at: 1, decided: "y", why: "z", ref: MEMORY_ID }],
    [{ agent: "a", did: "x", ref: "mem_1" }],
    [{ agent: "a b", did: "x" }],
    [{ agent: "a", did: "x", at: -1 }],
    [{ agent: "a", did: "x", at: 2 ** 53 }],
  ],
  payload: [
    { type: "t", data: {} },
    { type: "t", data: { deep: [{ er: null }] } },
    { type: "t", data: [] },
    { type: "t", data: "text" },
    { type: "", data: {} },
    { data: {} },
    "text",
  ],
  budget: [{ tokens: 1 }, { tokens: 0 }, { tokens: 1.5 }, {}, 7],
  recent: [0, listItems, listItems + 1, -1, "3"],
  strategy: ["full", "lazy", "eager", ""],
};

/** Returns whether an intent is valid in an envelope but too long for the hub to send whole. */
const isBrief = (value: unknown): boolean =>
  typeof value === "string" && value.length > intentLength && value.length <= textLength;

let attempts = 0;
const BASE = { to: "coder", task: "base", intent: "Base" };

/**
 * Returns whether the hub sends the value unchanged (a short form is expanded). Any error other
 * than a refused envelope fails the test.
 */
async function hubAccepts(sender: Agent, field: string, value: unknown): Promise<boolean> {
  const task = `try ${attempts++}`; // A task of its own, because fields carry over within a line.
  const draft = { ...BASE, task, [field]: value } as DraftOf<Record<string, unknown>>;
  try {
    const { envelope } = await sender.handoff(draft);
    return isDeepStrictEqual(envelope[field as keyof typeof envelope], value);
  } catch (error) {
    if (error instanceof BatonError && error.code === "invalid_envelope") return false;
    throw error;
  }
}

describe("the envelope's JSON Schema", () => {
  it("accepts every kind of envelope that the hub sends [ENV-8]", async () => {
    const { planner, coder } = await team();
    const valid = validator();
    const plan = await planner.remember({ content: "The plan." });
    await planner.handoff(BASE);
    await planner.handoff({ ...BASE, next: ["more"], refs: [{ id: plan.id, summary: "s" }] });
    const work = await take(coder);
    const onward = await work.handoff({
      to: "planner",
      metadata: { confidence: 0.5, tokens: { input: 1 }, ours: { x: 1 } },
      payload: { type: "t", data: { a: 1 } },
    });
    for (const envelope of [work.envelope, (onward as { envelope: Envelope }).envelope]) {
      expect(valid(JSON.parse(JSON.stringify(envelope))), JSON.stringify(valid.errors)).toBe(true);
    }
  });

  it.each(Object.entries(CASES))("agrees with the hub on %s [ENV-8]", async (field, values) => {
    const { planner } = await team();
    const valid = validator();
    const { envelope } = await planner.handoff(BASE);
    for (const value of values) {
      const accepted = await hubAccepts(planner, field, value);
      const said = valid({ ...envelope, [field]: value });
      expect(said, `${field}: ${JSON.stringify(value)?.slice(0, 80)}`).toBe(accepted);
    }
  });

  it("agrees with the hub on arbitrary values of every shared field [ENV-8]", async () => {
    const { planner } = await team();
    const valid = validator();
    const { envelope } = await planner.handoff(BASE);
    const line = fc.string({ maxLength: 6 });
    const anything = fc.oneof(
      line,
      fc.array(line, { maxLength: 2 }),
      fc.constant(null),
      fc.integer(),
      fc.constantFrom(...Object.values(CASES).flat()),
    );
    // Half of the values belong to the field; most of the others are valid in no field.
    const fieldAndValue = fc.constantFrom(...Object.entries(CASES)).chain(([name, values]) => {
      const value = fc.oneof(anything, fc.constantFrom(...values));
      return fc.tuple(fc.constant(name), value);
    });
    let accepted = 0;
    await fc.assert(
      fc.asyncProperty(fieldAndValue, async ([name, value]) => {
        fc.pre(name !== "intent" || !isBrief(value)); // Only its beginning is sent.
        const hub = await hubAccepts(planner, name, value);
        if (hub) accepted++;
        expect(valid({ ...envelope, [name]: value })).toBe(hub);
      }),
      { numRuns: runs(300), seed: chosenSeed() },
    );
    expect(accepted).toBeGreaterThan(20);
  });

  it.each([lineLength, lineLength + 1])(
    "counts %i characters outside the basic multilingual plane as the hub does [ENV-8]",
    async (length) => {
      const { planner } = await team();
      const { envelope } = await planner.handoff(BASE);
      const value = ["🏃".repeat(length)];
      const accepted = await hubAccepts(planner, "next", value);
      expect(accepted).toBe(length <= lineLength);
      expect(validator()({ ...envelope, next: value })).toBe(accepted);
    },
  );

  it.each(ENVELOPE_VERSIONS)(
    "of version %s accepts fields of a later version, which a draft must not contain [ENV-7 ENV-8]",
    async (version) => {
      const { planner } = await team();
      const schema = envelopeJsonSchema(version);
      const valid = new Ajv2020({ strict: true, strictTypes: false }).compile(schema);
      const { envelope } = await planner.handoff({ ...BASE, strategy: "lazy" });
      expect(valid(envelope)).toBe(true);
      const later = { blocked: [{ what: "x", who: "z" }], colour: "red" };
      for (const [field, value] of Object.entries(later)) {
        expect(valid({ ...envelope, [field]: value }), field).toBe(true);
        expect(await hubAccepts(planner, field, value), field).toBe(false);
      }
      for (const other of ["1.0", "1.1", "1.27"]) {
        expect(valid({ ...envelope, version: other }), other).toBe(true);
      }
      for (const other of ["2.0", "1", "1.01", "0.9", 1.1]) {
        expect(valid({ ...envelope, version: other }), `${other}`).toBe(false);
      }
    },
  );

  it("requires every field that the hub always writes [ENV-8]", async () => {
    const { planner } = await team();
    const valid = validator();
    const { envelope } = await planner.handoff(BASE);
    for (const field of Object.keys(envelope)) {
      const { [field as keyof Envelope]: _gone, ...rest } = envelope as Envelope;
      expect(valid(rest), `without ${field}`).toBe(false);
    }
  });

  it("accepts agents, roles and channels as receivers [ENV-2 ENV-8]", async () => {
    const { planner } = await team();
    const valid = validator();
    const { envelope } = await planner.handoff(BASE);
    const receivers: [unknown, boolean][] = [
      [{ kind: "agent", agent: "coder" }, true],
      [{ kind: "role", role: "reviewer" }, true],
      [{ kind: "channel", channel: "news" }, true],
      [{ kind: "agent", role: "reviewer" }, false],
      [{ kind: "team", team: "all" }, false],
      ["coder", false],
    ];
    for (const [to, good] of receivers) {
      expect(valid({ ...envelope, to }), JSON.stringify(to)).toBe(good);
    }
  });

  it("is published in the package, one file per version and one for the newest [ENV-8]", {
    timeout: 120_000,
  }, async () => {
    // The script writes next to itself, so it runs in a temporary folder.
    const folder = tempFolder();
    mkdirSync(join(folder, "scripts"));
    symlinkSync(join(root, "src"), join(folder, "src"));
    const script = join(folder, "scripts", "write-schemas.ts");
    copyFileSync(join(root, "scripts", "write-schemas.ts"), script);
    const args = ["--disable-warning=ExperimentalWarning", script];
    await promisify(execFile)(process.execPath, args);
    const written = join(folder, "dist", "schemas");
    const read = (name: string) => JSON.parse(readFileSync(join(written, name), "utf8"));
    const names = ENVELOPE_VERSIONS.map((version) => `envelope-${version}.json`);
    expect(readdirSync(written).sort()).toEqual([...names, "envelope.json"].sort());
    for (const version of ENVELOPE_VERSIONS) {
      expect(read(`envelope-${version}.json`)).toEqual(envelopeJsonSchema(version));
    }
    expect(read("envelope.json")).toEqual(envelopeJsonSchema(ENVELOPE_VERSION));
    const { exports, files } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
    for (const name of [...names, "envelope.json"]) {
      expect(exports[`./schemas/${name}`]).toBe(`./dist/schemas/${name}`);
    }
    expect(files).toContain("dist");
  });
});
