/** State of one verification run: the interface it reads a store through, and the problems found so far. */
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
  Witness,
} from "../rows.ts";
import type { ChainHead, Problem, VerifyProgress } from "../verify-report.ts";
import type { LastChange } from "./audit-records.ts";

type Rows<Row> = Iterable<Row> | AsyncIterable<Row>;
type OptionalRow<Row> = Row | undefined | Promise<Row | undefined>;
type RowList<Row> = readonly Row[] | Promise<readonly Row[]>;

/**
 * Read access of a verification to everything a store contains of one workspace. Returns rows exactly as
 * stored, even if they are wrong.
 */
export interface VerifySource {
  readonly workspace: string;
  /** Row counts of the workspace, whether or not a chain contains the rows. */
  readonly totals: {
    readonly memories: number;
    readonly relations: number;
    readonly envelopes: number;
    readonly deliveries: number;
  };
  agents(): Rows<AgentRow>;
  /** Every name (id or alias) that resolves to an agent. */
  names(): Rows<{ readonly name: string; readonly agent: string }>;
  /** The recorded end of each branch's chain. */
  heads(): Rows<ChainHead>;
  /** The memories of a branch, in chain order. */
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
  readonly witness?: Witness;
}

/** An erased body, as described by the redaction record that vouches for it. */
export interface RedactedBody {
  readonly kind: "memory" | "envelope";
  /** Digest of the erased body. */
  readonly digest: string;
  /** Digest of the stub that replaced the body. */
  readonly stub: string;
  /** Id of the redaction record. */
  readonly record: string;
}

/** Number of rows between two progress reports. */
const PROGRESS_EVERY = 5_000;

/** Collects problems, counts and the facts that later checks need while the rows are read. */
export class Audit {
  readonly source: VerifySource;
  readonly agents = new Map<string, AgentRow>();
  /** Deliveries that another delivery replaced, according to the chain. */
  readonly replaced = new Set<string>();
  /** Receiver by delivery id, for deliveries sent to another receiver than their envelope states. */
  readonly receivers = new Map<string, string>();
  /** Bodies that redaction records vouch for, by id of the redacted memory or envelope. */
  readonly vouched = new Map<string, RedactedBody>();
  /** Memories that are marked as redacted, by id. */
  readonly stubs = new Map<string, { readonly digest: string; readonly stub: string }>();
  /** The last audit record of each agent, token and setting, by kind and name. */
  readonly changes = new Map<string, LastChange>();
  /** When a redaction last masked a text in an agent or entry, by kind and name. */
  readonly masked = new Map<string, number>();
  /** Whether the workspace has audit records. */
  hasRecords = false;
  readonly counts = { memories: 0, relations: 0, envelopes: 0, deliveries: 0 };
  readonly problems: Problem[] = [];
  readonly #onProgress: (progress: VerifyProgress) => void;

  constructor(source: VerifySource, onProgress: (progress: VerifyProgress) => void) {
    this.source = source;
    this.#onProgress = onProgress;
  }

  /** Records a problem with one field of a record. */
  found(record: string, field: string, message: string): void {
    this.problems.push({ record, field, message });
  }

  /** Returns whether the stored value equals the expected one; records a problem if not. */
  equal(record: string, field: string, values: { is: unknown; was: unknown }): boolean {
    if (values.is === values.was) return true;
    this.found(record, field, `is ${shorten(values.is)}, was written as ${shorten(values.was)}`);
    return false;
  }

  /** Parses the author's fields of a row. Records a problem and returns undefined if the text is not JSON. */
  read<T>(row: { readonly id: string; readonly text: string }): T | undefined {
    try {
      return JSON.parse(row.text) as T;
    } catch {
      this.found(row.id, "text", "is not JSON");
      return undefined;
    }
  }

  /** Runs the checks of one record. One whose content has another form than its kind is a problem. */
  async examine(record: string, check: () => Promise<void>): Promise<void> {
    try {
      await check();
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
      this.found(record, "text", `does not have the form of its kind (${error.message})`);
    }
  }

  /** Counts a verified row and reports progress every `PROGRESS_EVERY` rows. */
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
