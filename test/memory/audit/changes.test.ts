/**
 * Every change of an agent, a token or a setting is recorded together with it, and `verify` finds those that
 * were changed without a record.
 */
import { describe, expect, it, onTestFinished } from "vitest";
import type { Hub } from "../../../src/index.ts";
import { LocalHub } from "../../../src/index.ts";
import type { AuditEntry } from "../../../src/memory/audit/read-audit.ts";
import { nextLink } from "../../../src/store/chain.ts";
import type { Store } from "../../../src/store/store.ts";
import { hubOn, sharedStore } from "../../support/hub/shared-store.ts";
import { EMBEDDED_STORES, openFresh, refusal, STORES } from "../../support/hub/support.ts";

const records = async (hub: Hub): Promise<AuditEntry[]> => [
  ...(await hub.events.audit({ limit: 1_000 })).items,
];

/** What was done to what, oldest first, without what the hub does to register itself. */
const changes = async (hub: Hub): Promise<string[]> =>
  (await records(hub))
    .filter(({ kind, actor }) => kind === "change" && actor.via !== "hub")
    .map(({ action, target }) => `${action}: ${target?.kind} ${target?.name}`)
    .toReversed();

const lines = async (hub: Hub, after = 0): Promise<Record<string, unknown>[]> => {
  const all: string[] = [];
  for await (const line of hub.events.exportAudit({ after })) all.push(line);
  return all
    .join("")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, unknown>);
};

async function opened(store: Exclude<(typeof STORES)[number], "http">) {
  const shared = await sharedStore(store)();
  const hub = new LocalHub(shared);
  onTestFinished(() => hub.close());
  return { hub, store: shared };
}

describe.each(STORES)("the audit records on %s", (store) => {
  it("contain each change of agents, tokens and settings, and the store verifies [OPS-13]", async () => {
    const hub = await openFresh(store);
    const ada = await hub.agent("ada", { role: "coder" });
    await hub.agent("ada", { role: "lead", aliases: ["ada-bot"] });
    await hub.agents.pause("ada");
    await hub.agents.unpause("ada");
    const { info } = await hub.tokens.add({ agent: "ada", access: "agent" });
    await hub.tokens.revoke(info.id, "lost");
    await hub.settings.update({
      keepers: ["lead"],
      releasers: ["lead"],
      retention: {},
      secrets: "refuse",
    });
    await hub.settings.update({
      lint: { no_criteria: "off" },
      profiles: { lead: { tokens: 500 } },
    });
    await hub.settings.update({ handoffs: { actions: ["review"] }, profiles: { lead: null } });
    await hub.payloadTypes.set("report", { type: "object" });
    await hub.routes.set("r", { to: "ada" });
    await hub.routes.delete("r");
    await hub.channels.set("news", "paused");
    await hub.failures.setRule("f", { when: {}, then: { abort: true } });
    await hub.failures.deleteRule("f");
    await ada.memories.allowText("Rel4821x77Qb90Zeu3", "a build number");
    expect(await changes(hub)).toEqual([
      "agent: agent ada",
      "agent: agent ada",
      "agents.pause: agent ada",
      "agents.unpause: agent ada",
      `tokens.add: token ${info.id}`,
      `tokens.revoke: token ${info.id}`,
      "settings.update: setting releasers",
      "settings.update: setting keepers",
      "settings.update: retention rules",
      "settings.update: setting secrets",
      "settings.update: profile lead",
      "settings.update: lint rules",
      "settings.update: profile lead",
      "settings.update: setting handoff-rules",
      "settings.update: setting handoff-rules",
      "routes.set: route r",
      "routes.delete: route r",
      "channels.set: channel news",
      "failures.setRule: failure-rule f",
      "failures.deleteRule: failure-rule f",
      expect.stringMatching(/^memories\.allowText: allowed-text /),
    ]);
    expect((await hub.verify()).problems).toEqual([]);
  });

  it("contain nothing if an agent starts again with the same profile, or a setting keeps its value [OPS-13]", async () => {
    const hub = await openFresh(store);
    const same = async () => {
      await hub.agent("ada", { role: "coder", aliases: ["a"] });
      await hub.settings.update({ keepers: ["lead"] });
      await hub.channels.set("news");
    };
    await same();
    const before = (await records(hub)).length;
    await same();
    expect((await records(hub)).length).toBe(before);
  });

  it("state by whom, when, and the digests before and after, but no value and no token [OPS-13]", async () => {
    const hub = await openFresh(store);
    await hub.agent("ada", { description: "writes the release notes" });
    await hub.agent("ada", { description: "writes no release notes" });
    const { token, info } = await hub.tokens.add({
      agent: "ada",
      access: "agent",
      label: "Laptop",
    });
    const [added, changed, created] = (await records(hub)).filter(({ kind }) => kind === "change");
    expect(added).toMatchObject({
      kind: "change",
      action: "tokens.add",
      target: { kind: "token", name: info.id },
    });
    expect(created).not.toHaveProperty("before");
    expect(changed?.before).toBe(created?.after);
    expect(changed?.after).not.toBe(changed?.before);
    expect(added?.at).toBeGreaterThanOrEqual(created?.at ?? 0);
    expect(added?.actor.via).toBe(store === "http" ? "http" : "embedded");
    const exported = JSON.stringify(await lines(hub));
    for (const value of ["release notes", "Laptop", token]) expect(exported).not.toContain(value);
  });

  it("are listed newest first, in pages and by filter [OPS-13]", async () => {
    const hub = await openFresh(store);
    for (const name of ["ada", "ben", "cyd"]) await hub.agent(name, { role: "coder" });
    await hub.tokens.add({ agent: "ben", access: "agent" });
    const all = await records(hub);
    expect(all.map(({ seq }) => seq)).toEqual(all.map((_, i) => all.length - i));
    const paged: AuditEntry[] = [];
    for (let next: number | undefined; ; ) {
      const page = await hub.events.audit({
        limit: 2,
        kind: "change",
        ...(next && { after: next }),
      });
      paged.push(...page.items);
      next = page.next;
      if (next === undefined) break;
    }
    expect(paged).toEqual(all.filter(({ kind }) => kind === "change"));
    const names = async (query: Parameters<Hub["events"]["audit"]>[0]) =>
      (await hub.events.audit(query)).items.map(({ target }) => target?.name);
    expect(await names({ agent: "ben" })).toEqual(["ben"]);
    expect(await names({ action: "agent", limit: 2 })).toEqual(["cyd", "ben"]);
    const third = all.find(({ target }) => target?.name === "cyd");
    expect(await names({ action: "agent", since: (third?.at ?? 0) + 1 })).not.toContain("cyd");
    expect(await names({ action: "agent", until: all.at(-1)?.at ?? 0 })).toEqual([]);
    expect((await refusal(hub.events.audit({ limit: 0 }))).code).toBe("invalid_input");
  });

  it("are exported with links that another program can follow [OPS-13]", async () => {
    const hub = await openFresh(store);
    for (const name of ["ada", "ben", "cyd"]) await hub.agent(name, { role: "coder" });
    const verified = async (after: number): Promise<string> => {
      const [header, ...rest] = await lines(hub, after);
      const footer = rest.pop();
      let link = header?.["previous"] as string;
      for (const [i, record] of rest.entries()) {
        const { seq, storedAt, digest } = record as {
          seq: number;
          storedAt: number;
          digest: string;
        };
        link = nextLink(link, { seq, storedAt, digest });
        expect({ seq, link }).toEqual({ seq: after + 1 + i, link: record["link"] });
      }
      expect(footer).toMatchObject({ kind: "footer", records: rest.length });
      return link;
    };
    expect(await verified(2)).toBe(await verified(0));
  });

  it("are not among the memories of readers, and their branch cannot be used [OPS-13]", async () => {
    const hub = await openFresh(store);
    const ada = await hub.agent("ada", { role: "coder" });
    await hub.tokens.add({ agent: "ada", access: "agent" });
    const [record] = await records(hub);
    expect((await refusal(ada.memories.read(record?.id ?? ""))).code).toBe("unknown_memory");
    expect((await ada.memories.recent()).items).toEqual([]);
    expect((await ada.recall("tokens.add change agent")).items).toEqual([]);
    const { rows } = await ada.memories.sql("select count(*) as n from memories");
    expect(rows).toEqual([{ n: 0 }]);
    expect((await refusal(ada.branches.create("audit"))).code).toBe("invalid_input");
    expect((await refusal(ada.branches.use("audit"))).code).toBe("unknown_branch");
  });

  it("cannot be redacted [OPS-13]", async () => {
    const hub = await openFresh(store);
    const ada = await hub.agent("ada", { role: "coder" });
    const [record] = await records(hub);
    const byId = ada.memories.redact({ ids: [record?.id ?? ""] }, "to hide it");
    expect((await refusal(byId)).code).toBe("unknown_memory");
    const byText = await ada.memories.redact({ text: "change agent on agent" }, "to hide it");
    expect(byText).toMatchObject({ erased: [], hidden: { erased: 0, left: 2 } });
    expect((await records(hub)).at(-1)).toMatchObject({ seq: 1, action: "agent" });
    expect((await hub.verify()).problems).toEqual([]);
  });
});

const INTRUSIONS: readonly [
  string,
  string,
  (store: Store, workspace: string) => Promise<unknown>,
][] = [
  [
    "a token that was changed",
    "was changed after its last audit record",
    async (store, workspace) => {
      const [token] = await store.listEntries({ workspace, kind: "token", limit: 1 });
      const value = (token?.value ?? "").replace('"reader"', '"admin"');
      const { name = "", revision = 0 } = token ?? {};
      return store.putEntry(workspace, { kind: "token", name, value, basedOn: revision });
    },
  ],
  [
    "a token that was made up",
    "was created without an audit record",
    (store, workspace) =>
      store.putEntry(workspace, { kind: "token", name: "tok_x", value: "{}", basedOn: 0 }),
  ],
  [
    "a setting that was deleted",
    "is missing",
    (store, workspace) =>
      store.putEntry(workspace, { kind: "setting", name: "keepers", value: undefined, basedOn: 1 }),
  ],
  [
    "an agent that was changed",
    "was changed after its last audit record",
    async (store, workspace) => {
      const {
        revision,
        keyedAt: _k,
        digest: _d,
        ...agent
      } = (await store.findAgent(workspace, "ada")) as never as Record<string, never>;
      return store.registerAgent({
        workspace,
        agent: { ...agent, role: "admin" } as never,
        basedOn: revision as never,
      });
    },
  ],
];

describe.each(EMBEDDED_STORES)("verify on %s", (name) => {
  it.each(INTRUSIONS)("reports %s without a record [OPS-14]", async (_case, message, intrude) => {
    const { hub, store } = await opened(name);
    await hub.agent("ada", { role: "coder" });
    await hub.tokens.add({ agent: "ada", access: "reader" });
    await hub.settings.update({ keepers: ["lead"] });
    expect((await hub.verify()).problems).toEqual([]);
    await intrude(store, hub.workspace);
    const { problems } = await hub.verify();
    expect(problems).toMatchObject([{ field: "audit", message: expect.stringContaining(message) }]);
  });

  it("accepts an agent whose profile was redacted [OPS-14]", async () => {
    const { hub } = await opened(name);
    const ada = await hub.agent("ada", { description: "knows zanzibar-seventeen" });
    await ada.memories.redact({ text: "zanzibar-seventeen" }, "it was a secret");
    expect((await hub.verify()).problems).toEqual([]);
    await hub.agent("ada", { description: "knows nothing" });
    expect((await hub.verify()).problems).toEqual([]);
  });

  it("covers the records after an export and an import [OPS-14]", async () => {
    const { hub } = await opened(name);
    await hub.agent("ada", { role: "coder" });
    await hub.tokens.add({ agent: "ada", access: "reader" });
    const copy = await hubOn(name, await sharedStore(name)());
    onTestFinished(() => copy.close());
    await copy.archive.import(hub.archive.export());
    expect(await records(copy)).toEqual(await records(hub));
    expect((await copy.verify()).problems).toEqual([]);
  });
});
