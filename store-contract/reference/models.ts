/** Embedding vectors in memory, by workspace and model. */

import type { EnvelopeRow, MemoryRow } from "../../src/store/rows.ts";
import {
  embeddableRecordOf,
  type FindUnembedded,
  type ModelState,
  type PutVectors,
  type RowWithEnvelope,
  type UnembeddedSlice,
  unembeddedRecordOf,
} from "../../src/store/search.ts";

/** The records of a workspace, oldest first. */
interface WorkspaceRecords {
  readonly memories: readonly MemoryRow[];
  readonly envelopes: readonly EnvelopeRow[];
}

interface Model {
  readonly dimensions: number;
  done: number;
  readonly vectors: Map<string, Float32Array>;
}

export class Models {
  readonly #models = new Map<string, Map<string, Model>>();

  vectors(workspace: string, model: string): ReadonlyMap<string, Float32Array> | undefined {
    return this.#models.get(workspace)?.get(model)?.vectors;
  }

  unembedded(written: WorkspaceRecords, operation: FindUnembedded): UnembeddedSlice {
    const { memories } = written;
    const done = this.#models.get(operation.workspace)?.get(operation.model)?.done ?? 0;
    const slice = memories.slice(done, done + operation.limit);
    return {
      records: slice.flatMap((_, n) => unembeddedRecordOf(rowAt(written, done + n + 1)) ?? []),
      upTo: done + slice.length,
      more: slice.length === operation.limit,
      done,
      total: memories.length,
    };
  }

  put(written: WorkspaceRecords, operation: PutVectors): void {
    const { workspace, model, dimensions, upTo } = operation;
    const here = this.#models.get(workspace) ?? new Map<string, Model>();
    this.#models.set(workspace, here);
    const known = here.get(model) ?? { dimensions, done: 0, vectors: new Map() };
    here.set(model, known);
    known.done = Math.max(known.done, upTo);
    for (const { pos, vector } of operation.vectors) {
      if (written.memories[pos - 1] === undefined) continue;
      const row = rowAt(written, pos);
      // A record that was redacted in the meantime gets no vector.
      if (embeddableRecordOf(row) !== undefined) known.vectors.set(row.id, vector);
    }
  }

  list(workspace: string, total: number): ModelState[] {
    return Array.from(
      this.#models.get(workspace) ?? [],
      ([model, { dimensions, vectors, done }]) => ({
        model,
        dimensions,
        vectors: vectors.size,
        done,
        total,
      }),
    ).sort((a, b) => (a.model < b.model ? -1 : 1));
  }

  /** Deletes the vectors of memories in every model. */
  forget(workspace: string, memories: readonly string[]): void {
    for (const { vectors } of this.#models.get(workspace)?.values() ?? []) {
      for (const memory of memories) vectors.delete(memory);
    }
  }

  drop(workspace: string, model: string): void {
    this.#models.get(workspace)?.delete(model);
  }
}

function rowAt({ memories, envelopes }: WorkspaceRecords, pos: number): RowWithEnvelope {
  const row = memories[pos - 1] as MemoryRow;
  const envelope = envelopes.find(({ memory }) => memory === row.id)?.text;
  return { ...row, pos, envelope };
}
