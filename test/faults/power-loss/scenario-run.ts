/** Runs one scenario against the real store, and notes each answer the moment the caller has it. */
import { closeSync, mkdirSync, openSync, statSync, writeSync } from "node:fs";
import { constants } from "node:os";
import { join } from "node:path";
import { type Agent, type Hub, isBatonError, openHub } from "../../../src/index.ts";
import { type Random, randomFrom } from "../../support/random.ts";
import { until } from "../../support/until.ts";
import {
  CONTROL,
  ERASED,
  type Fault,
  NOTES,
  type Note,
  type Scenario,
  STORE,
} from "./scenarios.ts";

const ATTEMPTS = 3;
/** Records of one commit in a long scenario: about 25 pages of the log. */
const BATCH = 12;
/** A checkpoint begins at 2,000 pages. */
const BATCHES_TO_CHECKPOINT = 100;

/** One scenario, as it runs in the recorded process. */
export class ScenarioRun {
  readonly #folder: string;
  readonly #scenario: Scenario;
  readonly #random: Random;
  readonly #notes: number;
  #items = 0;

  constructor(folder: string, scenario: Scenario) {
    mkdirSync(folder);
    this.#folder = folder;
    this.#scenario = scenario;
    this.#random = randomFrom(scenario.seed);
    this.#notes = openSync(join(folder, NOTES), "a");
  }

  async go(): Promise<void> {
    const { kind, fault } = this.#scenario;
    if (kind === "short") {
      this.#setFault(fault);
      await this.#everyKind();
      await this.#afterwards();
    } else {
      await this.#checkpoints();
    }
    this.#setFault(undefined);
    closeSync(this.#notes);
  }

  async #everyKind(): Promise<void> {
    const hub = await this.#open();
    if (hub === undefined) return;
    const ada = await this.#attempt("agent", () => hub.agent("ada", { role: "writer" }));
    const bob = await this.#attempt("agent", () => hub.agent("bob", { role: "reader" }));
    if (ada !== undefined && bob !== undefined) {
      await this.#remember(ada);
      await Promise.all([this.#remember(ada), this.#remember(bob), this.#remember(ada)]);
      await this.#handOver(ada, bob);
      await this.#redactOne(ada);
      await this.#remember(ada);
    }
    await this.#attempt("close", () => hub.close());
  }

  async #afterwards(): Promise<void> {
    const hub = await this.#open();
    const ada = hub && (await this.#attempt("agent", () => hub.agent("ada", { role: "writer" })));
    if (ada !== undefined) await this.#remember(ada);
    await this.#attempt("close", async () => hub?.close());
  }

  /** The reader's snapshot keeps the first checkpoint from completing; the next one has to. */
  async #checkpoints(): Promise<void> {
    const hub = await openHub(`sqlite:${this.#file}`);
    const ada = await hub.agent("ada", { role: "writer" });
    await this.#rememberMany(ada, BATCHES_TO_CHECKPOINT / 2);
    const reader = hub.archive.export()[Symbol.asyncIterator]();
    await reader.next();
    const before = statSync(this.#file).size;
    await until("an incomplete checkpoint", async () => {
      await this.#rememberMany(ada, 10);
      return statSync(this.#file).size > before;
    });
    this.#setFault(this.#scenario.fault);
    await reader.return?.(undefined);
    await this.#rememberMany(ada, 2 * BATCHES_TO_CHECKPOINT);
    await this.#attempt("close", () => hub.close());
    this.#note({ failed: "nothing", code: "closed" });
  }

  get #file(): string {
    return join(this.#folder, STORE);
  }

  #open(): Promise<Hub | undefined> {
    return this.#attempt("open", () => openHub(`sqlite:${this.#file}`));
  }

  async #rememberMany(agent: Agent, batches: number): Promise<void> {
    for (let n = 0; n < batches; n++) {
      const items = Array.from({ length: BATCH }, () => this.#items++);
      const contents = items.map((item) => ({ content: this.#contentOf(item) }));
      await this.#store(items, () => agent.remember(contents));
    }
  }

  async #remember(agent: Agent): Promise<void> {
    const item = this.#items++;
    const content = this.#contentOf(item);
    await this.#store([item], () => agent.remember({ content }));
  }

  #contentOf(item: number): string {
    return `item-${item} ${"x".repeat(this.#random.below(14_000))}`;
  }

  /** Repeats a write that failed, as a caller would. */
  async #store(items: readonly number[], write: () => Promise<unknown>): Promise<void> {
    for (let n = 0; n < ATTEMPTS; n++) {
      const outcome = await write().then(() => "stored" as const, outcomeOf);
      for (const item of items) this.#note({ item, outcome });
      if (outcome === "stored") return;
    }
  }

  async #handOver(from: Agent, to: Agent): Promise<void> {
    const task = `task-${this.#items}`;
    const sent = await this.#attempt("handoff", () =>
      from.handoff({ to: to.id, task, intent: "Survive", key: task }),
    );
    if (sent !== undefined) this.#note({ envelope: sent.envelope.id });
    const work = await this.#attempt("accept", () => to.accept());
    if (work === undefined) return;
    const done = await this.#attempt("complete", () => work.complete());
    if (done !== undefined) this.#note({ completed: work.id });
  }

  async #redactOne(agent: Agent): Promise<void> {
    const content = ERASED.repeat(200);
    const memory = await this.#attempt("remember", () => agent.remember({ content }));
    if (memory === undefined) return;
    const redact = () => agent.memories.redact({ ids: [memory.id] }, "Tested");
    const report = await this.#attempt("redact", redact);
    if (report === undefined) return;
    const fromFiles = !report.beyond.some((place) => /^(The store's log|Free space)/.test(place));
    this.#note({ redacted: memory.id, fromFiles });
  }

  async #attempt<T>(what: string, call: () => Promise<T>): Promise<T | undefined> {
    for (let n = 0; n < ATTEMPTS; n++) {
      try {
        return await call();
      } catch (error) {
        if (!isBatonError(error)) throw error;
        this.#note({ failed: what, code: error.code });
      }
    }
    return undefined;
  }

  #note(note: Note): void {
    writeSync(this.#notes, `${JSON.stringify(note)}\n`);
  }

  #setFault(fault: Fault | undefined): void {
    const control = openSync(join(this.#folder, CONTROL), "a");
    writeSync(control, fault === undefined ? "none" : lineOf(fault));
    closeSync(control);
  }
}

const lineOf = ({ op, file, skip, times, error }: Fault): string =>
  `${op} ${file} ${skip} ${times} ${constants.errno[error]}\n`;

function outcomeOf(error: unknown): "refused" | "uncertain" {
  if (!isBatonError(error)) throw error;
  return error.details?.["uncertain"] === true ? "uncertain" : "refused";
}
