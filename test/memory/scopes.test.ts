/**
 * Tests scopes: who may see a record is decided when it is written and applies to every way to
 * read it. READ_PATHS lists those ways; a new one needs one entry. The expected result comes from
 * READERS, a table that does not depend on the library.
 */
import { generateKeyPairSync } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { systemClock } from "../../src/base/clock.ts";
import {
  type Agent,
  DEFAULT_LIMITS,
  type Hub,
  LocalHub,
  type Memory,
  type Store,
} from "../../src/index.ts";
import { openPostgresStore } from "../../src/store/postgres/open.ts";
import { openSqliteStore } from "../../src/store/sqlite/open.ts";
import { VirtualClock } from "../../src/testing/index.ts";
import { openReferenceStore } from "../../store-contract/reference/open.ts";
import { servedBy } from "../support/hub/served.ts";
import { openFresh, refusal, STORES, type StoreName, take } from "../support/hub/support.ts";
import { testSchema } from "../support/postgres/schema.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const SCOPES = ["team", "agent", "session", "user"] as const;
type Scope = (typeof SCOPES)[number];

/** For each reader, the scopes in which it sees a record by `ada` in session `s-1` (owner olga). */
const READERS = {
  "the author in the same session": ["team", "agent", "session", "user"],
  "the author in another session": ["team", "agent", "user"],
  "another agent in the author's session": ["team", "session"],
  "another agent of the same owner": ["team", "user"],
  "another agent": ["team"],
  "the hub without an agent": ["team"],
} as const satisfies Record<string, readonly Scope[]>;
type ReaderName = keyof typeof READERS;

interface World {
  readonly hub: Hub;
  readonly author: Agent;
  readonly reader: Agent | undefined;
}

/** Opens one store for all tests; each read has its own workspace. */
async function openStore(store: StoreName): Promise<readonly [Store, () => Promise<void>]> {
  const [clock, limits] = [systemClock, DEFAULT_LIMITS];
  switch (store) {
    case "memory":
    case "http":
      return [openReferenceStore({ clock }), async () => {}];
    case "sqlite": {
      const folder = temporaryFolder();
      const opened = await openSqliteStore({ file: folder.file("hub.db"), clock, limits });
      return [opened, async () => folder[Symbol.dispose]()];
    }
    case "postgres": {
      const schema = testSchema();
      const opened = await openPostgresStore({ address: schema.address, limits, create: true });
      return [opened, async () => schema[Symbol.asyncDispose]()];
    }
  }
}

interface Place {
  readonly name: StoreName;
  readonly store: Store;
}

let worlds = 0;

async function worldOf({ name, store }: Place, reader: ReaderName): Promise<World> {
  const limits = { sqlMs: 60_000 }; // High, because the machine may be busy.
  const local = new LocalHub(store, { workspace: `world-${++worlds}`, limits });
  const hub = name === "http" ? await servedBy(local) : local;
  const session = { instance: "s-1" };
  const author = await hub.agent("ada", { owner: "olga", role: "writers" }, session);
  const agents: Record<ReaderName, () => Promise<Agent | undefined>> = {
    "the author in the same session": () => hub.agent("ada", undefined, session),
    "the author in another session": () => hub.agent("ada"),
    "another agent in the author's session": () => hub.agent("ben", {}, session),
    "another agent of the same owner": () => hub.agent("ben", { owner: "olga" }),
    "another agent": () => hub.agent("ben", { owner: "otto" }),
    "the hub without an agent": async () => undefined,
  };
  return { hub, author, reader: await agents[reader]() };
}

const ids = (memories: readonly Memory[]): string[] => memories.map(({ id }) => id);

/** Returns whether the attempt succeeded; an error with another code fails the test. */
async function unless(code: string, attempt: Promise<unknown>): Promise<boolean> {
  try {
    await attempt;
    return true;
  } catch (error) {
    expect(error).toMatchObject({ code });
    return false;
  }
}

type ReadPath = (world: World, secret: Memory, scope: Scope) => Promise<boolean>;

/** Wraps a read that only agents have; without an agent, only the team scope counts as seen. */
const byAgent =
  (read: (reader: Agent, secret: Memory, world: World) => Promise<boolean>): ReadPath =>
  async (world, secret, scope) =>
    world.reader === undefined ? scope === "team" : read(world.reader, secret, world);

/** Every way to read. An interface that returns records needs an entry here. */
const READ_PATHS: Readonly<Record<string, ReadPath>> = {
  "by its id": ({ hub, reader }, { id }) =>
    unless("unknown_memory", (reader ?? hub).memories.read(id)),
  "by its id with asOf": ({ hub, reader }, { id }) =>
    unless("unknown_memory", (reader ?? hub).memories.read(id, { asOf: Date.now() + 60_000 })),
  "among recent memories": async ({ hub, reader }, { id }) =>
    ids((await (reader ?? hub).memories.recent({})).items).includes(id),
  "by tag and task": async ({ hub, reader }, { id }) =>
    ids((await (reader ?? hub).memories.recent({ tag: "x", task: "auth" })).items).includes(id),
  "on a full page": async ({ hub, reader }, { id }) => {
    const page = (await (reader ?? hub).memories.recent({ type: "finding", limit: 2 })).items;
    expect(page, "private records leave no hole").toHaveLength(2);
    return ids(page).includes(id);
  },
  "as a cursor": ({ hub, reader }, { id }) =>
    unless("unknown_memory", (reader ?? hub).memories.recent({ after: id })),
  "by its outgoing relations": byAgent((reader, { id }) =>
    unless("unknown_memory", reader.memories.relations(id)),
  ),
  "through a record that points to it": byAgent(async (reader, secret, { author }) =>
    unless("unknown_memory", reader.memories.relations(await pointingTo(author, secret))),
  ),
  "by the incoming relations of its target": byAgent(async (reader, { id, refs = [] }) => {
    const edges = (await reader.memories.relations(refs[0] ?? "", { direction: "in", limit: 1 }))
      .items;
    return edges.some(({ source }) => source === id);
  }),
  "as a pin": byAgent(async (reader, { id }, { author }) => {
    await author.memories.pin(id);
    return ids(await reader.memories.pins()).includes(id);
  }),
  "by pinning it": byAgent((reader, { id }) => unless("unknown_memory", reader.memories.pin(id))),
  "in a catch-up": byAgent(async (reader) => (await reader.catchUp()).text.includes("secret")),
  "in a catch-up as a pin": byAgent(async (reader, { id }, { author }) => {
    await author.memories.pin(id);
    return (await reader.catchUp({ task: "other" })).text.includes("secret");
  }),
  "by referencing it": byAgent((reader, { id }) =>
    unless("dangling_reference", reader.remember({ content: "!", scope: "agent", refs: [id] })),
  ),
  "by relating to it": byAgent((reader, { id }) =>
    unless(
      "dangling_reference",
      reader.remember({
        content: "!",
        scope: "agent",
        relations: [{ kind: "supports", to: id }],
      }),
    ),
  ),
  "by referencing it in a handoff": byAgent((reader, { id }) =>
    unless("dangling_reference", handedToTheTeam(reader, id)),
  ),
  "through accepted work": byAgent(async (reader, { id }, { author }) => {
    await author.handoff({ to: reader.id, task: "read", intent: "Look at it" });
    const work = await take(reader, { task: "read" });
    return unless("unknown_memory", work.read(id));
  }),
  "by referencing it in a note": byAgent(async (reader, { id }, { author }) => {
    await author.handoff({ to: reader.id, task: "note", intent: "Look at it" });
    const work = await take(reader, { task: "note" });
    const noted = work.note({ content: "!", scope: "agent", refs: [id] });
    return unless("dangling_reference", noted);
  }),
  "on a branch created later": byAgent(async (reader, { id }) => {
    const branch = await reader.branches.create("try");
    return ids((await branch.memories.recent({})).items).includes(id);
  }),
  "by recall": async ({ hub, reader }, { id }) => {
    const { items: hits } = await (reader ?? hub).recall("secret", { meaning: false });
    return hits.some(({ memory }) => memory.id === id);
  },
  "by recall of a related memory": async ({ hub, reader }, { id }) => {
    const { items: hits } = await (reader ?? hub).recall("known", { meaning: false, limit: 50 });
    return hits.some(({ memory }) => memory.id === id);
  },
  "with SQL": async ({ hub, reader }, { id }) => {
    const { rows } = await (reader ?? hub).memories.sql(
      `select id from memories where id = '${id}'`,
    );
    return rows.length > 0;
  },
  "among recent memories with asOf": async ({ hub, reader }, { id }) =>
    ids((await (reader ?? hub).memories.recent({ asOf: Date.now() + 60_000 })).items).includes(id),
};

/** Writes a record of the same scope that points to another; returns its id. */
async function pointingTo(author: Agent, { id, scope }: Memory): Promise<string> {
  const relations = [{ kind: "supports" as const, to: id }];
  return (await author.remember({ content: "see there", relations, scope })).id;
}

/** Hands a reference to a role. `invisible_reference` passes: it is about the receiver only. */
async function handedToTheTeam(sender: Agent, id: string): Promise<void> {
  const draft = { to: "role:writers", task: "hand", intent: "Look at it", refs: [id] };
  await sender.handoff(draft).catch((error: { readonly code?: string }) => {
    if (error.code !== "invisible_reference") throw error;
  });
}

/** Writes one record of the scope, with two team records before it and one after it. */
async function secretOf(author: Agent, scope: Scope): Promise<Memory> {
  const [known] = await author.remember([
    { content: "known", type: "finding" },
    { content: "known too", type: "finding" },
  ]);
  const secret = await author.remember({
    content: "secret",
    refs: [known?.id ?? ""],
    relations: [{ kind: "derived-from", to: known?.id ?? "" }],
    scope,
    tags: ["x"],
    task: "auth",
    type: "finding",
  });
  await author.remember({
    content: "after",
    relations: [{ kind: "derived-from", to: known?.id ?? "" }],
  });
  return secret;
}

describe.each(STORES)("a scope on %s", (name) => {
  let store: Store;
  let dispose: () => Promise<void>;
  beforeAll(async () => {
    [store, dispose] = await openStore(name);
  });
  afterAll(async () => {
    await store.close();
    await dispose();
  });

  describe.each(Object.keys(READERS) as ReaderName[])("for %s", (reader) => {
    it.each(Object.entries(READ_PATHS))(
      "applies when a record is accessed %s [MEM-11]",
      async (_path, read) => {
        const seen = SCOPES.map(async (scope) => {
          const world = await worldOf({ name, store }, reader);
          const secret = await secretOf(world.author, scope);
          return (await read(world, secret, scope)) ? [scope] : [];
        });
        expect((await Promise.all(seen)).flat()).toEqual(READERS[reader]);
      },
    );
  });

  it("gives the same errors for a hidden record as for a missing one [MEM-11]", async () => {
    const { author, reader } = await worldOf({ name, store }, "another agent");
    const { id } = await secretOf(author, "agent");
    const none = "mem_01900000-0000-7000-8000-000000000000";
    const asks = [
      (of: string) => (reader as Agent).memories.read(of),
      (of: string) => (reader as Agent).memories.relations(of),
      (of: string) => (reader as Agent).memories.pin(of),
      (of: string) => (reader as Agent).handoff({ to: "ada", task: "t", intent: "i", refs: [of] }),
    ];
    for (const ask of asks) {
      const [hidden, missing] = [await refusal(ask(id)), await refusal(ask(none))];
      expect(hidden.message).toBe(missing.message.replaceAll(none, id));
      expect({ ...hidden.toJSON(), message: "", details: {} }).toEqual({
        ...missing.toJSON(),
        message: "",
        details: {},
      });
    }
  });

  it.each([
    ["agent", "ben", "invisible_reference"],
    ["agent", "ada", "invisible_reference"],
    ["session", "ada", "invisible_reference"],
    ["user", "ben", "invisible_reference"],
    ["user", "cyd", "invisible_reference"],
    ["user", "role:writers", "invisible_reference"],
    ["agent", "channel:news", "invisible_reference"],
    ["team", "cyd", "sent"],
    ["team", "role:writers", "sent"],
  ] as const)(
    "decides whether a %s memory can be handed to %s: %s [MEM-11]",
    async (scope, to, expected) => {
      const { hub, author } = await worldOf({ name, store }, "another agent of the same owner");
      await hub.agent("cyd", { owner: "otto" });
      await hub.channels.set("news");
      await (await hub.agent("ben")).channels.subscribe("news");
      const { id } = await secretOf(author, scope);
      const draft = { to, task: "t", intent: "Look", refs: [id] };
      const outcome = await author.handoff(draft).then(
        () => "sent",
        (error: { readonly code: string }) => error.code,
      );
      expect(outcome).toBe(expected);
      if (expected !== "sent") expect(await hub.tasks.line("t"), "nothing was sent").toEqual([]);
    },
  );

  /** For each scope, the scopes of the records that may reference a record of it. */
  const NAMED_BY = {
    team: ["team", "agent", "session", "user"],
    agent: ["agent"],
    session: ["agent", "session"],
    user: ["agent", "user"],
  } as const satisfies Record<Scope, readonly Scope[]>;

  it.each(SCOPES.flatMap((named) => SCOPES.map((naming) => [named, naming] as const)))(
    "lets a %s memory be referenced by a %s memory only if all its readers see it [MEM-11]",
    async (named, naming) => {
      const { hub, author } = await worldOf({ name, store }, "another agent");
      const { id } = await secretOf(author, named);
      await author.handoff({ to: "ada", task: "t", intent: "Note it" });
      const work = await take(author, { task: "t" });
      const expected = (NAMED_BY[named] as readonly Scope[]).includes(naming);
      const record = { content: "naming", scope: naming };
      const relation = (kind: "supersedes" | "corrects" | "supports") => ({
        relations: [{ kind, to: id }],
      });
      const before = await hub.verify();
      for (const [naming, path] of [
        [() => author.remember({ ...record, refs: [id] }), "refs[0]"],
        [() => author.remember({ ...record, ...relation("supersedes") }), "relations[0].to"],
        [() => author.remember({ ...record, ...relation("corrects") }), "relations[0].to"],
        [() => author.remember([{ content: "x" }, { ...record, refs: [id] }]), "[1].refs[0]"],
        [() => work.note({ ...record, refs: [id] }), "refs[0]"],
        [() => work.note({ ...record, ...relation("supports") }), "relations[0].to"],
      ] as const) {
        if (expected) await naming();
        else expect(await refusal(naming())).toMatchObject({ code: "invisible_reference", path });
      }
      if (!expected) expect(await hub.verify(), "nothing was written").toEqual(before);
    },
  );

  it("applies to references within one call [MEM-11]", async () => {
    const { author } = await worldOf({ name, store }, "another agent");
    const id = "mem_01900000-0000-7000-8000-000000000002";
    const both = [
      { id, content: "mine", scope: "agent" as const },
      { content: "!", refs: [id] },
    ];
    expect(await refusal(author.remember(both))).toMatchObject({
      code: "invisible_reference",
      path: "[1].refs[0]",
    });
  });

  it("hides pins of private records from other readers [MEM-11]", async () => {
    for (const scope of ["agent", "session", "user"] as const) {
      const { author, reader } = await worldOf({ name, store }, "another agent");
      const { id } = await secretOf(author, scope);
      await author.memories.pin(id);
      expect(ids(await author.memories.pins())).toEqual([id]);
      await author.memories.unpin(id);
      expect(await author.memories.pins()).toEqual([]);
      expect(
        JSON.stringify((await (reader as Agent).memories.recent({ limit: 100 })).items),
      ).not.toContain(id);
    }
  });

  it("hides a private record at which a branch starts [MEM-11]", async () => {
    const { hub, author, reader } = await worldOf({ name, store }, "another agent");
    const { id } = await author.remember({ content: "secret", scope: "agent" });
    const branch = await author.branches.create("try");
    expect(ids((await branch.memories.recent()).items)).toContain(id);
    const seen = [
      (await hub.branches.list()).items,
      (await (await (reader as Agent).branches.use("try")).memories.recent()).items,
    ];
    expect(JSON.stringify(seen)).not.toContain(id);
  });

  it("keeps a record's user when the owner of its author changes [MEM-11]", async () => {
    const { hub, author } = await worldOf({ name, store }, "another agent");
    const secret = await secretOf(author, "user");
    expect(secret).toMatchObject({ scope: "user", user: "olga" });
    await hub.agent("ada", { owner: "otto" });
    const ben = await hub.agent("ben", { owner: "otto" });
    expect((await refusal(ben.memories.read(secret.id))).code).toBe("unknown_memory");
    const lone = await hub.agent("lone", {});
    const error = await refusal(lone.remember({ content: "mine", scope: "user" }));
    expect(error).toMatchObject({ code: "invalid_memory", path: "scope" });
    expect(error.hint).toContain("owner");
  });

  it("hides private notes from the next holder [MEM-11]", async () => {
    const clock = new VirtualClock();
    const hub = await openFresh(name, { clock });
    const ada = await hub.agent("ada", {});
    const ben = await hub.agent("ben", { role: "crew" });
    const cyd = await hub.agent("cyd", { role: "crew" });
    await ada.handoff({ to: "role:crew", task: "t", intent: "Do it" });
    const lost = await take(ben);
    await lost.note({ content: "for everybody" });
    await lost.note({ content: "only mine", scope: "agent" });
    clock.advance(60_000);
    await hub.deliveries.runDue();
    const { envelope, id } = await take(cyd);
    expect(envelope.history.map(({ did }) => did)).toEqual(["for everybody"]);
    expect(envelope.refs).toHaveLength(1);
    expect(JSON.stringify([await hub.tasks.line("t"), await hub.deliveries.get(id)])).not.toContain(
      "only mine",
    );
  });

  it("hides records of an agent with a key from sessions without it [MEM-11]", async () => {
    const { hub } = await worldOf({ name, store }, "another agent");
    const { privateKey } = generateKeyPairSync("ed25519");
    const proven = await hub.agent("kay", { key: privateKey });
    const { id } = await proven.remember({ content: "secret", scope: "agent" });
    const claimed = await hub.agent("kay");
    expect((await refusal(claimed.memories.read(id))).code).toBe("unknown_memory");
    expect((await proven.memories.read(id)).content).toBe("secret");
  });

  it("recognizes a retry only in a session that may see the record [MEM-11]", async () => {
    const { hub, author } = await worldOf({ name, store }, "another agent");
    const id = "mem_01900000-0000-7000-8000-000000000001";
    const record = { id, content: "secret", scope: "session" as const };
    const first = await author.remember(record);
    expect(await author.remember(record)).toEqual(first);
    const elsewhere = await hub.agent("ada");
    expect((await refusal(elsewhere.remember(record))).code).toBe("id_conflict");
  });
});
