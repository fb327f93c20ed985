/** What a verification looks at, and what it has found so far. */
import type { RedactedItem, Redaction } from "../redaction.ts";
import type {
  AgentRow,
  AttemptRow,
  DeliveryRow,
  EntryRow,
  EnvelopeRow,
  MemoryRow,
  RelationEdge,
  TrailStep,
} from "../rows.ts";
import type { ChainHead, Problem, VerifyProgress } from "../verify-report.ts";

type Rows<Row> = Iterable<Row> | AsyncIterable<Row>;
type OptionalRow<Row> = Row | undefined | Promise<Row | undefined>;
type RowList<Row> = readonly Row[] | Promise<readonly Row[]>;

/** How a store shows all it has of one workspace. Rows come as they are, even when they are wrong. */
export interface VerifySource {
  readonly workspace: string;
  /** Rows that count as belonging to the workspace, chain or not. */
  readonly totals: {
    readonly memories: number;
    readonly relations: number;
    readonly envelopes: number;
    readonly deliveries: number;
  };
  agents(): Rows<AgentRow>;
  /** Every name an agent can be found under. */
  names(): Rows<{ readonly name: string; readonly agent: string }>;
  heads(): Rows<ChainHead>;
  /** In chain order. */
  memories(branch: string): Rows<MemoryRow>;
  memory(id: string): OptionalRow<MemoryRow>;
  relations(source: string): RowList<RelationEdge>;
  envelopes(): Rows<EnvelopeRow>;
  envelope(id: string): OptionalRow<EnvelopeRow>;
  deliveries(): Rows<DeliveryRow>;
  delivery(id: string): OptionalRow<DeliveryRow>;
  attempts(delivery: string): RowList<AttemptRow>;
  entries(): Rows<EntryRow>;
}

/** The fields of a record that other rows must agree with. */
export interface RecordFields {
  readonly agent: string;
  readonly data?: unknown;
  readonly envelope?: { readonly digest: string; readonly id: string };
  readonly id: string;
  readonly instance: string;
  readonly key?: string;
  readonly refs?: readonly string[];
  readonly relations?: readonly { kind: string; to: string; from?: number; until?: number }[];
  readonly redacted?: Redaction;
  readonly redacts?: readonly RedactedItem[];
  readonly trail?: readonly TrailStep[];
}

/** A body that is gone, as a redaction record tells. */
export interface RedactedBody {
  readonly kind: "memory" | "envelope";
  readonly digest: string;
  readonly stub: string;
  readonly record: string;
}

/** How often progress is told, in rows. */
const PROGRESS_EVERY = 5_000;

export class Audit {
  readonly source: VerifySource;
  readonly agents = new Map<string, AgentRow>();
  /** Deliveries whose place another one took, as the chain tells. */
  readonly replaced = new Set<string>();
  /** Whom a delivery goes to, where the chain says something else than its envelope. */
  readonly receivers = new Map<string, string>();
  /** What redaction records vouch for, and the stubs that say they were redacted, by their ids. */
  readonly vouched = new Map<string, RedactedBody>();
  readonly stubs = new Map<string, { readonly digest: string; readonly stub: string }>();
  readonly counts = { memories: 0, relations: 0, envelopes: 0, deliveries: 0 };
  readonly problems: Problem[] = [];
  readonly #onProgress: (progress: VerifyProgress) => void;

  constructor(source: VerifySource, onProgress: (progress: VerifyProgress) => void) {
    this.source = source;
    this.#onProgress = onProgress;
  }

  found(record: string, field: string, message: string): void {
    this.problems.push({ record, field, message });
  }

  /** True when the field is what it was. */
  equal(record: string, field: string, values: { is: unknown; was: unknown }): boolean {
    if (values.is === values.was) return true;
    this.found(record, field, `is ${shorten(values.is)}, was written as ${shorten(values.was)}`);
    return false;
  }

  /** The author's fields of a row, or undefined (and a problem) when its text is no JSON. */
  read<T>(row: { readonly id: string; readonly text: string }): T | undefined {
    try {
      return JSON.parse(row.text) as T;
    } catch {
      this.found(row.id, "text", "is not JSON");
      return undefined;
    }
  }

  count(kind: "memories" | "envelopes" | "deliveries"): void {
    if (++this.counts[kind] % PROGRESS_EVERY !== 0) return;
    const sum = (of: Omit<VerifySource["totals"], "relations">): number =>
      of.memories + of.envelopes + of.deliveries;
    this.#onProgress({ checked: sum(this.counts), total: sum(this.source.totals) });
  }
}

function shorten(value: unknown): string {
  const text = value === undefined ? "nothing" : JSON.stringify(value);
  return text.length > 40 ? `${text.slice(0, 37)}…` : text;
}
