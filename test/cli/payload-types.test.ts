/**
 * `baton payload-type` and `baton handoff rules`: registering and enforcing payload types and
 * actions.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { tempFolder } from "../support/hub/support.ts";
import { testStore } from "./baton.ts";

const SCHEMA = { type: "object", required: ["files"], properties: { files: { type: "array" } } };

async function team() {
  const store = testStore();
  await using hub = await store.open();
  await hub.agent("ada", { role: "planner" });
  await hub.agent("ben", { role: "coder" });
  return store;
}

const PATCH = ["--payload-type", "patch", "--payload"];
const sending = ["handoff", "send", "Go", "--as", "ada", "--to", "ben"];

describe("baton payload-type", () => {
  it("enforces a type in every process, also if the SDK registered it [ENV-13]", async () => {
    using store = await team();
    const file = join(tempFolder(), "patch.json");
    writeFileSync(file, JSON.stringify(SCHEMA));
    const added = await store.process(
      "payload-type",
      "add",
      "patch",
      "--schema",
      `@${file}`,
      "--as",
      "ada",
    );
    expect([added.code, added.stdout]).toEqual([0, expect.stringContaining("version 1")]);

    await using hub = await store.open();
    const ada = await hub.agent("ada");
    const bad = ada.handoff({ to: "ben", intent: "Go", payload: { type: "patch", data: {} } });
    await expect(bad).rejects.toMatchObject({ code: "invalid_payload", path: "payload.data" });
    const refused = await store.process(...sending, ...PATCH, "{}");
    expect([refused.code, refused.stderr]).toEqual([65, expect.stringContaining("files")]);
    expect((await store.baton(...sending, ...PATCH, '{"files":[]}')).code).toBe(0);

    await hub.payloadTypes.set("patch", { ...SCHEMA, required: ["files", "risk"] });
    const newer = await store.process(...sending, ...PATCH, '{"files":[]}');
    expect([newer.code, newer.stderr]).toEqual([65, expect.stringContaining("risk")]);
  });

  it("lists, shows and removes types, and keeps every version [ENV-13]", async () => {
    using store = await team();
    expect((await store.baton("payload-type", "list")).stdout).toContain("No payload types");
    const json = JSON.stringify(SCHEMA);
    await store.baton("payload-type", "add", "patch", "--schema", json, "--as", "ada");
    await store.baton("payload-type", "add", "patch", "--schema", '{"type":"object"}');
    expect((await store.baton("payload-type", "list")).stdout).toMatch(/^patch +version 2/m);
    const shown = await store.baton("payload-type", "show", "patch", "--version", "1", "--json");
    expect(JSON.parse(shown.stdout)).toMatchObject({
      ...{ name: "patch", version: 1, schema: SCHEMA },
      ...{ by: "ada", enforced: false },
    });
    expect((await store.baton("payload-type", "show", "patch")).stdout).toContain('"object"');
    const none = await store.baton("payload-type", "show", "patch", "--version", "7");
    expect([none.code, none.stderr]).toEqual([64, expect.stringContaining("Use one of: 1, 2.")]);
    const near = await store.baton("payload-type", "remove", "patsh");
    expect([near.code, near.stderr]).toEqual([64, expect.stringContaining("patch")]);
    expect((await store.baton("payload-type", "remove", "patch")).code).toBe(0);
    expect((await store.baton("payload-type", "list", "--json")).stdout.trim()).toBe("[]");
    expect((await store.baton("payload-type", "show", "patch")).stdout).toContain("not enforced");
  });

  it("refuses an invalid schema with its path [ENV-13]", async () => {
    using store = await team();
    const wrong = await store.baton("payload-type", "add", "patch", "--schema", '{"type":"objct"}');
    expect([wrong.code, wrong.stderr]).toEqual([64, expect.stringContaining("schema.type")]);
  });
});

describe("baton handoff rules", () => {
  it("sets the allowed actions and what happens to unregistered types [ENV-13]", async () => {
    using store = await team();
    expect((await store.baton("handoff", "rules")).stdout).toMatch(/actions +any/);
    const words = ["handoff", "rules", "--action", "delegated", "--unregistered", "refuse"];
    const set = await store.baton(...words, "--json");
    expect(JSON.parse(set.stdout)).toEqual({ actions: ["delegated"], unregistered: "refuse" });
    const action = await store.baton(...sending, "--action", "thrown");
    expect([action.code, action.stderr]).toEqual([65, expect.stringContaining("delegated")]);
    expect((await store.baton(...sending, ...PATCH, "{}")).code).toBe(65);
    const any = await store.baton("handoff", "rules", "--any-action", "--unregistered", "accept");
    expect(any.stdout).toMatch(/actions +any/);
    expect((await store.baton(...sending, "--action", "thrown")).code).toBe(0);
    const both = await store.baton("handoff", "rules", "--action", "failed", "--any-action");
    expect(both.code).toBe(64);
  });
});
