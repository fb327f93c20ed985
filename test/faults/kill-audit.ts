/**
 * Audits the store after the kills: compares what was acknowledged with what is stored. Reads the
 * rows directly, so that a faulty reader cannot hide a lost write.
 */
import { sha256 } from "../../src/base/digest.ts";
import type { Hub } from "../../src/index.ts";
import { isPostgresAddress } from "../../src/store/postgres/address.ts";
import type { TrailStep } from "../../src/store/rows.ts";
import { rowsAtAddress } from "../support/postgres/rows.ts";
import { present } from "../support/present.ts";
import { dumpStore, type StoreDump, type StoreRow } from "../support/store-dump.ts";
import type { Fact, FactOf, PlacedMemory, SentFact } from "./kill-facts.ts";

const ACCEPTED = 3;
const COMPLETED = 5;
const DECLINED = 6;
const FIRST_TERMINAL = 5;

export interface Acknowledged {
  readonly facts: readonly Fact[];
  /** Deliveries that the run itself completed after the kills, with their attempt. */
  readonly takenOver: ReadonlyMap<string, number>;
}

interface Findings {
  readonly violations: readonly string[];
  readonly redelivered: number;
}

export async function audit(
  hub: Hub,
  address: string,
  acknowledged: Acknowledged,
): Promise<Findings> {
  const ledger = new Ledger(await rowsAt(address));
  const found = new Audit(ledger);
  for (const fact of acknowledged.facts) found.check(fact);
  found.takenOver(acknowledged.takenOver);
  found.holds(acknowledged.facts);
  found.oncePerDelivery(acknowledged);
  found.envelopesAndRecords();
  found.numbers();
  await found.totals(hub);
  return { violations: found.violations, redelivered: found.redelivered };
}

/** Counts the acknowledged acceptances that ended, or can only end, without a settlement. */
export async function countLostHolds(address: string, facts: readonly Fact[]): Promise<number> {
  const { deliveries, attempts } = new Ledger(await rowsAt(address));
  const lost = facts.filter((fact) => {
    if (fact.kind !== "accepted") return false;
    const { state, attempt } = deliveries.get(fact.delivery) ?? {};
    const own = attempts.get(fact.delivery)?.find((each) => each["attempt"] === fact.attempt);
    const isHeld = state === ACCEPTED && attempt === fact.attempt;
    return isHeld || own?.["outcome"] === "expired";
  });
  return lost.length;
}

function rowsAt(address: string): Promise<StoreDump> | StoreDump {
  return isPostgresAddress(address) ? rowsAtAddress(address) : dumpStore(fileAt(address));
}

function fileAt(address: string): string {
  return address.slice("sqlite:".length);
}

/** On SQLite, the events of a commit share a row. */
function eventsIn({ last, count, text }: StoreRow): StoreRow[] {
  const first = Number(last) - Number(count) + 1;
  const events = JSON.parse(String(text)) as readonly (readonly (string | number)[])[];
  return events.map(([, kind = "", , , delivery = ""], i) => ({
    number: first + i,
    kind,
    delivery,
  }));
}

/** The rows of the store by id. A duplicate id is a violation. */
class Ledger {
  readonly memories: ReadonlyMap<string, StoreRow>;
  readonly positions: ReadonlyMap<number, StoreRow>;
  readonly envelopes: ReadonlyMap<string, StoreRow>;
  readonly deliveries: ReadonlyMap<string, StoreRow>;
  /** Ended attempts by delivery. */
  readonly attempts: ReadonlyMap<string, readonly StoreRow[]>;
  readonly events: readonly StoreRow[];
  readonly repeated: string[] = [];

  constructor(dump: StoreDump) {
    const { memories = [], envelopes = [], deliveries = [], attempts = [] } = dump;
    this.memories = this.#byId(memories);
    this.positions = new Map(memories.map((row) => [row["pos"] as number, row]));
    this.envelopes = this.#byId(envelopes);
    this.deliveries = this.#byId(deliveries);
    this.attempts = Map.groupBy(attempts, (row) => row["delivery"] as string);
    this.events = dump["events"] ?? present(dump["event_groups"]).flatMap(eventsIn);
  }

  #byId(rows: readonly StoreRow[]): Map<string, StoreRow> {
    const byId = new Map<string, StoreRow>();
    for (const row of rows) {
      const id = row["id"] as string;
      if (byId.has(id)) this.repeated.push(id);
      byId.set(id, row);
    }
    return byId;
  }
}

/** The fields of a record's text that the audit checks. */
interface Authored {
  readonly type?: string;
  readonly data?: { readonly outputs?: { readonly answer?: number } };
  readonly envelope?: { readonly digest: string; readonly id: string };
  readonly trail?: readonly TrailStep[];
}

function authoredOf(row: StoreRow | undefined): Authored {
  return JSON.parse(String(row?.["text"] ?? "{}")) as Authored;
}

/** Returns the deliveries that a record completed. */
function completedBy(row: StoreRow | undefined): string[] {
  const trail = authoredOf(row).trail ?? [];
  return trail.flatMap((step) => (step.verb === "complete" ? [step.delivery] : []));
}

function digestOf(row: StoreRow | undefined): string | undefined {
  return row && sha256(String(row["text"]));
}

class Audit {
  readonly #ledger: Ledger;
  readonly violations: string[];
  redelivered = 0;

  constructor(ledger: Ledger) {
    this.#ledger = ledger;
    this.violations = ledger.repeated.map((id) => `${id} is stored twice`);
  }

  check(fact: Fact): void {
    switch (fact.kind) {
      case "remembered":
      case "noted":
        this.#memory(fact);
        break;
      case "sent":
        this.#sent(fact);
        break;
      case "accepted":
        this.#record(fact.memory, `acceptance of ${fact.delivery}`);
        this.#delivery(fact.delivery);
        break;
      case "completed":
        this.#completed(fact.delivery, fact);
        this.#result(fact);
        break;
      case "handed-on":
        this.#completed(fact.delivery, { attempt: fact.attempt, memory: fact.next.memory });
        this.#sent(fact.next);
        break;
      case "declined":
        this.#declined(fact);
        this.#ended(fact, "declined");
        break;
      case "failed":
      case "released":
        this.#ended(fact, fact.kind);
        break;
      case "error":
        this.violations.push(`a child was thrown at: ${fact.message}`);
        break;
      case "under-way":
      case "lost":
        break;
    }
  }

  /** Checks that each delivery the run took over is completed, by the attempt that took it over. */
  takenOver(taken: ReadonlyMap<string, number>): void {
    for (const [delivery, attempt] of taken) {
      const row = this.#delivery(delivery);
      this.#same(`${delivery} state`, row?.["state"], COMPLETED);
      this.#same(`${delivery} attempt`, row?.["attempt"], attempt);
    }
  }

  /**
   * Checks that every accepted attempt has ended: by its own settlement (acknowledged or not), or
   * by an expired lease, after which the delivery was redelivered.
   */
  holds(facts: readonly Fact[]): void {
    for (const fact of facts) {
      if (fact.kind !== "accepted") continue;
      const { delivery, attempt } = fact;
      const row = this.#delivery(delivery);
      const ended = this.#ledger.attempts.get(delivery) ?? [];
      const own = ended.filter((each) => each["attempt"] === attempt);
      if (own.length > 1) this.violations.push(`${delivery} attempt ${attempt} ended twice`);
      if (own[0]?.["outcome"] === "expired") this.redelivered++;
      const last = row?.["attempt"] === attempt && Number(row["state"]) >= FIRST_TERMINAL;
      if (own.length === 0 && !last) {
        this.violations.push(`${delivery} attempt ${attempt} began and never ended`);
      }
    }
    for (const { id, state } of this.#ledger.deliveries.values() as Iterable<StoreRow>) {
      if (Number(state) < FIRST_TERMINAL) this.violations.push(`${id} was never taken over`);
    }
  }

  /** Checks that no attempt was accepted twice and that no delivery was completed twice. */
  oncePerDelivery({ facts, takenOver }: Acknowledged): void {
    const accepted = facts.filter((fact): fact is FactOf<"accepted"> => fact.kind === "accepted");
    this.#unique(accepted.map(({ delivery, attempt }) => `attempt ${attempt} of ${delivery}`));
    const completed = facts.filter(
      (fact): fact is FactOf<"completed" | "handed-on"> =>
        fact.kind === "completed" || fact.kind === "handed-on",
    );
    const completions = [...completed.map(({ delivery }) => delivery), ...takenOver.keys()];
    this.#unique(completions.map((delivery) => `completion of ${delivery}`));
    const events = this.#ledger.events.filter((event) => event["kind"] === "completed");
    this.#unique(events.map((event) => `completed event of ${event["delivery"]}`));
    const results = [...this.#ledger.memories.values()].flatMap((row) => completedBy(row));
    this.#unique(results.map((delivery) => `result of ${delivery}`));
  }

  /** Checks that each envelope matches the handoff record at its position, one to one. */
  envelopesAndRecords(): void {
    const records = [...this.#ledger.memories.values()];
    const handoffs = records.filter((row) => authoredOf(row).type === "handoff");
    this.#same("handoff records", handoffs.length, this.#ledger.envelopes.size);
    for (const envelope of this.#ledger.envelopes.values()) {
      const record = this.#ledger.positions.get(envelope["pos"] as number);
      const vouched = authoredOf(record).envelope;
      this.#same(`record of ${envelope["id"]}`, vouched?.id, envelope["id"]);
      this.#same(`digest of ${envelope["id"]}`, vouched?.digest, digestOf(envelope));
    }
  }

  /** Checks that chain positions and event numbers count from 1, without gaps or duplicates. */
  numbers(): void {
    const places = Map.groupBy(this.#ledger.memories.values(), (row) => row["chain"]);
    for (const [chain, rows] of places) this.#counted(`chain ${chain}`, rows, "seq");
    this.#counted("the events", this.#ledger.events, "number");
  }

  #counted(what: string, rows: readonly StoreRow[], column: string): void {
    const numbers = rows.map((row) => Number(row[column])).sort((a, b) => a - b);
    const wrong = numbers.findIndex((number, index) => number !== index + 1);
    if (wrong >= 0) this.violations.push(`${what}: ${numbers[wrong]} follows ${wrong}`);
  }

  async totals(hub: Hub): Promise<void> {
    const { envelopes, deliveries, byState } = await hub.deliveries.totals();
    const sum = Object.values(byState).reduce((total, each) => total + each, 0);
    this.#same("deliveries over all states", sum, deliveries);
    this.#same("deliveries counted", deliveries, this.#ledger.deliveries.size);
    this.#same("envelopes counted", envelopes, this.#ledger.envelopes.size);
    const report = await hub.verify();
    this.#same("memories verified", report.memories, this.#ledger.memories.size);
    for (const problem of report.problems) {
      this.violations.push(`verify: ${problem.record} ${problem.field} ${problem.message}`);
    }
  }

  #memory(fact: PlacedMemory): void {
    const row = this.#record(fact.id, "memory");
    this.#same(`${fact.id} seq`, row?.["seq"], fact.seq);
    this.#same(`${fact.id} digest`, digestOf(row), fact.digest);
    this.#same(`${fact.id} link`, row?.["link"], fact.link);
  }

  #sent(fact: SentFact): void {
    const envelope = this.#ledger.envelopes.get(fact.envelope);
    this.#same(`${fact.envelope} digest`, digestOf(envelope), fact.digest);
    this.#record(fact.memory, `handoff of ${fact.envelope}`);
    this.#delivery(fact.delivery);
  }

  #completed(delivery: string, by: { attempt: number; memory: string }): void {
    const row = this.#delivery(delivery);
    this.#same(`${delivery} state`, row?.["state"], COMPLETED);
    this.#same(`${delivery} attempt`, row?.["attempt"], by.attempt);
    this.#same(`${delivery} settled by`, row?.["settled_by"], by.memory);
    this.#record(by.memory, `result of ${delivery}`);
  }

  #result(fact: FactOf<"completed">): void {
    const record = this.#ledger.memories.get(fact.memory);
    const envelope = this.#delivery(fact.delivery)?.["envelope"];
    this.#same(`envelope of ${fact.delivery}`, envelope, fact.envelope);
    this.#same(`result of ${fact.delivery}`, completedBy(record)[0], fact.delivery);
    this.#same(`answer of ${fact.delivery}`, authoredOf(record).data?.outputs?.answer, 42);
  }

  #declined(fact: FactOf<"failed" | "declined">): void {
    this.#same(`${fact.delivery} state`, this.#delivery(fact.delivery)?.["state"], DECLINED);
  }

  #ended(fact: FactOf<"failed" | "declined" | "released">, outcome: string): void {
    if ("memory" in fact) this.#record(fact.memory, `${outcome} attempt of ${fact.delivery}`);
    const ended = this.#ledger.attempts.get(fact.delivery) ?? [];
    const own = ended.find((row) => row["attempt"] === fact.attempt);
    this.#same(`${fact.delivery} attempt ${fact.attempt}`, own?.["outcome"], outcome);
  }

  #record(id: string, what: string): StoreRow | undefined {
    const row = this.#ledger.memories.get(id);
    if (row === undefined) this.violations.push(`${what}: ${id} was acknowledged and is gone`);
    return row;
  }

  #delivery(id: string): StoreRow | undefined {
    const row = this.#ledger.deliveries.get(id);
    if (row === undefined) this.violations.push(`${id} was acknowledged and is gone`);
    return row;
  }

  #unique(names: readonly string[]): void {
    for (const [name, group] of Map.groupBy(names, (each) => each)) {
      if (group.length > 1) this.violations.push(`${name} happened ${group.length} times`);
    }
  }

  #same(what: string, is: unknown, should: unknown): void {
    if (is !== should) this.violations.push(`${what} is ${is}, was acknowledged as ${should}`);
  }
}
