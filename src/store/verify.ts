/**
 * Verification: reads everything a workspace holds and compares it with its own hashes. Works on
 * rows from any store, so that "tampered" means the same everywhere. Never repairs, never
 * re-hashes: it names each record and field that is not as it was written.
 */
import { sha256 } from "../canonical.ts";
import { signatureHolds } from "../keys.ts";
import { genesis, nextLink } from "./chain.ts";
import {
  type AgentRow,
  agentDigest,
  DELIVERY_STATES,
  type DeliveryRow,
  type EnvelopeRow,
  isHeld,
  type MemoryRow,
  type RelationEdge,
} from "./rows.ts";
import type { Problem, VerifyProgress, VerifyReport } from "./store.ts";

type Rows<Row> = Iterable<Row> | AsyncIterable<Row>;
type Maybe<Row> = Row | undefined | Promise<Row | undefined>;

/** How a store shows all it has of one workspace. */
export interface VerifySource {
  readonly workspace: string;
  readonly total: number;
  agents(): Rows<AgentRow>;
  /** Every name an agent can be found under. */
  names(): Rows<{ readonly name: string; readonly agent: string }>;
  heads(): Rows<{ readonly branch: string; readonly seq: number; readonly link: string }>;
  /** In chain order. */
  memories(branch: string): Rows<MemoryRow>;
  memory(id: string): Maybe<MemoryRow>;
  relations(source: string): readonly RelationEdge[] | Promise<readonly RelationEdge[]>;
  countRelations(): number | Promise<number>;
  envelopes(): Rows<EnvelopeRow>;
  envelope(id: string): Maybe<EnvelopeRow>;
  deliveries(): Rows<DeliveryRow>;
}

interface Authored {
  readonly id: string;
  readonly agent: string;
  readonly instance: string;
  readonly key?: string;
  readonly type: string;
  readonly data?: { readonly envelope?: string; readonly digest?: string };
  readonly relations?: readonly { kind: string; to: string; from?: number; until?: number }[];
}

/** How often progress is told, in rows. */
const PROGRESS_EVERY = 5_000;
/** Links a record may follow from while the ones before it are in doubt. */
const MOST_CANDIDATES = 16;

export async function verifyWorkspace(
  source: VerifySource,
  onProgress: (progress: VerifyProgress) => void = () => {},
): Promise<VerifyReport> {
  const audit = new Audit(source, onProgress);
  await audit.agents();
  await audit.chains();
  await audit.envelopes();
  await audit.deliveries();
  return audit.report();
}

class Audit {
  readonly #source: VerifySource;
  readonly #onProgress: (progress: VerifyProgress) => void;
  readonly #problems: Problem[] = [];
  readonly #agents = new Map<string, AgentRow>();
  #memories = 0;
  #relations = 0;
  #envelopes = 0;
  #deliveries = 0;

  constructor(source: VerifySource, onProgress: (progress: VerifyProgress) => void) {
    this.#source = source;
    this.#onProgress = onProgress;
  }

  report(): VerifyReport {
    return {
      memories: this.#memories,
      relations: this.#relations,
      envelopes: this.#envelopes,
      deliveries: this.#deliveries,
      agents: this.#agents.size,
      problems: this.#problems,
    };
  }

  async agents(): Promise<void> {
    for await (const agent of this.#source.agents()) {
      this.#agents.set(agent.id, agent);
      this.#equal(`agent ${agent.id}`, "digest", { is: agent.digest, was: agentDigest(agent) });
    }
    const expected = new Map<string, string>();
    for (const agent of this.#agents.values()) {
      for (const name of [agent.id, ...agent.aliases]) expected.set(name, agent.id);
    }
    for await (const { name, agent } of this.#source.names()) {
      this.#equal(`agent ${expected.get(name) ?? agent}`, `name ${name}`, {
        is: agent,
        was: expected.get(name),
      });
      expected.delete(name);
    }
    for (const [name, agent] of expected) this.#found(`agent ${agent}`, "names", `lost ${name}`);
  }

  async chains(): Promise<void> {
    for await (const head of this.#source.heads()) {
      let previous: MemoryRow | undefined;
      let links = [genesis(this.#source.workspace, head.branch)];
      for await (const row of this.#source.memories(head.branch)) {
        await this.#memory(row);
        links = this.#link(row, previous, links);
        previous = row;
      }
      const end = `branch ${head.branch}`;
      this.#equal(end, "seq", { is: previous?.seq ?? 0, was: head.seq });
      if (!links.includes(head.link)) this.#found(end, "link", "does not match its last record");
    }
    const stored = await this.#source.countRelations();
    this.#equal("relations", "count", { is: stored, was: this.#relations });
  }

  /**
   * A record's link must follow from the one before. If the stored link is wrong we cannot know
   * whether it or what it was made of changed: the next record may follow from either, so that
   * one change names one record. A link that does follow settles it; so a whole chain costs one
   * hash per record, and a chain of nothing but wrong links a bounded number.
   */
  #link(row: MemoryRow, previous: MemoryRow | undefined, links: readonly string[]): string[] {
    const expectedSeq = (previous?.seq ?? 0) + 1;
    if (row.seq !== expectedSeq) {
      this.#found(
        row.id,
        "seq",
        `is ${row.seq} where ${expectedSeq} was expected: moved or missing`,
      );
    }
    const placed = { ...row, digest: sha256(row.text) };
    const made = links.map((link) => nextLink(link, placed));
    if (made.includes(row.link)) return [row.link];
    this.#found(row.id, "link", "does not follow from the record before");
    return [row.link, ...made].slice(0, MOST_CANDIDATES);
  }

  async #memory(row: MemoryRow): Promise<void> {
    this.#count(++this.#memories);
    const authored = parse<Authored>(row.text);
    if (authored === undefined) {
      this.#found(row.id, "text", "is not JSON");
      return;
    }
    this.#equal(row.id, "id", { is: row.id, was: authored.id });
    this.#signature(row, authored);
    await this.#edges(row.id, authored);
    const sent = authored.type === "handoff" ? authored.data?.envelope : undefined;
    if (sent !== undefined && (await this.#source.envelope(sent)) === undefined) {
      this.#found(sent, "envelope", `is missing; ${row.id} handed it over`);
    }
  }

  /** A signed record names its key, under its own digest: neither can be taken off or swapped. */
  #signature(row: MemoryRow, { agent: author, key = "" }: Authored): void {
    const agent = this.#agents.get(author);
    if (agent === undefined) {
      this.#found(row.id, "agent", `"${author}" is not registered`);
      return;
    }
    const forged = key === "" && agent.publicKey !== "" && row.storedAt > agent.keyedAt;
    const strange = key !== "" && key !== agent.publicKey;
    const holds =
      key === "" ? row.signature === "" : signatureHolds(key, sha256(row.text), row.signature);
    if (forged || strange || !holds) this.#found(row.id, "signature", `is not ${author}'s`);
  }

  async #edges(id: string, authored: Authored): Promise<void> {
    const stored = await this.#source.relations(id);
    const written = authored.relations ?? [];
    this.#relations += written.length;
    this.#equal(id, "relations", { is: stored.length, was: written.length });
    for (const [i, edge] of stored.entries()) {
      const was = written[i];
      if (was === undefined) continue;
      const field = `relations[${i}]`;
      this.#equal(id, `${field}.kind`, { is: edge.kind, was: was.kind });
      this.#equal(id, `${field}.to`, { is: edge.target, was: was.to });
      this.#equal(id, `${field}.from`, { is: edge.validFrom, was: was.from ?? 0 });
      this.#equal(id, `${field}.until`, { is: edge.validUntil, was: was.until ?? 0 });
    }
  }

  async envelopes(): Promise<void> {
    for await (const row of this.#source.envelopes()) {
      this.#count(++this.#envelopes);
      const envelope = parse<{ id: string; task: string; from: { agent: string } }>(row.text);
      if (envelope === undefined) {
        this.#found(row.id, "text", "is not JSON");
        continue;
      }
      this.#equal(row.id, "id", { is: row.id, was: envelope.id });
      this.#equal(row.id, "task", { is: row.task, was: envelope.task });
      this.#equal(row.id, "sender", { is: row.sender, was: envelope.from.agent });
      await this.#onChain(row);
    }
  }

  /** The handoff record on the chain vouches for the envelope by its digest. */
  async #onChain(row: EnvelopeRow): Promise<void> {
    const record = await this.#source.memory(row.memory);
    if (record === undefined) {
      this.#found(row.id, "memory", `${row.memory} is missing`);
      return;
    }
    const data = parse<Authored>(record.text)?.data;
    this.#equal(row.id, "memory", { is: row.id, was: data?.envelope });
    this.#equal(row.id, "text", { is: sha256(row.text), was: data?.digest });
  }

  async deliveries(): Promise<void> {
    for await (const row of this.#source.deliveries()) {
      this.#count(++this.#deliveries);
      const envelope = await this.#source.envelope(row.envelope);
      if (envelope === undefined) {
        this.#found(row.id, "envelope", `${row.envelope} is missing`);
        continue;
      }
      const to = parse<{ to: { agent?: string } }>(envelope.text)?.to;
      this.#equal(row.id, "task", { is: row.task, was: envelope.task });
      this.#equal(row.id, "sender", { is: row.sender, was: envelope.sender });
      this.#equal(row.id, "receiver", { is: row.receiver, was: to?.agent });
      if (!DELIVERY_STATES.includes(row.state)) this.#found(row.id, "state", "is unknown");
      if (isHeld(row.state) && !this.#agents.has(row.holder)) {
        this.#found(row.id, "holder", `"${row.holder}" is not registered`);
      }
      if (row.state === "accepted" || row.state === "completed") await this.#trail(row);
    }
  }

  /** What was accepted and completed left records on the chain: the row must agree with them. */
  async #trail(row: DeliveryRow): Promise<void> {
    const accepted = await this.#source.memory(row.acceptedBy);
    this.#equal(row.id, "acceptedAt", { is: row.acceptedAt, was: accepted?.storedAt });
    const by = accepted && parse<Authored>(accepted.text);
    this.#equal(row.id, "holder", { is: row.holder, was: by?.agent });
    this.#equal(row.id, "instance", { is: row.instance, was: by?.instance });
    if (row.state !== "completed") return;
    const settled = await this.#source.memory(row.settledBy);
    this.#equal(row.id, "settledAt", { is: row.settledAt, was: settled?.storedAt });
  }

  #equal(record: string, field: string, values: { is: unknown; was: unknown }): boolean {
    if (values.is === values.was) return true;
    this.#found(record, field, `is ${short(values.is)}, was written as ${short(values.was)}`);
    return false;
  }

  #found(record: string, field: string, message: string): void {
    this.#problems.push({ record, field, message });
  }

  #count(done: number): void {
    if (done % PROGRESS_EVERY !== 0) return;
    const checked = this.#memories + this.#envelopes + this.#deliveries;
    this.#onProgress({ checked, total: this.#source.total });
  }
}

function parse<T>(text: string): T | undefined {
  try {
    return JSON.parse(text) as T;
  } catch {
    return undefined; // Reported by the caller, with the record's name.
  }
}

function short(value: unknown): string {
  const text = value === undefined ? "nothing" : JSON.stringify(value);
  return text.length > 40 ? `${text.slice(0, 37)}…` : text;
}
