/**
 * A store with records of every kind: agents with and without keys, aliases, relations with
 * validity, pins, envelopes with every field, deliveries in every reachable state, and a second
 * workspace in the same file. For tests that check what is stored.
 */
import { type Agent, type Clock, generateKey, type Hub, openHub } from "../../src/index.ts";
import { untilSettled } from "./until-settled.ts";

/** A clock that stands still unless it is advanced. */
export class SteppedClock implements Clock {
  #now = 1_800_000_000_000;
  now(): number {
    return this.#now;
  }
  advance(milliseconds: number): void {
    this.#now += milliseconds;
  }
}

export interface RichStore {
  readonly hub: Hub;
  readonly other: Hub;
  readonly clock: SteppedClock;
}

/** Opens both hubs on the same file and leaves them open. */
export async function openRichStore(file: string): Promise<RichStore> {
  const clock = new SteppedClock();
  // Every call of the clock is a new millisecond.
  const ticking: Clock = {
    now: () => {
      clock.advance(1);
      return clock.now();
    },
  };
  const limits = { leaseMs: 1_000_000, attempts: 3 };
  const hub = await openHub(`sqlite:${file}`, { clock: ticking, limits, random: () => 0.5 });
  const other = await openHub(`sqlite:${file}`, { clock: ticking, limits, workspace: "other" });
  const team = await registerTeam(hub, clock);
  await rememberAllKinds(team);
  await handOverAllKinds(team);
  const stranger = await other.agent("stranger", { role: "stranger", aliases: ["foreigner"] });
  const first = await stranger.remember({ content: "another workspace" });
  await stranger.remember({
    content: "its second record",
    relations: [{ kind: "corrects", to: first.id }],
  });
  await stranger.handoff({ to: "stranger", task: "elsewhere", intent: "Stay apart" });
  return { hub, other, clock };
}

interface Team {
  readonly planner: Agent;
  /** Has had a key from the start. */
  readonly coder: Agent;
  readonly reviewer: Agent;
  /** Got a key later: its first records are unsigned, the others signed. */
  readonly tester: Agent;
}

async function registerTeam(hub: Hub, clock: SteppedClock): Promise<Team> {
  const planner = await hub.agent("planner", {
    role: "planner",
    aliases: ["architect", "lead"],
    capabilities: ["plan", "decide"],
    description: "Plans the work",
    model: "some-model-1",
    name: "Paula Planner",
    owner: "team-a",
    window: 200_000,
  });
  const coder = await hub.agent("coder", { role: "coder", key: generateKey(), aliases: ["dev"] });
  const reviewer = await hub.agent("reviewer", { role: "reviewer" });
  const unkeyed = await hub.agent("tester", { role: "tester" });
  await unkeyed.remember({ content: "written before there was a key" });
  clock.advance(1_000);
  const tester = await hub.agent("tester", { key: generateKey() });
  await hub.agent("retired", { role: "coder", status: "disabled" });
  await hub.agent("idle", { role: "coder", aliases: ["lazy"] });
  return { planner, coder, reviewer, tester };
}

async function rememberAllKinds({ planner, coder, tester }: Team): Promise<void> {
  const plan = await planner.remember({
    type: "plan",
    content: "First the validator, then limits.",
  });
  const finding = await coder.remember({
    type: "finding",
    content: "Tokens without exp are accepted. Grüße — 你好 🎉",
    concepts: ["jwt", "expiry"],
    confidence: 0.75,
    importance: 0.5,
    data: { file: "src/auth.ts", line: 42, nested: { deep: [1, 2.5, null, true] } },
    refs: [plan.id],
    relations: [
      { kind: "derived-from", to: plan.id },
      { kind: "supports", to: plan.id, from: 1_000, until: 2_000 },
    ],
    run: "run-42",
    scope: "team",
    session: "morning",
    tags: ["auth", "security"],
    task: "auth-refactor",
    validFrom: 5,
    validUntil: 10,
  });
  await tester.remember([
    { type: "question", content: "Is the finding reproducible?", task: "auth-refactor" },
    {
      type: "decision",
      content: "Yes.",
      relations: [{ kind: "contradicts", to: finding.id, until: 9 }],
    },
  ]);
  await planner.memories.pin(finding.id);
  await planner.memories.pin(plan.id);
  await planner.memories.unpin(plan.id);
}

/**
 * Leaves deliveries that are ready, scheduled, claimed, accepted, completed, declined, dead,
 * superseded, and some that wait behind others.
 */
async function handOverAllKinds(team: Team): Promise<void> {
  const { planner, coder, reviewer, tester } = team;
  const [pinned] = await planner.memories.pins();
  const full = {
    to: "coder",
    task: "auth-refactor",
    run: "run-42",
    intent: "Refactor auth without breaking mobile logins",
    action: "delegated",
    state: "Half of it is done",
    artifacts: [{ kind: "file", path: "src/auth.ts", digest: "0".repeat(64), note: "the file" }],
    blocked: [{ what: "release", on: "security review" }],
    constraints: [{ rule: "Do not touch test fixtures", level: "must" as const, source: "owner" }],
    decisions: [{ question: "RS256 or EdDSA?", options: ["RS256", "EdDSA"], owner: "planner" }],
    doNotRedo: ["the token survey"],
    done: ["survey"],
    expects: [
      {
        name: "patch",
        type: "code",
        format: "unified diff",
        criteria: ["tests pass"],
        maxLength: 9_000,
      },
    ],
    history: [{ agent: "planner", did: "survey", decided: "go", why: "it is time", at: 7 }],
    metadata: {
      confidence: 0.5,
      model: "some-model-1",
      tokens: { input: 10, output: 20 },
      own: { x: 1 },
    },
    next: ["Extract validateToken()"],
    payload: { type: "patch-request", data: { files: ["src/auth.ts"], urgent: true } },
    refs: pinned === undefined ? [] : [{ id: pinned.id, summary: "exp is not checked" }],
  };
  await planner.handoff(full);
  const first = await coder.accept({ task: "auth-refactor" });
  await planner.handoff({ ...full, state: "There is news" });
  await first?.note({ content: "half way", tags: ["progress"] });
  const parents = first === undefined ? [] : [first.envelope.id];
  await untilSettled(async () =>
    first?.handoff({ to: "reviewer", action: "needs_review", parents }),
  );
  const review = await reviewer.accept({ task: "auth-refactor" });
  await review?.complete({ summary: "Looks good", outputs: { verdict: "ship" }, confidence: 0.9 });

  const send = async (task: string, to = "tester") => {
    const sent = await planner.handoff({ to, task, intent: `Do ${task}` });
    return sent.id;
  };
  await send("stays-ready");
  await send("superseded");
  await send("superseded");
  const acceptOne = async (task: string, by = tester) => {
    await send(task, by.id);
    const work = await by.accept({ task });
    if (work === undefined) throw new Error(`nothing to accept of ${task}`);
    return work;
  };
  await acceptOne("stays-accepted");
  await (await acceptOne("fails-once")).fail({
    message: "flaky",
    attempted: "npm test",
    hints: ["retry"],
  });
  await (await acceptOne("fails-and-is-replaced")).fail({ message: "unclear" });
  await send("fails-and-is-replaced");
  await (await acceptOne("fails-for-good")).fail({ message: "impossible", class: "permanent" });
  await (await acceptOne("declined")).decline("not my trade");
  await (await acceptOne("released")).release();
  const again = await acceptOne("second-try", reviewer);
  await again.release();
  await (await reviewer.accept({ task: "second-try" }))?.complete();
  const held = await acceptOne("extended-while-held", reviewer);
  await send("extended-while-held", "reviewer");
  void held;
  await acceptOne("in-line");
  for (const sender of [reviewer, coder, reviewer]) {
    await sender.handoff({ to: "tester", task: "in-line", intent: "Do it after that" });
  }
  await send("stays-claimed", "reviewer");
  for await (const offer of reviewer.inbox({ task: "stays-claimed", wait: false })) {
    void offer;
    break;
  }
}
