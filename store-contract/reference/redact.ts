/** Redaction in the reference store: replaces every row that the erasures name, or none. */
import { sha256 } from "../../src/base/digest.ts";
import { assertNever } from "../../src/base/errors.ts";
import {
  type AgentRow,
  type AttemptRow,
  agentDigest,
  type EntryRow,
  type EnvelopeRow,
  entryDigest,
  type MemoryRow,
} from "../../src/store/rows.ts";
import type {
  Erasure,
  RedactBodies,
  SeekText,
  SeekTextResult,
  TextOccurrence,
} from "../../src/store/store.ts";

type InWorkspace<Row> = Row & { readonly workspace: string };

/** The lists that contain bodies. */
interface RedactableTables<Wrap extends "in" | "own"> {
  agents: TableRow<AgentRow, Wrap>[];
  memories: TableRow<MemoryRow, Wrap>[];
  envelopes: TableRow<EnvelopeRow, Wrap>[];
  attempts: TableRow<AttemptRow, Wrap>[];
  entries: TableRow<EntryRow, Wrap>[];
}

type TableRow<Row, Wrap> = Wrap extends "in" ? InWorkspace<Row> : Row;

/** Returns the first erasure whose row is not as it was seen; then the lists must be discarded. */
export function eraseBodies(
  shelf: RedactableTables<"in">,
  { workspace, erasures }: RedactBodies,
  now: number,
): Erasure | undefined {
  return erasures.find((erasure) => !eraseOne(shelf, { workspace, erasure, now }));
}

interface ErasureContext {
  readonly workspace: string;
  readonly erasure: Erasure;
  readonly now: number;
}

/** Replaces one row. Returns false if it is not as it was seen. */
function eraseOne(
  shelf: RedactableTables<"in">,
  { workspace, erasure, now }: ErasureContext,
): boolean {
  const replace = <Row extends { readonly workspace: string }>(
    rows: Row[],
    isMeant: (row: Row) => boolean,
    change: (row: Row) => Row,
  ): boolean => {
    const at = rows.findIndex((row) => row.workspace === workspace && isMeant(row));
    const row = rows[at];
    if (row !== undefined) rows[at] = change(row);
    return row !== undefined;
  };
  switch (erasure.kind) {
    case "memory":
    case "envelope": {
      const { id, digest, text } = erasure;
      const isMeant = (row: { id: string; text: string }): boolean =>
        row.id === id && sha256(row.text) === digest;
      return erasure.kind === "memory"
        ? replace(shelf.memories, isMeant, (row) => ({ ...row, text }))
        : replace(shelf.envelopes, isMeant, (row) => ({ ...row, text }));
    }
    case "attempt": {
      const { delivery, attempt, digest, reason } = erasure;
      return replace(
        shelf.attempts,
        (row) =>
          row.delivery === delivery && row.attempt === attempt && sha256(row.reason) === digest,
        (row) => ({ ...row, reason }),
      );
    }
    case "entry": {
      const { kind, name, value, basedOn } = erasure.entry;
      const put = { kind, name, value, revision: basedOn + 1 };
      return replace(
        shelf.entries,
        (row) => row.kind === kind && row.name === name && row.revision === basedOn,
        (row) => ({ ...row, ...put, at: now, digest: entryDigest(put) }),
      );
    }
    case "agent": {
      const { agent, basedOn, profile } = erasure;
      const revision = basedOn + 1;
      return replace(
        shelf.agents,
        (row) => row.id === agent && row.revision === basedOn,
        (row) => {
          const digest = agentDigest({ ...row, profile, revision });
          return { ...row, profile, revision, digest };
        },
      );
    }
    default:
      return assertNever(erasure);
  }
}

/** Searches all rows in one slice, because they are in memory. */
export function seekBodies(all: RedactableTables<"own">, { forms }: SeekText): SeekTextResult {
  const has = (text: string): boolean => forms.some((form) => text.includes(form));
  const found: TextOccurrence[] = [
    ...all.agents
      .filter((row) => [row.profile, row.id, ...row.aliases, row.role].some(has))
      .map((row) => ({ kind: "agent" as const, row })),
    ...all.entries
      .filter((row) => has(row.value) || has(row.name))
      .map((row) => ({ kind: "entry" as const, row })),
    ...all.attempts
      .filter((row) => has(row.reason))
      .map((row) => ({ kind: "attempt" as const, row })),
    ...all.envelopes
      .filter((row) => has(row.text))
      .map((row) => ({ kind: "envelope" as const, row })),
    ...all.memories.filter((row) => has(row.text)).map((row) => ({ kind: "memory" as const, row })),
  ];
  const total = all.memories.length;
  return { found, next: undefined, checked: total, total };
}
