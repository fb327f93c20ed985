/**
 * Envelope versions: fields that later versions add are kept, and envelopes of older versions stay
 * readable.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { EnvelopeSchema } from "../../src/envelope/schema.ts";
import { reseal } from "../../src/envelope/seal.ts";
import { unknownFields } from "../../src/envelope/unknown-fields.ts";
import { DEFAULT_VERSIONS, type EnvelopeVersions } from "../../src/envelope/versions.ts";
import {
  type Agent,
  DEFAULT_LIMITS,
  type Draft,
  ENVELOPE_VERSION,
  ENVELOPE_VERSIONS,
  type Envelope,
  envelopeJsonSchema,
  type Hub,
  type Receipt,
  type Work,
} from "../../src/index.ts";
import { parseEnvelope } from "../../src/store/parse-envelope.ts";
import { VirtualClock } from "../../src/testing/index.ts";
import { hubOn, sharedStore } from "../support/hub/shared-store.ts";
import {
  canonical,
  openFresh,
  refusal,
  STORES,
  type StoreName,
  sha256,
  take,
} from "../support/hub/support.ts";
import { LATER, LATER_MINOR, storedEnvelopes } from "../support/later-minor.ts";
import { MIGRATED, MIGRATING } from "../support/version-two.ts";

const DRAFT = {
  to: "ben",
  task: "t",
  intent: "Go",
  constraints: [{ rule: "Slowly", id: "slowly", level: "must" as const }],
  decisions: ["Where to?"],
  history: [{ agent: "ada", did: "looked" }],
};

/** Opens a hub whose senders use version 1.7, and one of the current version on the same store. */
async function mixedTeam(store: StoreName) {
  const clock = new VirtualClock();
  const reopen = sharedStore(store, { clock });
  const later = await hubOn(store, await reopen(), { clock, versions: LATER_MINOR });
  const hub = await hubOn(store, await reopen(), { clock });
  const ada = await later.agent("ada", {});
  const [ben, cyd, lead] = await Promise.all([
    hub.agent("ben", {}),
    hub.agent("cyd", {}),
    hub.agent("lead", { role: "coordinator" }),
  ]);
  const plan = await ada.remember({ type: "plan", content: "The plan." });
  const draft = { ...DRAFT, refs: [plan.id] };
  return { clock, hub, later, ada, ben, cyd, lead, draft };
}

type Team = Awaited<ReturnType<typeof mixedTeam>>;

const newest = async (hub: Hub, task = "t"): Promise<Envelope | undefined> =>
  (await hub.tasks.line(task)).at(-1)?.envelope;

/** The ways in which an envelope continues in a new one; each returns the new envelope. */
const WAYS: Readonly<Record<string, (team: Team) => Promise<Envelope | undefined>>> = {
  async "handed on"({ hub, ada, ben, draft }) {
    await ada.handoff(draft);
    await (await take(ben)).handoff({ to: "cyd", intent: "Go on" });
    return newest(hub);
  },
  async "extended by its sender"({ hub, ada, ben, draft }) {
    await ada.handoff(draft);
    await take(ben);
    const today = await hub.agent("ada");
    await today.handoff({ ...draft, next: ["And this"] });
    return newest(hub);
  },
  async reconstructed({ clock, hub, ada, ben, draft }) {
    await ada.handoff(draft);
    await (await take(ben)).note("Half of it is done.");
    clock.advance(60_000);
    await hub.deliveries.runDue();
    return newest(hub);
  },
  async "edited by a person"({ hub, ada, ben, draft }) {
    const sent = await ada.handoff(draft);
    await ben.approvals.edit(sent.id, { next: ["Another way"] });
    return newest(hub);
  },
  async "redriven with changes"({ hub, ada, ben, draft }) {
    const sent = await ada.handoff(draft);
    await (await take(ben)).fail({ message: "no", class: "permanent" });
    await ben.deadLetters.redrive(sent.id, { next: ["Again"] });
    return newest(hub);
  },
  async answered({ hub, ada, ben, draft }) {
    const sent = await ada.handoff(draft);
    await (await take(ben)).clarify("How?");
    await (await hub.agent("ada")).questions.answer(sent.id, "Well.");
    return newest(hub);
  },
  async "opened as a join"({ hub, ada, ben, cyd, draft }) {
    const part = await cyd.handoff({ to: "ben", task: "part", intent: "First" });
    await ada.handoffs.join([part], { ...draft, to: "cyd" });
    await (await take(ben)).complete();
    return newest(hub);
  },
  async "replayed to a late subscriber"({ hub, later, ada, ben, cyd, draft }) {
    await later.channels.set("news");
    await cyd.channels.subscribe("news");
    const { to: _, ...said } = draft;
    await ada.channels.publish("news", said);
    await ben.channels.subscribe("news", { from: "start" });
    return newest(hub);
  },
  async escalated({ hub, ada, ben, lead, draft }) {
    await ada.handoff({ ...draft, policy: { exhausted: "escalate" } });
    await (await take(ben)).fail({ message: "no", class: "permanent" });
    const escalated = await take(lead);
    return newest(hub, escalated.delivery.task);
  },
};

/** Returns the field that the later version added to each item. */
const weighed = (envelope: Envelope | undefined, list: "constraints" | "history" | "refs") =>
  (envelope?.[list] ?? []).map((item) => (item as { weight?: number }).weight);

describe.each(STORES)("an envelope of a later minor version on %s", (store) => {
  it("is read with all its fields, known or not, and a valid digest [ENV-7]", async () => {
    const { hub, ada, ben, draft } = await mixedTeam(store);
    const sent = await ada.handoff(draft);
    const [waiting] = (await ben.deliveries.waiting()).items;
    const work = await take(ben);
    const [stored] = await storedEnvelopes(hub);
    expect(sha256(stored?.text ?? "")).toBe(sent.digest);
    expect(work.envelope).toEqual(JSON.parse(stored?.text ?? ""));
    expect(work.envelope).toMatchObject({ ...LATER, version: "1.7", intent: "Go" });
    expect(weighed(work.envelope as Envelope, "constraints")).toEqual([3]);
    expect(waiting?.envelope).toEqual(work.envelope);
    expect((await hub.deliveries.get(sent.id)).envelope).toEqual(work.envelope);
    expect((await hub.verify()).problems).toEqual([]);
    expect(await work.complete()).toMatchObject({ kind: "settled" });
  });

  it.each(Object.entries(WAYS))("keeps unknown fields when it is %s [ENV-7]", async (_, go) => {
    const team = await mixedTeam(store);
    const next = await go(team);
    expect(next?.version).toBe(ENVELOPE_VERSION);
    expect(unknownFields(next as Envelope)).toEqual(LATER);
    expect((await team.hub.verify()).problems).toEqual([]);
  });

  const copying = ["reconstructed", "edited by a person", "redriven with changes", "answered"];

  it.each([...copying, "handed on"])(
    "keeps unknown fields of copied items when it is %s [ENV-7]",
    async (way) => {
      const next = await WAYS[way]?.(await mixedTeam(store));
      expect(weighed(next, "constraints")).toEqual([3]);
      const isCopied = copying.includes(way); // An agent that hands on writes its own history.
      expect(weighed(next, "history")[0]).toBe(isCopied ? 3 : undefined);
      expect(weighed(next, "refs")[0]).toBe(isCopied ? 3 : undefined);
    },
  );

  it("passes unknown fields on through a join [ENV-7]", async () => {
    const { hub, ada, ben, cyd, draft } = await mixedTeam(store);
    const part = await ada.handoff(draft);
    await cyd.handoffs.join([part], { to: "cyd", task: "whole", intent: "Put it together" });
    await (await take(ben)).complete();
    expect(unknownFields((await newest(hub, "whole")) as Envelope)).toEqual(LATER);
  });

  it.each(["first", "last"])(
    "passes unknown fields of the %s of several lines on through a join [ENV-7]",
    async (place) => {
      const { hub, ada, ben, cyd, draft } = await mixedTeam(store);
      const known = await cyd.handoff({ to: "ben", task: "known", intent: "Plain" });
      const later = await ada.handoff(draft);
      const lines = place === "first" ? [later, known] : [known, later];
      await cyd.handoffs.join(lines, { to: "cyd", task: "whole", intent: "Put it together" });
      for (const task of ["known", "t"]) await (await take(ben, { task })).complete();
      expect(unknownFields((await newest(hub, "whole")) as Envelope)).toEqual(LATER);
    },
  );

  it("keeps unknown fields of an open handoff when work without them is handed on into it [ENV-7]", async () => {
    const { hub, later, ben, cyd } = await mixedTeam(store);
    const root = await cyd.handoff({ to: "ben", task: "t", intent: "Plain" });
    const work = await take(ben);
    const parents = [root.envelope.id];
    await (await later.agent("ben")).handoff({ to: "cyd", task: "t", intent: "Go on", parents });
    const sent = await work.handoff({ to: "cyd", state: "Done" });
    expect(sent).toMatchObject({ kind: "sent", joined: "superseded" });
    expect(unknownFields((await newest(hub)) as Envelope)).toEqual(LATER);
  });

  it("lets the receiver repeat its items unchanged, but refuses other unknown fields [ENV-7]", async () => {
    const { ada, ben, draft } = await mixedTeam(store);
    await ada.handoff(draft);
    const work = await take(ben);
    const { constraints, decisions, history, refs } = work.envelope;
    const repeated = structuredClone({ constraints, decisions, history });
    const onward = { to: "cyd", intent: "Go on", ...repeated };
    const [first] = constraints;
    const changed = { ...onward, constraints: [{ ...first, weight: 4 }] } as unknown as Draft;
    const made = { ...onward, constraints: [{ rule: "Mine", weight: 3 }] } as unknown as Draft;
    for (const mistaken of [changed, made, { ...onward, tone: "calm" } as Draft]) {
      expect(await refusal(work.handoff(mistaken))).toMatchObject({ code: "invalid_envelope" });
    }
    const cited = refs.map(({ digest: _, ...ref }) => ref);
    const sent = await work.handoff({ ...onward, refs: cited });
    const { envelope } = sent as { readonly envelope: Envelope };
    expect(envelope).toMatchObject({ ...repeated, ...LATER, hop: 1 });
    expect(weighed(envelope, "refs")).toEqual([3]);
  });

  it("does not interpret unknown fields that contain names of known ones [ENV-7]", async () => {
    const { hub, ada, ben, draft } = await mixedTeam(store);
    await ada.handoff({ ...draft, expects: [{ name: "patch", type: "code" }] });
    const work = await take(ben); // No receipt is required.
    await work.note("On the trunk.");
    expect(await refusal(work.complete())).toMatchObject({ code: "invalid_result" });
    await work.complete({ outputs: { patch: "+1" } });
    expect((await hub.memories.recent({ type: "step" })).items.map(({ branch }) => branch)).toEqual(
      ["main"],
    );
  });

  it("is redacted with its unknown fields [ENV-7]", async () => {
    const { hub, later, ada, ben, draft } = await mixedTeam(store);
    const sent = await ada.handoff(draft);
    const report = await ben.memories.redact({ text: "the tall one" }, "a nickname");
    expect(report.erased).toContainEqual({ kind: "envelope", id: sent.envelope.id });
    const { text } = (await storedEnvelopes(hub)).at(-1) ?? { text: "" };
    expect(text).not.toContain("the tall one");
    expect(text).not.toContain("calm");
    for (const reader of [hub, later]) {
      expect((await newest(reader))?.redacted).toMatchObject({ by: "ben" });
    }
    expect((await hub.verify()).problems).toEqual([]);
  });
});

const FIXTURES = join(import.meta.dirname, "..", "fixtures", "envelopes");

const fixturesOf = (version: string): readonly (readonly [name: string, text: string])[] =>
  readdirSync(join(FIXTURES, version))
    .filter((name) => name.endsWith(".json"))
    .map((name) => [name, readFileSync(join(FIXTURES, version, name), "utf8")] as const);

const sumsOf = (version: string): ReadonlyMap<string, string> =>
  new Map(
    readFileSync(join(FIXTURES, version, "SHA256SUMS"), "utf8")
      .trimEnd()
      .split("\n")
      .map((line) => line.split("  "))
      .map(([sum = "", name = ""]) => [name, sum]),
  );

describe("unknown fields", () => {
  it("are found in any number [ENV-7]", () => {
    const many = Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => [`f${i}`, i]));
    expect(Object.keys(unknownFields({ ...many, intent: "Go" }))).toEqual(Object.keys(many));
  });
});

describe("envelope fixtures", () => {
  it("exist for every released version and for no other [ENV-7]", () => {
    const folders = readdirSync(FIXTURES, { withFileTypes: true });
    const versions = folders.filter((entry) => entry.isDirectory()).map(({ name }) => name);
    expect(versions.sort()).toEqual([...ENVELOPE_VERSIONS].sort());
  });

  describe.each(ENVELOPE_VERSIONS)("of version %s", (version) => {
    const fixtures = fixturesOf(version);

    it("match their checksums and are canonical [ENV-7]", () => {
      const sums = sumsOf(version);
      expect([...sums.keys()].sort()).toEqual(fixtures.map(([name]) => name).sort());
      for (const [name, text] of fixtures) {
        expect(sha256(text), name).toBe(sums.get(name));
        expect(canonical(JSON.parse(text)), name).toBe(text);
        expect(JSON.parse(text).version, name).toBe(version);
      }
    });

    it("contain every field of the schema, nested ones included [ENV-7]", () => {
      const said = new Set(fixtures.flatMap(([, text]) => pathsIn(JSON.parse(text))));
      const fields = fieldsOf(envelopeJsonSchema(version));
      expect(fields.length).toBeGreaterThan(60);
      expect(fields.filter((field) => !said.has(field))).toEqual([]);
    });

    it.each(fixtures)("%s is read with all its fields [ENV-7]", (name, text) => {
      const envelope = parseEnvelope({ versions: DEFAULT_VERSIONS }, { id: name, text });
      expect(canonical(envelope)).toBe(text);
      expect(EnvelopeSchema.parse(envelope)).toEqual(envelope);
    });

    it.each(fixtures)(
      "%s is converted to the next major version and back without loss [ENV-7]",
      (name, text) => {
        const envelope = parseEnvelope({ versions: DEFAULT_VERSIONS }, { id: name, text });
        const written = MIGRATING.write(envelope);
        expect(written).toMatchObject({ version: "2.0", goal: envelope.intent });
        expect(written).not.toHaveProperty("intent");
        for (const reader of [DEFAULT_VERSIONS, MIGRATED]) {
          const read = parseEnvelope({ versions: reader }, { id: name, text: canonical(written) });
          expect(canonical(read)).toBe(text);
        }
      },
    );

    it.each(fixtures)("%s is resealed without loss [ENV-7]", (name, text) => {
      const from = parseEnvelope({ versions: DEFAULT_VERSIONS }, { id: name, text });
      const sealing = { limits: DEFAULT_LIMITS, versions: DEFAULT_VERSIONS };
      const changes = { id: from.id.replace(/.$/, "7"), parents: [from.id] };
      const next = reseal(from, changes, sealing);
      const { version: written, ...rest } = JSON.parse(next.text);
      const { version: _, ...before } = { ...from, ...changes };
      expect(written).toBe(ENVELOPE_VERSION);
      expect(rest).toEqual(before);
    });
  });
});

/** Returns the path of every field of a schema, such as `refs[].id`. */
function fieldsOf(schema: unknown, path = ""): string[] {
  const { properties, items, oneOf } = schema as {
    readonly properties?: object;
    readonly items?: unknown;
    readonly oneOf?: readonly unknown[];
  };
  if (items !== undefined) return fieldsOf(items, `${path}[]`);
  if (oneOf !== undefined) return oneOf.flatMap((each) => fieldsOf(each, path));
  return Object.entries(properties ?? {}).flatMap(([name, part]) => {
    const place = path === "" ? name : `${path}.${name}`;
    return [place, ...fieldsOf(part, place)];
  });
}

/** Returns the path of every field of a value in the same form. */
function pathsIn(value: unknown, path = ""): string[] {
  if (Array.isArray(value)) return value.flatMap((item) => pathsIn(item, `${path}[]`));
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, part]) => {
    const place = path === "" ? name : `${path}.${name}`;
    return [place, ...pathsIn(part, place)];
  });
}

const receiptOf = ({ intent, constraints }: Envelope): Receipt => ({
  goal: intent,
  firstStep: "look",
  constraints: constraints.filter(({ level }) => level === "must").map(({ id }) => id),
});

/** Completes all work, answers all questions and redrives dead letters until nothing is left. */
async function workOff(hub: Hub, agents: readonly Agent[]): Promise<readonly Work[]> {
  const done: Work[] = [];
  for (let idle = 0; idle < 2; ) {
    const before = done.length;
    await hub.deliveries.runDue();
    for (const agent of agents) {
      for (const { delivery } of await agent.questions.list())
        await agent.questions.answer(delivery.id, "Well.");
      for (;;) {
        const work = await agent.accept({ receipt: receiptOf });
        if (work === undefined) break;
        const names = work.envelope.expects.map(({ name, criteria }) => ({ name, criteria }));
        await work.complete({
          outputs: Object.fromEntries(names.map(({ name }) => [name, "+1"])),
          criteria: Object.fromEntries(names.map(({ name, criteria }) => [name, criteria])),
        });
        done.push(work);
      }
    }
    for (const { delivery } of (await hub.deadLetters.list()).items) {
      const { closed } = await hub.tasks.get(delivery.task);
      if (closed === undefined) await agents[0]?.deadLetters.redrive(delivery.id);
    }
    idle = done.length === before ? idle + 1 : 0;
  }
  return done;
}

const HUBS: readonly (readonly [name: string, versions: EnvelopeVersions, writes: string])[] = [
  ["the same version", DEFAULT_VERSIONS, ENVELOPE_VERSION],
  ["the next minor version", LATER_MINOR, "1.7"],
  ["the next major version", MIGRATING, "2.0"],
];

describe.each(STORES)("a store of version 1.0 on %s", (store) => {
  it.each(HUBS)(
    "can be worked through by a hub of %s without loss [ENV-7]",
    async (_, versions, writes) => {
      const text = readFileSync(join(FIXTURES, "1.0", "store.jsonl"), "utf8");
      const clock = new VirtualClock();
      const hub = await openFresh(store, { clock, versions });
      const { exportedAt } = await hub.archive.import([text]);
      clock.set(exportedAt + 120_000); // The leases have expired.
      const before = await storedEnvelopes(hub);
      const versionOf = (row: { readonly text: string }): string => JSON.parse(row.text).version;
      expect(new Set(before.map(versionOf))).toEqual(new Set(["1.0"]));
      const agents = await Promise.all(["ada", "ben", "cyd"].map((name) => hub.agent(name)));
      const done = await workOff(hub, agents);
      const tasks = ["minimal", "rich", "handed-on", "extended", "reconstructed", "joined"];
      tasks.push("joining", "awaited", "answered", "asked", "redriven", "dead", "role");
      tasks.push("published", "redacted", "held", "design", "queued");
      expect(done.map(({ delivery }) => delivery.task).sort()).toEqual(tasks.sort());
      const byTask = new Map(done.map((work) => [work.delivery.task, work.envelope as Envelope]));
      expect(byTask.get("held")).toMatchObject({
        reconstructed: { holder: "ben", notes: 1 },
        intent: "Hold it",
      });
      expect(byTask.get("joining")?.results).toHaveLength(1);
      expect(byTask.get("queued")?.results).toMatchObject([{ task: "design" }]);
      const states = ["design", "queued", "failed"].map(async (task) => {
        const { state } = await hub.tasks.get(task);
        return state;
      });
      expect(await Promise.all(states)).toEqual(["done", "done", "failed"]);
      const rich = fixturesOf("1.0").find(([name]) => name === "rich.json")?.[1] ?? "";
      expect(byTask.get("rich")).toEqual(JSON.parse(rich));
      const stored = await storedEnvelopes(hub);
      const after = new Map(stored.map((row) => [row.id, row.text]));
      for (const row of before) expect(after.get(row.id), row.task).toBe(row.text);
      const added = stored.slice(before.length);
      expect(new Set(added.map(versionOf))).toEqual(new Set([writes]));
      expect((await hub.verify()).problems).toEqual([]);
    },
  );
});
