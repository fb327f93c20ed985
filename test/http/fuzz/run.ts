/**
 * Fuzzed calls to a real hub over a real socket. Whatever is sent, the hub must answer, without a
 * 500 and as described, and must keep running; a refused call must store nothing.
 */
import { setTimeout as pause } from "node:timers/promises";
import { systemClock } from "../../../src/base/clock.ts";
import type { LocalHub } from "../../../src/hub/hub.ts";
import type { HubOptions } from "../../../src/index.ts";
import { type Random, randomFrom } from "../../support/random.ts";
import { ACTOR, factsOf, type Scene, SESSION, sceneOn } from "../scene.ts";
import { wrongIn, wrongInProblem } from "./answers.ts";
import { rawRequest, sendRaw } from "./bytes.ts";
import { type Described, describedOperations, saidIn } from "./described.ts";
import { type Spoiled, spoiled } from "./mutate.ts";
import { type FuzzReport, Report } from "./report.ts";
import { type Answer, Sender } from "./send.ts";
import { Stored } from "./stored.ts";

export interface Fuzzing {
  readonly hub: LocalHub;
  readonly port: number;
  /** The SQLite file behind the hub. */
  readonly file: string;
  readonly requests: number;
  readonly seed: number;
  /** Stops after this time. Default: no limit. */
  readonly forMs?: number;
  readonly onProgress?: (done: number) => void;
}

/**
 * Nothing but calls writes, so that no other write is mistaken for that of a refused call: leases are long,
 * and a hub with an injected clock sets no timers.
 */
export const FUZZED_HUB: HubOptions = { clock: systemClock, limits: { leaseMs: 24 * 3_600_000 } };

/**
 * Timeout of a call. No call asks to wait for more than 50 ms, so reaching it means that the hub
 * hangs.
 */
const ANSWER_TIMEOUT_MS = 60_000;
/** Number of calls on one scene. Calls change their scene, so it is replaced. */
const CALLS_IN_A_SCENE = 400;
/** Share of calls that are replaced by raw bytes. */
const RAW_SHARE = 0.2;
/** Operations that start a process or read everything; called less often. */
const SLOW: readonly string[] = ["memories.sql", "verify", "archive.export"];
const MOST_VIOLATIONS = 20;

export async function fuzz(fuzzing: Fuzzing): Promise<FuzzReport> {
  const { requests, seed, hub, port, file, onProgress = () => {} } = fuzzing;
  const stopAt = performance.now() + (fuzzing.forMs ?? Number.POSITIVE_INFINITY);
  const isOver = (report: Report): boolean =>
    report.violations.length >= MOST_VIOLATIONS || performance.now() > stopAt;
  const random = randomFrom(seed);
  const deck = new Deck(describedOperations().flatMap(oftenEnough), random);
  const report = new Report();
  using stored = new Stored(file);
  using sender = new Sender(ANSWER_TIMEOUT_MS);
  let stage: Stage | undefined;
  for (let n = 0; n < requests && !isOver(report); n++) {
    if (n % CALLS_IN_A_SCENE === 0 || stage === undefined) {
      stage = await stageIn(hub, `fuzz-${n}`);
      onProgress(n);
    }
    if (random.chance(RAW_SHARE)) await rawCall({ port, random, stored, report });
    else {
      const call = { operation: deck.next(), stage, random };
      await oneCall(call, { port, stored, sender, report });
    }
  }
  onProgress(requests);
  await goodCall(sender, port, report);
  return report;
}

interface Stage {
  readonly workspace: string;
  readonly scene: Scene;
  /** An admin token; calls without it have the access of the open hub. */
  readonly token: string;
}

async function stageIn(hub: LocalHub, workspace: string): Promise<Stage> {
  const beside = hub.beside(workspace);
  const scene = await sceneOn(beside);
  const { token } = await beside.tokens.add({ agent: "*", access: "admin" });
  return { workspace, scene, token };
}

/**
 * Repeats a PATCH operation once per property, so that each property gets as many calls as any
 * other operation.
 */
const oftenEnough = (operation: Described): Described[] =>
  operation.method === "PATCH"
    ? Object.keys(operation.body?.["properties"] ?? {}).map(() => operation)
    : [operation];

/** Operations in random order, each once before any is called again; slow ones only in every tenth turn. */
class Deck {
  readonly #operations: readonly Described[];
  readonly #random: Random;
  #left: Described[] = [];
  #turn = 0;

  constructor(operations: readonly Described[], random: Random) {
    this.#operations = operations;
    this.#random = random;
  }

  next(): Described {
    if (this.#left.length === 0) {
      const isSlowTurn = this.#turn++ % 10 === 0;
      this.#left = this.#operations.filter(({ name }) => isSlowTurn || !SLOW.includes(name));
    }
    return this.#left.splice(this.#random.below(this.#left.length), 1)[0] as Described;
  }
}

interface Call {
  readonly operation: Described;
  readonly stage: Stage;
  readonly random: Random;
}

interface Tools {
  readonly port: number;
  readonly stored: Stored;
  readonly sender: Sender;
  readonly report: Report;
}

async function oneCall(call: Call, { port, stored, sender, report }: Tools): Promise<void> {
  const { operation, stage, random } = call;
  const { workspace, scene, token } = stage;
  const facts = random.chance(0.8) ? (factsOf(scene)[operation.name] ?? {}) : {};
  const said = saidIn(operation, facts, { texts: scene.ids, random });
  const asked = spoiled(operation, said, { random, texts: scene.ids });
  const headers = {
    "baton-agent": ACTOR,
    "baton-session": SESSION,
    "baton-workspace": workspace,
    ...(random.chance(0.5) ? { authorization: `Bearer ${token}` } : {}),
    ...(asked.body === undefined ? {} : { "content-type": "application/json" }),
    ...asked.headers,
  };
  const before = stored.look();
  const { method, path, body } = asked;
  const answer = await sender
    .send({ port, method, path, headers, body })
    .catch((error: Error) => error);
  if (answer instanceof Error) {
    report.violation(asked, `no answer: ${answer.message}`);
    return;
  }
  report.count(asked.kind, answer.status);
  report.countMethod(asked.method);
  report.countOperation(operation.name, answer.status);
  for (const wrong of wrongAbout(operation, asked, answer)) report.violation(asked, wrong);
  if (answer.status < 300 && asked.method !== "HEAD") return;
  const after = stored.look();
  if (after !== before) report.stored(asked, `${answer.status}, yet ${before} became ${after}`);
}

function wrongAbout(operation: Described, { method, kind }: Spoiled, answer: Answer): string[] {
  const { status, type, body } = answer;
  if (method === "HEAD") return status === 500 ? ["500"] : [];
  if (status === 500 || status > 505) return [`${status}: ${body.slice(0, 500)}`];
  if (status >= 400 && type === "application/problem+json") return wrongInProblem(JSON.parse(body));
  const isItsOwn = status === 200 && type === "application/json" && kind !== "path";
  return isItsOwn && method === operation.method ? wrongIn(operation, JSON.parse(body)) : [];
}

async function rawCall({
  port,
  random,
  stored,
  report,
}: Omit<Tools, "sender"> & { readonly random: Random }): Promise<void> {
  const raw = rawRequest(random);
  const before = stored.look();
  const statuses = await sendRaw(port, raw);
  report.countRaw(raw.kind, statuses);
  const about = { name: "bytes", kind: raw.kind, body: raw.bytes.toString("latin1") };
  if (statuses.includes(500)) report.violation(about, "500");
  if (statuses.length === 0 && raw.mayBeGood) report.unheard++;
  if (statuses.some((status) => status < 300)) return;
  if (stored.look() !== before) report.stored(about, `${statuses}, yet something was stored`);
}

/** Checks that the hub still answers a valid call. */
async function goodCall(sender: Sender, port: number, report: Report): Promise<void> {
  await pause(50); // Lets interrupted requests end.
  const asked = { method: "GET", path: "/v1/totals", headers: {} };
  const answer = await sender.send({ port, ...asked }).catch((error: Error) => error);
  if (answer instanceof Error || answer.status !== 200) {
    report.violation(
      { name: "deliveries.totals", kind: "afterwards" },
      "the hub does not answer any more",
    );
  }
}
