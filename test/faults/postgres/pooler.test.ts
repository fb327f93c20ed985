/**
 * A hub behind a pooler that uses another connection for each transaction (PgBouncer), with
 * ?pgbouncer=true, cannot rely on session state. The tests read the wire: no named statements, no
 * LISTEN, no setting that outlives its transaction, and no startup parameter that the pooler
 * refuses.
 */
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { openHub } from "../../../src/index.ts";
import { startProxy } from "../../support/postgres/proxy.ts";
import { postgresUrl, type TestSchema, testSchema } from "../../support/postgres/schema.ts";

/** The startup parameters that PgBouncer accepts by default. */
const STARTUP = ["user", "database", "application_name", "client_encoding"];

let schema: TestSchema;

beforeAll(() => {
  schema = testSchema();
});

afterAll(() => schema[Symbol.asyncDispose]());

interface Wire {
  readonly startup: Set<string>;
  /** Names of statements that were parsed or bound. */
  readonly names: Set<string>;
  readonly texts: Set<string>;
}

/** Opens a hub behind a pooler, closed with the test, and records what it sends. */
async function openPooled(workspace: string) {
  const wire: Wire = { startup: new Set(), names: new Set(), texts: new Set() };
  const proxy = await startProxy(postgresUrl(), {
    onRequest: (type, body) => {
      const [first = "", second = ""] = body.toString("latin1").split("\0");
      if (type === "") for (const key of startupKeys(body)) wire.startup.add(key);
      if (type === "Q" || type === "P") wire.texts.add(type === "Q" ? first : second);
      if (type === "P" || type === "B") wire.names.add(type === "P" ? first : second);
    },
  });
  const address = new URL(proxy.through(schema.address));
  address.searchParams.set("pgbouncer", "true");
  const hub = await openHub(address.href, { workspace, limits: { busyMs: 500_000 } });
  onTestFinished(async () => {
    await hub.close();
    await proxy[Symbol.asyncDispose]();
  });
  return { hub, wire };
}

/** Returns the keys of a startup message: the version, then keys and values in turn. */
function startupKeys(body: Buffer): string[] {
  const parts = body.subarray(4).toString("utf8").split("\0");
  return parts.filter((part, n) => n % 2 === 0 && part !== "");
}

describe("a hub behind a pooler", () => {
  it("completes handoffs, and leaves no state on a connection [OPS-10]", async () => {
    const { hub, wire } = await openPooled("pooled");
    const ann = await hub.agent("ann", { role: "planner" });
    const ben = await hub.agent("ben", { role: "coder" });
    const { id } = await ann.remember({ content: "the plan", tags: ["plan"] });
    const sent = await ann.handoff({ to: "ben", task: "t", intent: "Go", refs: [id] });
    const work = await ben.accept();
    await work?.note("half way");
    await work?.renew();
    await work?.handoff({ to: "ann", action: "needs_review" });
    for await (const offer of ann.inbox({ wait: false })) {
      const review = await offer.accept();
      await review.complete({ summary: "fine" });
    }
    expect((await sent.status()).state).toBe("completed");
    expect((await ann.memories.recent({ tag: "plan" })).items).toHaveLength(1);
    expect((await hub.verify()).problems).toEqual([]);

    expect([...wire.names]).toEqual([""]);
    expect(STARTUP).toEqual(expect.arrayContaining([...wire.startup]));
    const texts = [...wire.texts];
    expect(texts.length).toBeGreaterThan(5);
    expect(texts.filter((text) => /^\s*(listen|prepare|declare)\b/i.test(text))).toEqual([]);
    expect(texts.filter((text) => /^\s*set\b(?!\s+local)/i.test(text))).toEqual([]);
    expect(texts.filter((text) => /pg_advisory_lock/.test(text))).toEqual([]);
  });

  it("finds new work by polling, without LISTEN [DLV-13]", async () => {
    const { hub, wire } = await openPooled("pooled-waiting");
    const ben = await hub.agent("ben", { role: "coder" });
    const waiting = ben.accept({ wait: true });
    await using other = await openHub(schema.address, { workspace: "pooled-waiting" });
    const ann = await other.agent("ann", { role: "planner" });
    await ann.handoff({ to: "ben", task: "t", intent: "Go" });
    expect((await waiting)?.delivery.task).toBe("t");
    expect([...wire.texts].filter((text) => /listen/i.test(text))).toEqual([]);
  });
});
