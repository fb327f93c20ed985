/**
 * Runs a planned team: in each step a random agent acts in one of several processes on one store,
 * sometimes several at once. Processes die between any two operations; time passes, also beyond
 * leases, deadlines and decision timeouts. Then the team runs until nothing is open. This is one
 * class because all actions share its state: live processes, accepted work, confirmed decisions.
 */
import { setImmediate as turn } from "node:timers/promises";
import type { DecideResult, Decision } from "../../src/coordination/failures/decision.ts";
import {
  type Agent,
  type ErrorCode,
  type Hub,
  type HubOptions,
  isBatonError,
  LocalHub,
  type Store,
  type Work,
} from "../../src/index.ts";
import { isOpen, OPEN_STATES } from "../../src/store/rows.ts";
import { seededIds, seededRandom } from "../../src/testing/index.ts";
import { type Random, randomFrom } from "../support/random.ts";
import { mortalStore } from "./mortal-store.ts";
import {
  HOUR,
  MINUTE,
  OWNER,
  type PlannedAgent,
  type PlannedTask,
  planTeam,
  SECOND,
  type TeamPlan,
} from "./random-team.ts";
import {
  type ConfirmedDecision,
  type Held,
  LEAPS,
  LIMITS,
  LOST,
  lastEvent,
  type Played,
  type Process,
  ROUNDS,
  repeated,
  SETTLING,
  type Settling,
  type Stage,
  UNREACHABLE,
} from "./team-run.ts";

export class TeamPlay implements Played {
  readonly plan: TeamPlan;
  readonly hub: Hub;
  readonly tasks: PlannedTask[] = [];
  readonly held: Held[] = [];
  readonly confirmed: ConfirmedDecision[] = [];
  readonly takenBack = new Set<string>();
  readonly happened: string[] = [];
  /** Log of what happened, to diagnose a failure. */
  readonly trail: string[] = [];
  readonly #stage: Stage;
  readonly #random: Random;
  readonly #processes: (Process | undefined)[] = [];
  /** Not added yet, or added by a process that died before it got the result. */
  #toAdd: readonly PlannedTask[];
  /** Cancellations that the owner started and whose result it does not know. */
  readonly #toCancel = new Set<string>();
  #round = 0;
  #starts = 0;

  constructor(seed: number, stage: Stage) {
    this.plan = planTeam(seed);
    this.#stage = stage;
    this.#random = randomFrom(seed ^ 0x5eed);
    this.#toAdd = this.plan.tasks;
    this.hub = new LocalHub(stage.stores[0], this.#options(97, "none"));
  }

  async play(): Promise<void> {
    await this.#begin();
    for (let step = 0; step < this.plan.steps; step++) {
      const atOnce = this.#random.chance(0.3) ? 2 + this.#random.below(3) : 1;
      await Promise.all(Array.from({ length: atOnce }, () => this.#act(atOnce === 1)));
    }
    await this.#letRun();
  }

  #options(salt: number, kind: TeamPlan["function"]): HubOptions {
    const { clock, workspace } = this.#stage;
    const { seed, hops } = this.plan;
    const random = seededRandom(seed + salt);
    return {
      workspace,
      clock,
      ids: seededIds(seed * 1_000 + salt, clock),
      random,
      limits: { ...LIMITS, hops },
      processes: { self: "", isGone: () => false },
      embedder: false,
      files: false,
      ...(kind !== "none" && { coordinate: () => this.#consulted(kind) }),
    };
  }

  /** Returns the decision of the hub's `coordinate` function about a failure. */
  #consulted(kind: Exclude<TeamPlan["function"], "none">): Decision | undefined {
    this.#count(`function ${kind}`);
    switch (kind) {
      case "decides":
        return this.#decision("the function");
      case "passes":
        return undefined;
      case "throws":
        throw new Error("the function is broken");
      case "nonsense":
        return { decision: "reroute", reason: "" };
    }
  }

  async #begin(): Promise<void> {
    for (let n = 0; n < this.plan.processes; n++) await this.#start(n);
    for (const { name, rule } of this.plan.rules) await this.hub.failures.setRule(name, rule);
    const first = this.#toAdd.filter(({ isLate }) => !isLate);
    for (const task of first) await this.#add(task);
  }

  get #people(): readonly PlannedAgent[] {
    const { workers, coordinators, person } = this.plan;
    return [...workers, ...coordinators, ...(person ? [person] : [])];
  }

  /** Starts a process, or replaces one that died: the same agents in new sessions. */
  async #start(n: number): Promise<void> {
    const starts = ++this.#starts;
    const mortal = mortalStore(this.#stage.stores[n + 1] as Store);
    const hub = new LocalHub(mortal.store, this.#options(starts, this.plan.function));
    const agents = new Map<string, Agent>();
    const here = this.#people.filter(({ process }) => process === n);
    for (const { name, role, kind } of here)
      agents.set(name, await hub.agent(name, { role, kind }));
    if (n === 0) agents.set(OWNER, await hub.agent(OWNER, { role: "owner" }));
    this.#processes[n] = { mortal, hub, agents };
  }

  /** Returns an agent and its process, if that is alive. */
  #at(who: { readonly name: string; readonly process: number }): [Agent, Process] | undefined {
    const process = this.#processes[who.process];
    const agent = process?.agents.get(who.name);
    if (process === undefined || process.mortal.isDead || agent === undefined) return undefined;
    return [agent, process];
  }

  get #owner(): [Agent, Process] | undefined {
    return this.#at({ name: OWNER, process: 0 });
  }

  #act(isAlone: boolean): Promise<unknown> {
    const act = this.#random.pick<() => Promise<unknown>>([
      () => this.#pass(),
      ...repeated(8, () => this.#accept(this.#random.pick(this.plan.workers))),
      ...repeated(10, () => this.#work()),
      ...repeated(4, () => this.#coordinate()),
      ...repeated(3, () => this.#rival()),
      ...repeated(3, () => this.#pass()),
      ...repeated(3, () => this.#carryOut()),
      ...repeated(2, () => this.#addNext()),
      ...repeated(2, () => this.#answer()),
      ...repeated(2, () => this.#revive()),
      () => this.#crash(),
      () => this.#takeBack(),
      () => this.#cancelTask(),
      () => this.#pause(),
      ...(isAlone ? [() => this.#close(), () => this.#readBoard()] : []),
    ]);
    return act();
  }

  /** Runs an operation that may fail because its process died, or with one of the given codes. */
  async #attempt<T>(
    what: string,
    process: Process | undefined,
    run: () => Promise<T>,
    expected: readonly ErrorCode[] = [],
  ): Promise<{ readonly value: T } | { readonly refused: ErrorCode }> {
    try {
      const value = await run();
      this.#note(what);
      return { value };
    } catch (error) {
      if (!isBatonError(error)) throw error;
      const died = error.code === "store_closed" && process?.mortal.isDead === true;
      this.#note(`${what}: ${died ? "died" : error.code}`);
      if (died || expected.includes(error.code)) return { refused: error.code };
      throw new Error(`${what} was refused: ${error.code}: ${error.message}`, { cause: error });
    }
  }

  #note(what: string): void {
    this.trail.push(`${new Date(this.#stage.clock.now()).toISOString().slice(5, 19)} ${what}`);
  }

  #count(what: string): void {
    this.happened.push(what);
  }

  async #add(task: PlannedTask): Promise<void> {
    const owner = this.#owner;
    if (owner === undefined) return;
    const [agent, process] = owner;
    const { name, isLate: _, ...said } = task;
    const draft = { ...said, task: name, intent: `Do ${name}.`, key: `add ${name}` };
    const codes = ["task_closed", "unknown_task", ...UNREACHABLE] as const;
    const added = await this.#attempt(`add ${name}`, process, () => agent.tasks.add(draft), codes);
    if ("refused" in added && added.refused === "store_closed") return; // Repeated later.
    this.#toAdd = this.#toAdd.filter((each) => each !== task);
    if ("refused" in added) return this.#count("task refused");
    if (this.tasks.includes(task)) return; // Added concurrently with the same key.
    this.tasks.push(task);
    this.#count("task added");
  }

  async #addNext(): Promise<void> {
    const [next] = this.#toAdd;
    if (next !== undefined) await this.#add(next);
  }

  async #accept(who: PlannedAgent): Promise<Held | undefined> {
    const at = this.#at(who);
    if (at === undefined) return undefined;
    const [agent, process] = at;
    const taken = await this.#attempt(`${who.name} accepts`, process, () => agent.accept());
    if ("refused" in taken || taken.value === undefined) return undefined;
    const work = taken.value;
    const held = { by: who, work, in: process, at: this.#stage.clock.now(), isSettled: false };
    this.held.push(held);
    this.#count("accepted");
    work.signal.addEventListener("abort", () => this.#count("signal aborted"));
    this.#note(`${who.name} has ${work.delivery.task} ${work.id} try ${work.delivery.attempt}`);
    if (work.envelope.failure === undefined) await this.#requireReady(work);
    return held;
  }

  /** Throws if the work belongs to a task that still waits; checked right after accepting. */
  async #requireReady({ delivery: { task, id } }: Work): Promise<void> {
    const planned = this.plan.tasks.find(({ name }) => name === task);
    for (const dependency of planned?.after ?? []) {
      const entry = await this.#stage.stores[0].findEntry(
        this.#stage.workspace,
        "ledger",
        dependency,
      );
      const { closed } = JSON.parse(entry?.value ?? "{}") as { closed?: { as: string } };
      if (closed?.as === "done") continue;
      throw new Error(`${id} of ${task} was accepted while ${dependency} was not done`);
    }
  }

  /** Lets a random holder continue or settle its work. */
  async #work(): Promise<void> {
    const mine = this.held.filter(
      (each) => !each.isSettled && !each.in.mortal.isDead && each.by.manner === undefined,
    );
    if (mine.length === 0) return void (await this.#accept(this.#random.pick(this.plan.workers)));
    const held = this.#random.pick(mine as [Held, ...Held[]]);
    await this.#settle(held, this.#random.pick(SETTLING));
  }

  async #settle(held: Held, how: Settling): Promise<void> {
    const { work, by, in: process } = held;
    const what = `${by.name} ${how} ${work.id} of ${work.delivery.task}`;
    const failure = { attempted: `doing ${work.delivery.task}`, hints: ["look at types.ts"] };
    const run: Record<Settling, () => Promise<unknown>> = {
      note: () => work.note(`At ${work.delivery.task}.`),
      complete: () => work.complete({ summary: `${work.delivery.task} is finished.` }),
      handoff: () =>
        work.handoff({ to: this.#anyReceiver(), policy: this.#policyOf(work.delivery.task) }),
      retryable: () =>
        work.fail({ ...failure, type: "busy", class: "retryable", message: "Busy." }),
      permanent: () =>
        work.fail({ ...failure, type: "missing", class: "permanent", message: "Not there." }),
      decline: () => work.decline("Not mine."),
      ask: () => work.clarify("Which one?"),
      release: () => work.release(),
    };
    const codes = [...LOST, "work_extended", "task_closed", ...UNREACHABLE] as const;
    const done = await this.#attempt(what, process, run[how], codes);
    if ("refused" in done) {
      if (LOST.includes(done.refused)) held.isSettled = true;
      return;
    }
    if (how === "note") return;
    held.isSettled = true;
    this.#count(`settled: ${how}`);
  }

  /** Returns the policy of a task, for work that is handed on: only timeouts end it if unheld. */
  #policyOf(task: string): PlannedTask["policy"] {
    return this.plan.tasks.find(({ name }) => name === task)?.policy ?? {};
  }

  #anyReceiver(): string {
    const { name, role } = this.#random.pick(this.plan.workers);
    return this.#random.chance(0.4) ? `role:${role}` : name;
  }

  #decision(by: string): Decision {
    const late = this.#round > 40;
    const reason = `${by} says so.`;
    const decision = late
      ? "abort"
      : this.#random.pick(["retry", "retry", "reroute", "reroute", "ask", "abort"] as const);
    switch (decision) {
      case "retry":
        return { decision, reason, ...(this.#random.chance(0.4) && { delayMs: MINUTE }) };
      case "reroute":
        return { decision, reason, to: this.#anyReceiver() };
      case "ask":
        return { decision, reason, ...(this.#random.chance(0.3) && { to: "kim" }) };
      case "abort":
        return { decision, reason };
    }
  }

  get #deciders(): readonly PlannedAgent[] {
    const { coordinators, person } = this.plan;
    return [...coordinators, ...(person ? [person] : [])];
  }

  /** Lets a coordinator, or the person, act in its manner. */
  async #coordinate(): Promise<void> {
    if (this.#deciders.length === 0) return;
    const who = this.#random.pick(this.#deciders as [PlannedAgent, ...PlannedAgent[]]);
    if (who.manner === "absent") return;
    const now = this.#stage.clock.now();
    const mine = this.held.filter(({ by, isSettled }) => by === who && !isSettled);
    const ripe = mine.filter(({ at }) => who.manner === "present" || now - at > HOUR);
    const [held] = ripe;
    if (who.manner === "silent" || held === undefined) {
      if (mine.length < 3) await this.#accept(who);
      return;
    }
    if (held.work.envelope.failure === undefined) return this.#settle(held, "complete");
    await this.#decide(who, held.work, held);
  }

  async #decide(
    who: PlannedAgent,
    about: string | Work,
    held?: Held,
  ): Promise<DecideResult | undefined> {
    const at = this.#at(who);
    if (held !== undefined && at?.[1] !== held.in) held.isSettled = true; // Its process died.
    if (at === undefined || held?.isSettled) return undefined;
    const [agent, process] = at;
    const decision = this.#decision(who.name);
    const id = typeof about === "string" ? about : about.id;
    const what = `${who.name} decides ${decision.decision} ${decision.to ?? ""} about ${id}`;
    const codes = ["not_open", "not_permitted", "unknown_agent", "work_extended", ...LOST] as const;
    const decided = await this.#attempt(
      what,
      process,
      () => agent.failures.decide(about, decision),
      codes,
    );
    if ("refused" in decided) {
      if (held !== undefined && LOST.includes(decided.refused)) held.isSettled = true;
      return undefined;
    }
    const { value: answer } = decided;
    this.#count(`answer: ${answer.kind}`);
    this.#note(`… ${answer.kind}${"decision" in answer ? ` ${answer.decision}` : ""}`);
    if (held !== undefined) held.isSettled = true;
    if (answer.kind === "decided") this.confirmed.push({ answer, by: who.name });
    return answer;
  }

  /** Lets all coordinators decide about the same failure at the same time. */
  async #rival(): Promise<void> {
    const rivals = this.plan.coordinators.filter(({ manner }) => manner !== "absent");
    if (rivals.length === 0) return;
    const waiting = (await this.hub.failures.list({ undecided: true })).items;
    if (waiting.length === 0) return;
    const { delivery, report } = this.#random.pick(
      waiting as [(typeof waiting)[0], ...typeof waiting],
    );
    const about = this.#random.chance(0.5) && report !== undefined ? report : delivery;
    const answers = await Promise.all(rivals.map((who) => this.#decide(who, about)));
    const stands = answers.filter((answer) => answer?.kind === "decided");
    if (answers.length > 1) this.#count("rivals");
    if (stands.length > 1) throw new Error(`${stands.length} decisions about ${delivery} stand`);
  }

  async #pass(): Promise<void> {
    const ms = this.#random.pick([
      SECOND,
      20 * SECOND,
      MINUTE,
      MINUTE,
      11 * MINUTE,
      25 * MINUTE,
      HOUR,
    ]);
    this.#stage.clock.advance(ms);
  }

  async #carryOut(process = this.#anyProcess()): Promise<void> {
    if (process === undefined || process.mortal.isDead) return;
    await this.#attempt("carry out", process, () => process.hub.deliveries.runDue());
  }

  async #answer(): Promise<void> {
    const owner = this.#owner;
    if (owner === undefined) return;
    const asked = await this.#attempt("questions", owner[1], () => owner[0].questions.list());
    if ("refused" in asked) return;
    // The agent that handed it on is asked, and may be gone by now: the owner answers for it.
    const others = await Promise.all(
      this.plan.workers.map(async (who) => {
        const at = this.#at(who);
        const mine = at && (await this.#attempt("questions", at[1], () => at[0].questions.list()));
        return mine === undefined || "refused" in mine ? [] : mine.value;
      }),
    );
    for (const { delivery } of [...asked.value, ...others.flat()]) {
      const say = () => owner[0].questions.answer(delivery.id, "That one.");
      const answered = await this.#attempt(`answer ${delivery.id}`, owner[1], say, ["not_open"]);
      if (!("refused" in answered)) this.#count("question answered");
    }
  }

  #anyProcess(): Process | undefined {
    return this.#random.pick(this.#processes as [Process, ...Process[]]);
  }

  async #crash(): Promise<void> {
    const process = this.#anyProcess();
    if (process === undefined || process.mortal.isDead) return;
    this.#count("crash");
    this.#note("a process dies soon");
    process.mortal.dieIn(this.#random.below(15));
  }

  async #revive(): Promise<void> {
    for (const [n, process] of this.#processes.entries()) {
      if (process?.mortal.isDead) {
        this.#processes[n] = undefined;
        await this.#start(n);
        this.#note(`process ${n} begins anew`);
        return;
      }
    }
  }

  /** Pauses or resumes a random agent. */
  async #pause(): Promise<void> {
    const { name } = this.#random.pick(this.#people as [PlannedAgent, ...PlannedAgent[]]);
    const isBack = this.#random.chance(0.5);
    await (isBack ? this.hub.agents.unpause(name) : this.hub.agents.pause(name));
    this.#note(`${name} is ${isBack ? "resumed" : "paused"}`);
  }

  /** Cancels all open handoffs of a task; from then on only an explicit close ends it. */
  async #takeBack(): Promise<void> {
    const owner = this.#owner;
    const task = this.#anyTask();
    if (owner === undefined || task === undefined || !this.#random.chance(0.3)) return;
    this.takenBack.add(task.name);
    const [agent, process] = owner;
    const cancel = () => agent.tasks.cancelHandoffs(task.name, "Not needed.");
    await this.#attempt(`take back ${task.name}`, process, cancel);
    this.#count("taken back");
  }

  async #cancelTask(): Promise<void> {
    const task = this.#anyTask();
    if (task === undefined || !this.#random.chance(0.4)) return;
    this.#toCancel.add(task.name);
    await this.#cancelNow(task.name);
  }

  async #cancelNow(task: string): Promise<void> {
    const owner = this.#owner;
    if (owner === undefined) return;
    const [agent, process] = owner;
    const cancel = () => agent.tasks.cancel(task, "Not needed any more.");
    const ended = await this.#attempt(`cancel ${task}`, process, cancel, ["task_closed"]);
    if ("refused" in ended && ended.refused === "store_closed") return;
    this.#toCancel.delete(task);
    if (!("refused" in ended)) this.#count("task cancelled");
  }

  #anyTask(): PlannedTask | undefined {
    if (this.tasks.length === 0) return undefined;
    return this.#random.pick(this.tasks as [PlannedTask, ...PlannedTask[]]);
  }

  /** Closes a task explicitly, and checks that this works only if nothing of it is open. */
  async #close(only?: PlannedTask): Promise<void> {
    const owner = this.#owner;
    const task = only ?? this.#anyTask();
    if (owner === undefined || task === undefined) return;
    const before = await this.hub.tasks.get(task.name);
    const open = before.deliveries.filter(({ state }) => isOpen(state));
    const isFree = open.length === 0 && before.openChildren === 0;
    const isMine = task.closing === "manual" || this.takenBack.has(task.name);
    if (isFree && before.closed === undefined && !isMine) return;
    const [agent, process] = owner;
    const as = this.takenBack.has(task.name) ? "cancelled" : "done";
    const close = () => agent.tasks.close(task.name, { as, reason: "Seen, and that is that." });
    const closed = await this.#attempt(`close ${task.name}`, process, close, [
      "task_open",
      "task_closed",
    ]);
    const said = "refused" in closed ? closed.refused : "done";
    if (said === "store_closed") return;
    const expected = before.closed !== undefined ? "task_closed" : isFree ? "done" : "task_open";
    if (said !== expected) throw new Error(`closing ${task.name}: ${said}, not ${expected}`);
    this.#count(`closing: ${said}`);
  }

  async #readBoard(): Promise<void> {
    await this.hub.tasks.board();
  }

  /** Lets the remaining agents work and time pass until nothing is open. */
  async #letRun(): Promise<void> {
    for (const { name } of this.plan.workers) await this.hub.agents.unpause(name);
    for (this.#round = 1; this.#round <= ROUNDS; this.#round++) {
      for (const [n, process] of this.#processes.entries()) {
        if (process?.mortal.isDead !== false) await this.#start(n);
      }
      for (const task of this.#toAdd) await this.#add(task);
      for (const task of this.#toCancel) await this.#cancelNow(task);
      if ((await this.hub.deliveries.totals()).byState.waiting > 0) await this.#answer();
      if (this.plan.later === "diligent") await this.#workOff();
      for (const process of this.#processes) await this.#carryOut(process);
      if (await this.#isOver()) return this.#settleDown();
      this.#stage.clock.advance(this.#random.pick(LEAPS[this.plan.later]));
    }
    throw new Error(`not over after ${ROUNDS} rounds:\n${await this.#standing()}`);
  }

  async #workOff(): Promise<void> {
    for (const who of this.plan.workers) {
      for (let n = 0; n < 3 && (await this.#accept(who)) !== undefined; n++);
    }
    for (const held of this.held) {
      if (held.isSettled || held.in.mortal.isDead || held.by.manner !== undefined) continue;
      const isWell = this.#round > 15 || this.#random.chance(0.8);
      await this.#settle(held, isWell ? "complete" : this.#random.pick(["retryable", "permanent"]));
    }
    for (let n = 0; n < 2; n++) await this.#coordinate();
    if (this.#random.chance(0.3)) await this.#rival();
  }

  /**
   * Returns whether everything has ended. Reading the board closes tasks that a dead process left
   * unclosed; the owner closes the rest.
   */
  async #isOver(): Promise<boolean> {
    const { byState } = await this.hub.deliveries.totals();
    const isQuiet = OPEN_STATES.every((state) => byState[state] === 0);
    if (!isQuiet && this.#round % 4 !== 0) return false;
    const left = (await this.hub.tasks.board()).items.map(({ task }) => task);
    for (const task of this.tasks) {
      const isMine = task.closing === "manual" || this.takenBack.has(task.name);
      if (isMine && left.includes(task.name)) await this.#close(task);
    }
    return isQuiet && left.length === 0 && this.#toAdd.length === 0;
  }

  /** Checks that nothing changes any more, however much time passes. */
  async #settleDown(): Promise<void> {
    if (this.#round > 50) this.#count("over after more than 50 rounds");
    const before = await lastEvent(this.hub);
    for (let n = 0; n < 3; n++) {
      this.#stage.clock.advance(13 * HOUR);
      await this.hub.deliveries.runDue();
      await turn();
    }
    const after = await lastEvent(this.hub);
    if (after !== before) throw new Error(`went on after all was over: ${before} to ${after}`);
  }

  async #standing(): Promise<string> {
    const infos = await Promise.all(this.tasks.map(({ name }) => this.hub.tasks.get(name)));
    const open = infos.filter(({ closed }) => closed === undefined);
    return JSON.stringify(
      open.map(({ task, state, why, deliveries, parent, after }) => {
        const undone = deliveries.filter(({ state }) => isOpen(state));
        return { task, state, why, parent, after, undone };
      }),
      undefined,
      1,
    );
  }
}
