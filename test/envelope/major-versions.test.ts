/**
 * Migration to a new major version, tested with an envelope version 2.0 that exists in tests only:
 * old and new hubs read what is sent during the migration period, and a line between them loses
 * nothing.
 */
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import * as fc from "fast-check";
import { describe, expect, it, onTestFinished } from "vitest";
import { deprecationsIn } from "../../src/envelope/deprecations.ts";
import {
  DEFAULT_VERSIONS,
  type EnvelopeForm,
  EnvelopeVersions,
} from "../../src/envelope/versions.ts";
import {
  type Agent,
  ENVELOPE_VERSION,
  type Envelope,
  type Hub,
  type HubOptions,
  type Sent,
} from "../../src/index.ts";
import { VirtualClock } from "../../src/testing/index.ts";
import { hubOn, sharedStore } from "../support/hub/shared-store.ts";
import { refusal, STORES, type StoreName, sha256, take } from "../support/hub/support.ts";
import { storedEnvelopes } from "../support/later-minor.ts";
import { chosenSeed } from "../support/random.ts";
import { runs } from "../support/runs.ts";
import { MIGRATED, MIGRATING, SAYS_AUDIENCE, STEP } from "../support/version-two.ts";

const DRAFT = {
  to: "ben",
  task: "t",
  intent: "Make logins safe",
  state: "Half of it is done.\nThe rest is hard.",
  doNotRedo: ["the survey"],
  constraints: [{ rule: "No new dependencies", id: "deps", level: "must" as const }],
  decisions: ["RS256 or EdDSA?"],
  expects: [{ name: "patch", type: "code", criteria: ["tests pass"] }],
  payload: { type: "patch-request", data: { files: ["src/auth.ts"] } },
};

/** The same content in version 2.0. */
const IN_TWO = {
  goal: "Make logins safe",
  headline: "Half of it is done.",
  details: "The rest is hard.",
  doNotRedo: ["the survey"],
  constraints: [{ text: "No new dependencies", id: "deps", level: "must" }],
};

/** Opens hubs of these versions on one store, as if each ran in its own process. */
async function hubs(store: StoreName, ...versions: readonly EnvelopeVersions[]): Promise<Hub[]> {
  const clock = new VirtualClock();
  const reopen = sharedStore(store, { clock });
  const made: Hub[] = [];
  for (const each of versions)
    made.push(await hubOn(store, await reopen(), { clock, versions: each } as HubOptions));
  return made;
}

const formsIn = async (hub: Hub): Promise<EnvelopeForm[]> =>
  (await storedEnvelopes(hub)).map(({ text }) => JSON.parse(text) as EnvelopeForm);

describe.each(STORES)("a handoff during the migration period on %s", (store) => {
  it("is stored in the new form with its differences from the old form, under one digest [ENV-7]", async () => {
    const [hub] = (await hubs(store, MIGRATING)) as [Hub];
    const ada = await hub.agent("ada", {});
    await hub.agent("ben", {});
    const sent = await ada.handoff(DRAFT);
    const [stored] = await storedEnvelopes(hub);
    const form = JSON.parse(stored?.text ?? "") as EnvelopeForm;
    expect(form).toMatchObject({ ...IN_TWO, version: "2.0" });
    expect(form).not.toHaveProperty("intent");
    expect(form).not.toHaveProperty("state");
    expect(form["forms"]).toEqual([
      {
        version: "1.0",
        with: {
          constraints: DRAFT.constraints,
          intent: DRAFT.intent,
          state: DRAFT.state,
          version: "1.0",
        },
        without: ["details", "goal", "headline"],
      },
    ]);
    expect(sha256(stored?.text ?? "")).toBe(sent.digest);
    expect((await hub.verify()).problems).toEqual([]);
  });

  it("can be listed, accepted and completed by an old hub [ENV-7]", async () => {
    const [newer, old] = (await hubs(store, SAYS_AUDIENCE, DEFAULT_VERSIONS)) as [Hub, Hub];
    const ada = await newer.agent("ada", {});
    const ben = await old.agent("ben", {});
    await ada.handoff({ ...DRAFT, receipt: true });
    const {
      task: _task,
      to: _to,
      ...said
    } = { ...DRAFT, decisions: undefined, expects: undefined };
    const [waiting] = (await ben.deliveries.waiting()).items;
    expect(waiting?.envelope).toMatchObject(JSON.parse(JSON.stringify(said)));
    expect(waiting?.envelope).toMatchObject({ audience: ["mobile"], version: "1.0" });
    expect((await ben.catchUp()).text).toContain(DRAFT.intent);
    expect(await refusal(ben.accept())).toMatchObject({ code: "receipt_required" });
    const work = await take(ben, {
      receipt: { goal: "safe logins", firstStep: "look", constraints: ["deps"] },
    });
    expect(await refusal(work.complete())).toMatchObject({ code: "invalid_result" });
    await work.complete({ outputs: { patch: "+1" }, criteria: { patch: ["tests pass"] } });
    expect((await old.verify()).problems).toEqual([]);
  });

  it("can be read in the new form when an old hub sent it [ENV-7]", async () => {
    const [newer, old] = (await hubs(store, MIGRATING, DEFAULT_VERSIONS)) as [Hub, Hub];
    const ada = await old.agent("ada", {});
    const ben = await newer.agent("ben", {});
    await ada.handoff(DRAFT);
    const work = await take(ben);
    expect(work.envelope).toMatchObject({ intent: DRAFT.intent, state: DRAFT.state });
    const [stored] = await formsIn(newer);
    expect(stored).toMatchObject({ version: ENVELOPE_VERSION, intent: DRAFT.intent });
    expect(MIGRATING.inMajor(stored ?? {}, 2, work.envelope.id)).toMatchObject({
      ...IN_TWO,
      version: "2.0",
    });
  });

  it("loses nothing along a line of new, old, new, old and new hubs [ENV-7]", async () => {
    const [first, ...others] = await hubs(
      store,
      ...[SAYS_AUDIENCE, DEFAULT_VERSIONS, MIGRATING, DEFAULT_VERSIONS, MIGRATING],
    );
    const names = ["ada", "ben", "cyd", "dan", "eve"];
    const ada = await (first as Hub).agent("ada", {});
    const agents: Agent[] = [];
    for (const [i, hub] of others.entries()) agents.push(await hub.agent(names[i + 1] ?? "", {}));
    const { to: _, ...said } = DRAFT;
    let sent = (await ada.handoff(DRAFT)) as Sent<object>;
    for (const [i, agent] of agents.entries()) {
      const work = await take(agent);
      const { state, doNotRedo, constraints } = work.envelope as Envelope;
      expect(state).toBe(said.state);
      expect(doNotRedo).toEqual(said.doNotRedo);
      expect(constraints).toEqual(said.constraints);
      const to = names[i + 2];
      if (to === undefined) {
        expect(work.envelope).toMatchObject({ ...said, decisions: [{}], audience: ["mobile"] });
        await work.complete({ outputs: { patch: "+1" }, criteria: { patch: ["tests pass"] } });
        break;
      }
      const completes = { outputs: { patch: "+1" }, criteria: { patch: ["tests pass"] } };
      const onward = { ...said, task: undefined, state, doNotRedo, constraints, to };
      sent = (await work.handoff(onward, { completes })) as Sent<object>;
    }
    expect(sent.envelope.hop).toBe(3);
    const hub = others[0] as Hub;
    const forms = await formsIn(hub);
    expect(forms.map(({ version }) => version)).toEqual(["2.0", "1.0", "2.0", "1.0"]);
    for (const form of forms) expect(form).toMatchObject({ audience: ["mobile"] });
    for (const form of [forms[0], forms[2]]) expect(form).toMatchObject(IN_TWO);
    for (const each of others) expect((await each.verify()).problems).toEqual([]);
  });

  it("can be answered and redacted by an old and by a new hub [ENV-7]", async () => {
    const versions = [SAYS_AUDIENCE, MIGRATING, DEFAULT_VERSIONS];
    const [sender, newer, old] = (await hubs(store, ...versions)) as [Hub, Hub, Hub];
    const ada = await sender.agent("ada", {});
    for (const hub of [old, newer]) {
      const [ben, task] = [await hub.agent("ben", {}), `by the ${hub === old ? "old" : "new"} hub`];
      const sent = await ada.handoff({ ...DRAFT, task });
      await (await take(ben, { task })).clarify("How?");
      await (await hub.agent("ada")).questions.answer(sent.id, "Well.");
      const work = await take(ben, { task });
      expect(work.envelope).toMatchObject({
        ...{ intent: DRAFT.intent, state: DRAFT.state, doNotRedo: DRAFT.doNotRedo },
        audience: ["mobile"],
        history: [{ decided: "Well." }],
      });
      await ben.memories.redact({ ids: [work.envelope.id] }, "enough");
      for (const reader of [old, newer]) {
        const redacted = (await reader.tasks.line(task)).at(-1)?.envelope;
        expect(redacted).toMatchObject({
          redacted: { by: "ben", reason: "enough" },
          doNotRedo: [],
        });
        expect(redacted).not.toHaveProperty("audience");
        expect((await reader.verify()).problems).toEqual([]);
      }
    }
  });
});

describe.each(STORES)("an old hub after the migration period on %s", (store) => {
  it("refuses a handoff that it cannot read and leaves it to other hubs [ENV-7]", async () => {
    const [newer, old] = (await hubs(store, MIGRATED, DEFAULT_VERSIONS)) as [Hub, Hub];
    const ada = await newer.agent("ada", {});
    await newer.agent("ben", {});
    const sent = await ada.handoff(DRAFT);
    const [form] = await formsIn(newer);
    expect(form).not.toHaveProperty("forms");
    const late = await old.agent("ben");
    const attempts: readonly (() => Promise<unknown>)[] = [
      () => late.accept(),
      () => late.deliveries.waiting(),
      () => old.tasks.line("t"),
      () => old.deliveries.get(sent.id),
    ];
    for (const attempt of attempts) {
      expect(await refusal(attempt())).toMatchObject({
        code: "unsupported_version",
        path: sent.envelope.id,
        details: { version: "2.0", known: "1.x" },
        hint: expect.stringContaining("Upgrade Baton"),
      });
    }
    const caughtUp = await late.catchUp();
    expect(caughtUp.text).toContain("This version of Baton cannot read it.");
    const report = await late.memories.redact({ text: "Make logins safe" }, "no");
    expect(report.left).toContainEqual({
      kind: "envelope",
      id: sent.envelope.id,
      why: "version",
    });
    for await (const offer of late.inbox({ wait: false })) {
      await offer.release();
      break;
    }
    const work = await take(await newer.agent("ben"));
    expect(work.id).toBe(sent.id);
    expect(work.envelope).toMatchObject({ intent: DRAFT.intent, state: DRAFT.state });
    expect((await old.verify()).problems).toEqual([]);
  });

  it("delivers later handoffs after one that it cannot read [ENV-7]", async () => {
    const [newer, old] = (await hubs(store, MIGRATED, DEFAULT_VERSIONS)) as [Hub, Hub];
    const ada = await newer.agent("ada", {});
    const eve = await old.agent("eve", {});
    const ben = await old.agent("ben", {});
    const unread = await ada.handoff({ to: "ben", task: "new", intent: "In 2.0" });
    const sent = await eve.handoff({ to: "ben", task: "old", intent: "In 1.0" });
    const messages: unknown[] = [];
    const listen = (message: unknown): void => void messages.push(message);
    subscribe("batonpass:envelope:unread", listen);
    onTestFinished(() => void unsubscribe("batonpass:envelope:unread", listen));
    expect((await ben.deliveries.waiting()).items.map(({ delivery }) => delivery.id)).toEqual([
      sent.id,
    ]);
    expect(messages).toMatchObject([
      { delivery: unread.id, error: { code: "unsupported_version" } },
    ]);
    const work = await take(ben);
    expect(work.id).toBe(sent.id);
    await work.complete();
    expect(await refusal(ben.accept())).toMatchObject({ code: "unsupported_version" });
    expect((await take(await newer.agent("ben"))).id).toBe(unread.id);
  });
});

describe("reading an envelope version", () => {
  const read = (form: object) => () => DEFAULT_VERSIONS.read(form as EnvelopeForm, "env_1");

  it.each(["3.0", "0.9", "1", "one", "1.01", "", 1.1, null, undefined])(
    "refuses version %j [ENV-7]",
    (version) => {
      expect(read({ version })).toThrow(expect.objectContaining({ code: "unsupported_version" }));
    },
  );

  it("accepts any minor version of a known major version [ENV-7]", () => {
    for (const version of ["1.0", "1.1", "1.999"]) expect(read({ version })()).toEqual({ version });
  });

  it.each([null, 1, {}, { with: {} }, { with: null, without: [] }, { with: {}, without: 5 }])(
    "refuses a malformed form such as %j [ENV-7]",
    (form) => {
      expect(read({ version: "2.0", forms: [form] })).toThrow(
        expect.objectContaining({ code: "unsupported_version" }),
      );
    },
  );

  it("refuses a form with another task, receiver or hop [ENV-7]", () => {
    const older = { version: "1.0", intent: "Go" };
    const form = (said: object) => ({
      ...{ version: "2.0", id: "env_1", task: "t" },
      forms: [{ version: "1.0", with: { ...older, ...said }, without: [] }],
    });
    expect(DEFAULT_VERSIONS.inMajor(form({}), 1, "env_1")).toMatchObject({ ...older, task: "t" });
    for (const said of [{ task: "u" }, { to: { kind: "agent", agent: "eve" } }, { hop: 9 }]) {
      expect(() => DEFAULT_VERSIONS.inMajor(form(said), 1, "env_1")).toThrow(
        expect.objectContaining({ code: "unsupported_version" }),
      );
    }
  });

  it("ignores forms that were not made by the writer [ENV-7]", () => {
    const forms = [{ version: "1.0", with: { intent: "Stop" }, without: [] }];
    const sent = { version: "1.0", intent: "Go", id: "env_1", forms } as unknown as Envelope;
    expect(MIGRATED.write(sent)).not.toHaveProperty("forms");
    expect(DEFAULT_VERSIONS.inMajor(MIGRATING.write(sent), 1, "env_1")).toMatchObject({
      intent: "Go",
    });
  });

  it("refuses a form without the fields that its version requires [ENV-7]", () => {
    const form = { version: "2.0", forms: [{ version: "1.0", with: {}, without: [] }] };
    expect(read(form)).toThrow(expect.objectContaining({ code: "unsupported_version" }));
  });
});

describe("version converters", () => {
  const text = fc.string({ minLength: 1, maxLength: 8 });
  const plain = fc.oneof(text, fc.integer(), fc.boolean(), fc.constant(null));
  const value = fc.oneof(plain, fc.array(plain, { maxLength: 2 }), fc.record({ deep: plain }));
  const texts = fc.array(text, { maxLength: 3 });
  const item = (name: string) =>
    fc.record(
      { id: text, [name]: text, note: value },
      {
        requiredKeys: ["id", name],
      },
    );
  const frame = { id: fc.constant("env_1"), task: text, hop: fc.nat(), parents: texts };
  /** Custom fields with names that neither version uses. */
  const unknown = fc.dictionary(fc.stringMatching(/^x-[a-z]{1,6}$/), value, {
    maxKeys: 3,
  });

  const one = fc
    .tuple(
      unknown,
      fc.record({
        ...frame,
        intent: text,
        doNotRedo: texts,
        constraints: fc.array(item("rule"), { maxLength: 3 }),
      }),
      fc.record({ state: text, audience: texts, payload: value }, { requiredKeys: [] }),
    )
    .map((parts): EnvelopeForm => Object.assign({}, ...parts));

  const two = fc
    .tuple(
      unknown,
      fc.record({
        ...frame,
        goal: text,
        constraints: fc.array(item("text"), { maxLength: 3 }),
      }),
      fc.record(
        { audience: texts, payload: value, doNotRedo: fc.array(text, { minLength: 1 }) },
        { requiredKeys: [] },
      ),
      fc.option(
        fc
          .tuple(fc.stringMatching(/^[^\n]{0,9}$/), fc.option(fc.string(), { nil: undefined }))
          .map(([headline, details]) => ({ headline, ...(details !== undefined && { details }) })),
        { nil: {} },
      ),
    )
    .map((parts): EnvelopeForm => Object.assign({}, ...parts));

  const hold = (forms: fc.Arbitrary<EnvelopeForm>, check: (form: EnvelopeForm) => void): void => {
    void fc.assert(fc.property(forms, check), { numRuns: runs(100), seed: chosenSeed() });
  };

  it("keep an old envelope unchanged when converting up and down [ENV-7]", () => {
    hold(one, (form) => void expect(STEP.down(STEP.up(form))).toEqual(form));
  });

  it("keep a new envelope unchanged when converting down and up [ENV-7]", () => {
    hold(two, (form) => void expect(STEP.up(STEP.down(form))).toEqual(form));
  });

  it("give an old reader and a new one the same old form [ENV-7]", () => {
    hold(two, (form) => {
      const older = { ...STEP.down(form), version: "1.0" } as unknown as Envelope;
      const written = MIGRATING.write(older);
      expect(DEFAULT_VERSIONS.inMajor(written, 1, "env_1")).toEqual(older);
      expect(MIGRATING.inMajor(written, 1, "env_1")).toEqual(older);
      expect(MIGRATING.inMajor(written, 2, "env_1")).toEqual({ ...form, version: "2.0" });
    });
  });

  it("throw when they change a field that stores rely on [ENV-7]", () => {
    const careless = new EnvelopeVersions({
      steps: [{ ...STEP, up: ({ task: _, ...form }) => form }],
      writes: "2.0",
    });
    const envelope = { id: "env_1", task: "t", version: "1.0" } as unknown as Envelope;
    expect(() => careless.write(envelope)).toThrow("a converter changed task");
  });

  it("convert over several major versions, with a form for each [ENV-7]", () => {
    const next = {
      from: 2,
      to: 3,
      up: ({ goal, ...form }: EnvelopeForm): EnvelopeForm => ({ ...form, aim: goal }),
      down: ({ aim, ...form }: EnvelopeForm): EnvelopeForm => ({ ...form, goal: aim }),
    };
    const three = new EnvelopeVersions({
      steps: [STEP, next],
      writes: "3.0",
      alongside: ["2.0", "1.0"],
    });
    hold(two, (form) => {
      const older = { ...STEP.down(form), version: "1.0" } as unknown as Envelope;
      const written = three.write(older);
      expect(written).toMatchObject({ version: "3.0", aim: form["goal"] });
      for (const reader of [DEFAULT_VERSIONS, MIGRATED, three]) {
        expect(reader.inMajor(written, 1, "env_1")).toEqual(older);
      }
      expect(MIGRATED.inMajor(written, 2, "env_1")).toEqual({ ...form, version: "2.0" });
    });
  });
});

describe("deprecated fields", () => {
  it("are reported to the sender with path, version and replacement [ENV-7]", async () => {
    const [hub] = (await hubs("memory", MIGRATING)) as [Hub];
    const ada = await hub.agent("ada", {});
    await hub.agent("ben", {});
    const sent = await ada.handoff(DRAFT);
    expect(sent.deprecated).toEqual([
      { path: "intent", since: "2.0", use: "goal" },
      { path: "constraints[0].rule", since: "2.0", use: "constraints[].text" },
      { path: "state", since: "2.0", use: "headline and details" },
      { path: "doNotRedo", since: "2.0", use: "done" },
    ]);
    const short = await ada.handoff({ to: "ben", intent: "Go" });
    expect(short.deprecated.map(({ path }) => path)).toEqual(["intent"]);
    expect(deprecationsIn({ to: "ben", intent: "Go", doNotRedo: [] }, MIGRATING)).toEqual([
      { path: "intent", since: "2.0", use: "goal" },
    ]);
  });

  it("can be deprecated by a minor version; none is so far [ENV-7]", () => {
    const since = { path: "history[].why", since: "1.1", use: "history[].decided" };
    const versions = new EnvelopeVersions({ deprecated: [since] });
    const history = [
      { agent: "ada", did: "it" },
      { agent: "ada", did: "it", why: "so" },
    ];
    expect(deprecationsIn({ history }, versions)).toEqual([{ ...since, path: "history[1].why" }]);
    expect(DEFAULT_VERSIONS.deprecated).toEqual([]);
  });
});
