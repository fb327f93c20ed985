/**
 * The operations that have a budget, each in a script that runs several times on a store of its
 * own. What a script counts is the cost of an operation; the rest prepares and settles.
 */
import type { Agent, Hub, Offer, Work } from "../../../src/index.ts";
import { present } from "../../support/present.ts";

/** The hub that runs a script, and its agents. */
export interface Team {
  readonly hub: Hub;
  readonly planner: Agent;
  readonly coder: Agent;
  readonly critic: Agent;
  /** Its leases belong to its session: each of its calls renews them. */
  readonly runner: Agent;
  /** Returns a number that was not returned before. */
  next(): number;
  /** Lets time pass, with the timers of this process, and waits for what they start. */
  pass(ms: number): Promise<void>;
  /** Waits for background work, such as wake-ups: they would share messages with later ones. */
  settled(): Promise<void>;
}

/** Runs an operation, and counts what it costs. */
export type Count = <T>(operation: string, run: () => Promise<T>) => Promise<T>;

export interface Script {
  /** The hub carries out what is due, as every hub does. Default: its timers never start. */
  readonly hasTimers?: true;
  /**
   * Each run has a store of its own, which `prepare` warms up: what a run writes would change what
   * the next one finds, or start background work. Default: all runs share a store.
   */
  readonly isAlone?: true;
  /** Runs once, before the first run. */
  prepare?(team: Team): Promise<unknown>;
  run(team: Team, count: Count): Promise<unknown>;
}

const MINUTE_MS = 60_000;
/** Longer than the hub uses what it has read of settings, receivers and inboxes. */
const CACHES_EXPIRE_MS = 1_000;
/** Longer than claims go without a check for what is due. */
const DUE_CHECK_MS = 500;
const FACTS = 20;
const LOOP_HANDOFFS = 3;
const BATCH = 4;

/** The operations of a plain cycle, claimed and accepted one after the other. */
const cycle: Script = {
  async run(team, count) {
    await count("send a handoff", () => send(team));
    const offer = await count("claim an offer", () => claim(team.coder));
    const work = await count("accept an offer", () => offer.accept());
    await count("complete", () => work.complete({ summary: "done" }));
  },
};

const wholeCycle: Script = {
  run: (team, count) =>
    count("plain cycle", async () => {
      await send(team);
      await team.settled();
      const offer = await claim(team.coder);
      await team.settled();
      const work = await offer.accept();
      await team.settled();
      await work.complete({ summary: "done" });
    }),
};

const fusedCycle: Script = {
  run: (team, count) =>
    count("plain cycle, claim and accept in one", async () => {
      await send(team);
      await team.settled();
      const work = await accept(team.coder);
      await team.settled();
      await work.complete({ summary: "done" });
    }),
};

const work: Script = {
  async run(team, count) {
    await send(team);
    const held = await count("claim and accept", () => accept(team.coder));
    await count("note", () => held.note("Extracted validateToken()."));
    await count("renew a lease", () => held.renew());
    await count("hand on", () => held.handoff({ to: "critic", next: ["Review it"] }));
    await (await accept(team.critic)).complete({ summary: "reviewed" });
  },
};

/**
 * Completing and claiming the next is one transaction. The handler waits for earlier wake-ups, because a
 * wake-up that is still being sent takes up the next one.
 */
const workLoop: Script = {
  async run(team, count) {
    for (let n = 0; n < LOOP_HANDOFFS; n++) await send(team);
    await team.settled();
    await count(`process ${LOOP_HANDOFFS} handoffs with agent.work()`, () =>
      team.coder.work(() => team.settled().then(() => "done"), { wait: false }),
    );
  },
};

/** Shows what handoffs that are committed together share. */
const batch: Script = {
  async run(team, count) {
    const drafts = Array.from({ length: BATCH }, () => draft(team.next(), "coder"));
    await count(`send ${BATCH} handoffs with handoffMany()`, () =>
      team.planner.handoffMany(drafts),
    );
    await team.coder.work(() => "done", { wait: false });
  },
};

const memory: Script = {
  prepare: ({ planner }) => planner.remember(facts()),
  async run({ planner, next }, count) {
    await count("remember", () => planner.remember({ content: `Fact ${next()} about tokens.` }));
  },
};

/** Nothing is written between two runs, so that each finds the same. */
const reading: Script = {
  async prepare(team) {
    await team.planner.remember(facts());
    await send(team);
  },
  async run({ coder, critic }, count) {
    await count("recall", () => coder.recall("Which tokens does the API accept?"));
    await count("catch up", () => coder.catchUp({ rough: true }));
    await count("claim from an empty inbox", () => critic.accept());
  },
};

const view: Script = {
  isAlone: true,
  async prepare(team) {
    await team.planner.remember(facts());
    await send(team);
    const work = await accept(team.coder);
    await work.view();
    await work.complete({ summary: "done" });
  },
  async run(team, count) {
    await send(team);
    const held = await accept(team.coder);
    await count("view", () => held.view());
    await held.complete({ summary: "done" });
  },
};

const session: Script = {
  async run(team, count) {
    await send(team, "runner");
    const held = await accept(team.runner);
    const content = `Fact ${team.next()} about sessions.`;
    await count("remember in a session that holds work", () => team.runner.remember({ content }));
    await held.complete({ summary: "done" });
  },
};

const coldCaches: Script = {
  async run(team, count) {
    await team.pass(CACHES_EXPIRE_MS);
    await count("send a handoff with expired caches", () => send(team));
    await team.pass(DUE_CHECK_MS);
    const offer = await count("claim an offer and check what is due", () => claim(team.coder));
    await (await offer.accept()).complete({ summary: "done" });
  },
};

const idle: Script = {
  hasTimers: true,
  async run({ pass }, count) {
    await count("a minute of an idle hub", () => pass(MINUTE_MS));
  },
};

const waiting: Script = {
  hasTimers: true,
  isAlone: true,
  async prepare({ coder, pass }) {
    // Ends when the hub is closed.
    void coder.accept({ wait: true });
    await pass(MINUTE_MS);
  },
  async run({ pass }, count) {
    await count("a minute of waiting for work", () => pass(MINUTE_MS));
  },
};

export const SCRIPTS: readonly Script[] = [
  ...[
    cycle,
    wholeCycle,
    fusedCycle,
    work,
    workLoop,
    batch,
    memory,
    reading,
    view,
    session,
    coldCaches,
  ],
  ...[idle, waiting],
];

const PAYLOAD = { type: "patch", data: { diff: "x".repeat(4_000), files: ["src/auth.ts"] } };

/** Sends what bench/cycle.ts sends. */
const send = ({ planner, next }: Team, to = "coder") => planner.handoff(draft(next(), to));

const draft = (n: number, to: string) => ({
  to,
  task: `task-${n}`,
  intent: `Refactor auth without breaking mobile logins, part ${n}`,
  next: ["Extract validateToken()"],
  constraints: [{ rule: "Do not touch test fixtures", level: "must" as const }],
  payload: PAYLOAD,
});

async function claim(agent: Agent): Promise<Offer> {
  for await (const offer of agent.inbox({ wait: false })) return offer;
  throw new Error(`${agent.id} has nothing to claim`);
}

const accept = async (agent: Agent): Promise<Work> => present(await agent.accept());

const facts = () =>
  Array.from({ length: FACTS }, (_, n) => ({
    type: "fact",
    content: `Fact ${n}: the API accepts tokens of kind ${n} from mobile clients.`,
    tags: ["auth"],
  }));
