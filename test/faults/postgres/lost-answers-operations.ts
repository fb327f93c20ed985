/** The operations whose connection breaks in lost-answers.test.ts, each with its initial state. */
import { setTimeout as sleep } from "node:timers/promises";
import { sha256 } from "../../../src/base/digest.ts";
import { DEFAULT_LIMITS } from "../../../src/base/limits.ts";
import { type Agent, type Hub, isBatonError, type Sent, type Work } from "../../../src/index.ts";
import type { Move, Store } from "../../../src/store/store.ts";
import type { VirtualClock } from "../../../src/testing/virtual-clock.ts";

export const WRITE = "baton_write\0";

/** Sent after the commit and before the acknowledgement. */
const SYNC = "baton_sync\0";

export const LEASE_MS = DEFAULT_LIMITS.leaseMs;

export interface Scene {
  readonly hub: Hub;
  readonly store: Store;
  readonly workspace: string;
  readonly clock: VirtualClock;
  readonly ann: Agent;
  readonly ben: Agent;
  send(task: string, more?: object): Promise<Sent>;
}

export interface Operation {
  readonly name: string;
  /** Creates the initial state, and returns the operation. */
  readonly prepare: (scene: Scene) => Promise<() => Promise<unknown>>;
  /** The message to break at, and which occurrence of it. Default: the first write. */
  readonly at?: readonly [text: string, nth: number];
  /** Creates new records on each attempt, so that their ids differ. */
  readonly makesRecords?: boolean;
  /**
   * How many writes wait for the lock when the hub retries while the workspace is locked. Default:
   * 2; 0 if the operation does not get there.
   */
  readonly inLine?: number;
}

export const OPERATIONS: readonly Operation[] = [
  {
    name: "append",
    prepare: async ({ ann }) => {
      const { id } = await ann.remember({ content: "before" });
      return () => ann.remember({ content: "after", refs: [id] });
    },
  },
  {
    name: "append, cut before it is on disk",
    at: [SYNC, 1],
    prepare:
      async ({ ann }) =>
      () =>
        ann.remember({ content: "x" }),
  },
  {
    name: "append of many memories",
    prepare: async ({ ann }) => {
      const inputs = Array.from({ length: 20 }, (_, n) => ({ content: `step ${n}` }));
      return () => ann.remember(inputs);
    },
  },
  {
    name: "appends in one group commit",
    prepare:
      async ({ ann, ben }) =>
      () =>
        Promise.all([
          ann.remember({ content: "one" }),
          ben.remember({ content: "two" }),
          ann.remember({ content: "three" }),
        ]),
  },
  {
    name: "note under a lease",
    prepare: async (scene) => {
      const work = await acceptFirst(scene);
      return () => work.note("half way");
    },
  },
  {
    name: "send",
    prepare:
      async ({ send }) =>
      () =>
        sentResult(send("first")),
  },
  {
    name: "send behind another handoff of the task",
    prepare: async ({ hub, send }) => {
      await send("first");
      const cyd = await hub.agent("cyd", { role: "worker" });
      return () => sentResult(cyd.handoff({ to: "ben", task: "first", intent: "Go on" }));
    },
  },
  {
    name: "send of several handoffs",
    prepare: async ({ ann, hub, send }) => {
      await hub.agent("cyd", { role: "worker" });
      await send("first");
      const drafts = [
        { to: "ben", task: "second", intent: "Go on" },
        { to: "ben", task: "first", intent: "Go", next: ["More"] },
        { to: "cyd", task: "second", intent: "Go on", constraints: ["Keep the tests"] },
      ];
      return async () => {
        const sent = await ann.handoffMany(drafts);
        return Promise.all(sent.map((each) => sentResult(Promise.resolve(each))));
      };
    },
  },
  {
    name: "send that supersedes a waiting delivery",
    prepare: async ({ send }) => {
      await send("first");
      return () => sentResult(send("first", { next: ["More"] }));
    },
  },
  {
    name: "send that extends accepted work",
    prepare: async (scene) => {
      await acceptFirst(scene);
      return () => sentResult(scene.send("first", { next: ["More"] }));
    },
  },
  {
    name: "claim",
    prepare: async (scene) => {
      await scene.send("first");
      return () => firstOffer(scene.ben).then((offer) => offer?.envelope);
    },
  },
  {
    name: "claim, cut before it is on disk",
    at: [SYNC, 1],
    prepare: async (scene) => {
      await scene.send("first");
      return () => firstOffer(scene.ben).then((offer) => offer?.envelope);
    },
  },
  {
    name: "claim after an expired lease",
    prepare: async (scene) => {
      await acceptFirst(scene);
      scene.clock.advance(LEASE_MS);
      return () => firstOffer(scene.ben).then((offer) => offer?.envelope);
    },
  },
  {
    name: "accept",
    prepare: async (scene) => {
      await scene.send("first");
      const offer = await firstOffer(scene.ben);
      return () => working(offer?.accept());
    },
  },
  {
    makesRecords: true,
    name: "claim and accept",
    prepare: async (scene) => {
      await scene.send("first");
      return () => working(acceptSoon(scene.ben));
    },
  },
  {
    makesRecords: true,
    name: "claim and accept, cut before the commit",
    at: ["commit\0", 1],
    prepare: async (scene) => {
      await scene.send("first");
      return () => working(acceptSoon(scene.ben));
    },
  },
  {
    makesRecords: true,
    name: "claim and accept, cut before it is on disk",
    at: [SYNC, 1],
    prepare: async (scene) => {
      await scene.send("first");
      return () => working(acceptSoon(scene.ben));
    },
  },
  {
    makesRecords: true,
    name: "claim and accept, cut at the query",
    at: ["baton_pick\0", 1],
    inLine: 1,
    prepare: async (scene) => {
      await scene.send("first");
      return () => working(acceptSoon(scene.ben));
    },
  },
  {
    makesRecords: true,
    name: "several claims and accepts at once",
    prepare: async (scene) => {
      for (const task of ["first", "second", "third"]) await scene.send(task);
      return () => Promise.all([1, 2, 3].map(() => working(acceptSoon(scene.ben))));
    },
  },
  {
    makesRecords: true,
    name: "claim and accept after an expired lease, cut where the lease is ended",
    prepare: async (scene) => {
      await acceptFirst(scene);
      scene.clock.advance(LEASE_MS);
      return () => working(acceptSoon(scene.ben));
    },
  },
  {
    makesRecords: true,
    name: "claim and accept after an expired lease, cut at the write",
    at: [WRITE, 2],
    inLine: 0,
    prepare: async (scene) => {
      await acceptFirst(scene);
      scene.clock.advance(LEASE_MS);
      return () => working(acceptSoon(scene.ben));
    },
  },
  {
    name: "renew",
    prepare: async (scene) => {
      const work = await acceptFirst(scene);
      scene.clock.advance(LEASE_MS / 2);
      return () => work.renew();
    },
  },
  {
    name: "renew a session",
    prepare: async ({ hub, send, clock }) => {
      await send("first");
      const ben = await hub.agent("ben", undefined, { lease: "session" });
      await ben.accept();
      clock.advance(LEASE_MS / 2);
      return () => ben.memories.pins();
    },
  },
  {
    name: "complete",
    prepare: async (scene) => {
      const work = await acceptFirst(scene);
      await scene.hub.agent("cyd", { role: "worker" });
      return () => work.complete({ summary: "done", outputs: { answer: 42 } });
    },
  },
  {
    name: "complete, with another delivery of the task waiting",
    prepare: async (scene) => {
      const work = await acceptFirst(scene);
      const cyd = await scene.hub.agent("cyd", { role: "worker" });
      await cyd.handoff({ to: "ben", task: "first", intent: "Go on" });
      return () => work.complete();
    },
  },
  {
    name: "complete, cut before it is on disk",
    at: [SYNC, 1],
    prepare: async (scene) => {
      const work = await acceptFirst(scene);
      return () => work.complete();
    },
  },
  {
    makesRecords: true,
    name: "complete and claim the next",
    at: [WRITE, 2],
    inLine: 0,
    prepare: async (scene) => {
      for (const task of ["first", "second"]) await scene.send(task);
      return () => workThrough(scene.ben, 2);
    },
  },
  {
    name: "fail, with a retry",
    prepare: async (scene) => {
      const work = await acceptFirst(scene);
      return () => work.fail({ message: "no luck", class: "retryable" });
    },
  },
  {
    name: "decline",
    prepare: async (scene) => {
      const work = await acceptFirst(scene);
      return () => work.decline("not mine");
    },
  },
  {
    name: "release",
    prepare: async (scene) => {
      const work = await acceptFirst(scene);
      return () => work.release();
    },
  },
  {
    name: "settlement after the lease expired",
    prepare: async (scene) => {
      const work = await acceptFirst(scene);
      scene.clock.advance(LEASE_MS);
      return () => work.complete().catch(codeOf);
    },
  },
  {
    name: "handoff that completes the work",
    prepare: async (scene) => {
      const work = await acceptFirst(scene);
      await scene.hub.agent("cyd", { role: "worker" });
      return () => sentResult(work.handoff({ to: "cyd", action: "needs_review" }) as Promise<Sent>);
    },
  },
  {
    name: "publication to several receivers",
    prepare: async ({ store, workspace, hub, send }) => {
      const { id } = await send("first");
      const found = await store.findDelivery(workspace, id);
      const [memory] = await store.readMemories(workspace, [found?.envelope.memory ?? ""]);
      const record = { ...(memory as NonNullable<typeof memory>), id: "mem-published" };
      await hub.agent("cyd", { role: "worker" });
      const delivery = {
        maxAttempts: 3,
        ahead: 0,
        delayMs: 0,
        reason: "",
        deadline: 0,
        lapseMs: 0,
      };
      return () =>
        store.sendHandoff({
          ...{ workspace, branch: record.branch, parent: "", breaker: 0 },
          memory: {
            ...{ ...record, agent: "ann", digest: sha256(record.text), publicKey: "" },
            ...{ mentions: [], relations: [] },
          },
          envelope: { id: "env-published", task: "news", sender: "ann", text: "{}", parents: [] },
          deliveries: [
            { ...delivery, id: "dlv-1", receiver: "ben", state: "ready" },
            { ...delivery, id: "dlv-2", receiver: "cyd", state: "dead", reason: "{}" },
            { ...delivery, id: "dlv-3", receiver: "role:worker", state: "scheduled" },
          ],
          entries: [{ kind: "key", name: "published", value: "{}", basedOn: 0 }],
        });
    },
  },
  {
    name: "change of an entry",
    prepare: async ({ store, workspace, clock }) => {
      const entry = { kind: "breaker", name: "ben", value: '{"n":1}' };
      await store.putEntry(workspace, { ...entry, basedOn: 0 });
      clock.advance(5);
      const event = { kind: "breaker_opened", agent: "ann" } as const;
      return () => store.putEntry(workspace, { ...entry, basedOn: 1 }, event);
    },
  },
  {
    name: "deletion of an entry",
    prepare: async ({ store, workspace }) => {
      const entry = { kind: "route", name: "ben" };
      await store.putEntry(workspace, { ...entry, value: "{}", basedOn: 0 });
      return async () => [
        await store.putEntry(workspace, { ...entry, value: undefined, basedOn: 1 }),
        await store.findEntry(workspace, entry.kind, entry.name),
      ];
    },
  },
  {
    name: "move of accepted work and of the delivery behind it",
    prepare: async (scene) => {
      const { store, workspace } = scene;
      const work = await acceptFirst(scene);
      const cyd = await scene.hub.agent("cyd", { role: "worker" });
      const behind = await cyd.handoff({ to: "ben", task: "first", intent: "Go on" });
      const moves: Move[] = [];
      for (const [id, change] of [
        [work.id, { to: "dead", event: "dead", ends: { outcome: "expired", reason: "" } }],
        [behind.id, { to: "ready", event: "deadline_passed", lapseMs: 7 }],
      ] as const) {
        const found = await store.findDelivery(workspace, id);
        const seen = (found as NonNullable<typeof found>).delivery;
        moves.push({ delivery: id, seen, ...change });
      }
      return () => store.moveDeliveries({ workspace, branch: "main", agent: "ann", moves });
    },
  },
  {
    name: "registration of an agent",
    at: ["baton_register\0", 1],
    prepare:
      async ({ hub }) =>
      () =>
        hub.agent("cyd", { role: "worker", aliases: ["c"] }).then(({ info }) => info),
  },
  {
    name: "change of a registered agent",
    at: ["baton_register\0", 1],
    prepare:
      async ({ hub }) =>
      () =>
        hub.agent("ben", { role: "reviewer" }).then(({ info }) => info),
  },
];

async function acceptFirst(scene: Scene): Promise<Work> {
  await scene.send("first");
  const work = await scene.ben.accept();
  if (work === undefined) throw new Error("nothing to accept");
  return work;
}

/** Retries until the server has released what the broken connection had reserved. */
async function acceptSoon(agent: Agent): Promise<Work> {
  for (;;) {
    const work = await agent.accept();
    if (work !== undefined) return work;
    await sleep(5);
  }
}

/** Completes this many handoffs in a worker loop; again, while deliveries are still reserved. */
async function workThrough(agent: Agent, count: number): Promise<string[]> {
  const tasks: string[] = [];
  const handler = ({ envelope }: Work): void => void tasks.push(envelope.task);
  while (tasks.length < count) await agent.work(handler, { wait: false });
  return tasks;
}

export async function firstOffer(agent: Agent) {
  for await (const offer of agent.inbox({ wait: false })) return offer;
  return undefined;
}

/** Returns what a sender gets. */
async function sentResult(sending: Promise<Sent>): Promise<object> {
  const sent = await sending;
  const { id, envelope, digest, memory } = sent;
  return { id, envelope, digest, memory, status: await sent.status() };
}

/** Returns what a holder gets. */
async function working(accepting: Promise<Work | undefined> | undefined): Promise<object> {
  const work = await accepting;
  if (work === undefined) return { nothing: true };
  const { id, handle, envelope } = work;
  const { attempt, acceptedBy } = work.delivery;
  return { id, handle, envelope, attempt, acceptedBy };
}

export function codeOf(error: unknown): string {
  return isBatonError(error) ? error.code : String(error);
}
