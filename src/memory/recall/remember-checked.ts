/**
 * Writes memories after a search for similar ones. Mode "report" writes and returns what was known; "refuse"
 * writes nothing that repeats what is known. The search reads the store, not an index that can lag behind,
 * so no append waits for an index. Strict writers of a branch take turns through an entry that each of them
 * changes: of two that say the same at the same moment, even in two processes, the second searches again
 * and is refused.
 */
import * as z from "zod";
import { BatonError } from "../../base/errors.ts";
import { checkLimit } from "../../base/limits.ts";
import { parseOrThrow } from "../../envelope/violations.ts";
import type { PutEntry } from "../../store/store.ts";
import { RETRY, retryWrite } from "../../workspace/retry.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import { type Author, type Memory, type MemoryInput, MemoryInputSchema } from "../record.ts";
import { runEachWithoutSecrets, type WithSecrets } from "../redaction/secret-policy.ts";
import { remember, rememberWithEntries } from "../remember.ts";
import {
  acknowledgedIdsOf,
  byImportance,
  findEarlierCandidates,
  judgeMemory,
  judgeRecords,
  type SimilarMemory,
  searchSimilarMemories,
} from "./similar-memories.ts";

/** What remember() does about similar memories. */
export const KnownModeSchema = z.enum(["ignore", "report", "refuse"]);

/** Options of remember(). */
export const RememberSchema = z.strictObject({
  /**
   * "ignore": does not search; "report": writes and returns similar memories; "refuse": throws
   * `already_known` for a repetition (a contradiction is written and returned). Default: the option the hub
   * was opened with, else "ignore".
   */
  known: KnownModeSchema.optional(),
});

/** Options of remember() as a caller passes them. */
export type RememberOptions = z.input<typeof RememberSchema>;

/**
 * A written memory; `known` lists similar memories, if they were searched for; `secrets` lists what was
 * removed, if anything.
 */
export type RememberResult = WithSecrets<Memory & { readonly known?: readonly SimilarMemory[] }>;

/** Inputs of a batch that are searched for at the same time. */
const MAX_CONCURRENT_SEARCHES = 8;

/** Writes memories after redacting secrets. Throws `already_known` in mode "refuse". */
export async function rememberChecked(
  workspace: Workspace,
  author: Author,
  inputs: readonly MemoryInput[],
  options: RememberOptions,
): Promise<RememberResult[]> {
  checkLimit(workspace.limits, "appendBatch", { actual: inputs.length, path: "memories" });
  return runEachWithoutSecrets(
    workspace,
    inputs,
    (redacted) => rememberRedacted(workspace, author, redacted, options),
    { limit: "memoryBytes" },
  );
}

async function rememberRedacted(
  workspace: Workspace,
  author: Author,
  inputs: readonly MemoryInput[],
  options: RememberOptions,
): Promise<RememberResult[]> {
  const checked = parseOrThrow(RememberSchema, options, {
    code: "invalid_input",
    what: "The options",
  });
  const mode = checked.known ?? workspace.known;
  if (mode === "ignore" || inputs.length === 0) return remember(workspace, author, inputs);
  for (const [i, input] of inputs.entries()) checkInput(input, inputs.length === 1 ? "" : `[${i}]`);
  if (mode === "refuse")
    return runExclusive(workspace, () => rememberStrictly(workspace, author, inputs));
  const known = await findSimilarToEach(workspace, inputs);
  return withSimilar(inputs, { known, memories: await remember(workspace, author, inputs) });
}

/** Returns the memories similar to an input, without writing it. */
export async function findSimilarMemories(
  workspace: Workspace,
  input: MemoryInput,
): Promise<readonly SimilarMemory[]> {
  checkInput(input, "");
  return searchSimilarMemories(workspace, input);
}

function checkInput(input: MemoryInput, prefix: string): void {
  parseOrThrow(MemoryInputSchema, input, { code: "invalid_memory", what: "The memory", prefix });
}

type SimilarByInput = readonly (readonly SimilarMemory[])[];

async function findSimilarToEach(
  workspace: Workspace,
  inputs: readonly MemoryInput[],
): Promise<SimilarByInput> {
  const found: (readonly SimilarMemory[])[] = [];
  for (let at = 0; at < inputs.length; at += MAX_CONCURRENT_SEARCHES) {
    const some = inputs.slice(at, at + MAX_CONCURRENT_SEARCHES);
    found.push(
      ...(await Promise.all(some.map((input) => searchSimilarMemories(workspace, input)))),
    );
  }
  return found;
}

/** Adds the similar memories to each result, including those from earlier inputs of the same call. */
function withSimilar(
  inputs: readonly MemoryInput[],
  { known, memories }: { readonly known: SimilarByInput; readonly memories: readonly Memory[] },
): RememberResult[] {
  const earlier = findEarlierCandidates(inputs.map(({ content }) => content));
  return memories.map((memory, i) => {
    const input = inputs[i] as MemoryInput;
    const acknowledged = acknowledgedIdsOf(input);
    const beside = (earlier[i] ?? []).flatMap((place) => memories[place] ?? []);
    const found = [
      ...(known[i] ?? []),
      ...beside
        .filter(({ id }) => !acknowledged.has(id))
        .flatMap((other) => judgeMemory(other, input)),
    ];
    return {
      ...memory,
      known: found.sort(byImportance).map((each) => withReplacementOf(each, memory)),
    };
  });
}

/** Makes suggestions replace the memory that is already written, so that only one memory remains. */
function withReplacementOf(known: SimilarMemory, { id: written }: Memory): SimilarMemory {
  const offers = known.offers.map(({ relation, input: { id: _used, ...input } }) => ({
    relation,
    input: {
      ...input,
      relations: [...(input.relations ?? []), { kind: "supersedes" as const, to: written }],
    },
  }));
  return { ...known, offers };
}

// Mode "refuse" -----------------------------------------------------------------------------------

/** The kind of the entry that strict writers of a branch change in turn. */
const STRICT = "strict";

async function rememberStrictly(
  workspace: Workspace,
  author: Author,
  inputs: readonly MemoryInput[],
): Promise<RememberResult[]> {
  refuseDuplicates(inputs);
  const what = `Strict writes on branch "${workspace.branch}" were overtaken`;
  return retryWrite({ what, attempts: 50, path: "known" }, async () => {
    const entry = await strictWriteEntry(workspace, author);
    const known = await findSimilarToEach(workspace, inputs);
    refuseSimilar(inputs, known);
    const memories = await rememberWithEntries(workspace, author, inputs, [entry]);
    return memories === undefined ? RETRY : withSimilar(inputs, { known, memories });
  });
}

async function strictWriteEntry(
  { store, name, branch }: Workspace,
  { agent }: Author,
): Promise<PutEntry> {
  const before = await store.findEntry(name, STRICT, branch);
  return {
    kind: STRICT,
    name: branch,
    value: JSON.stringify(agent),
    basedOn: before?.revision ?? 0,
  };
}

/** Runs strict writers of one hub one after the other, so that they do not conflict in the store. */
const turns = new WeakMap<object, Promise<unknown>>();

function runExclusive<T>({ root }: Workspace, run: () => Promise<T>): Promise<T> {
  const turn = (turns.get(root) ?? Promise.resolve()).then(run, run);
  turns.set(root, turn);
  return turn;
}

function refuseSimilar(inputs: readonly MemoryInput[], found: SimilarByInput): void {
  const same = found.flatMap((known, i) =>
    known.filter(({ verdict }) => verdict === "same").map((each) => ({ ...each, input: i })),
  );
  const [first] = same;
  if (first === undefined) return;
  const { id } = first.memory;
  throw new BatonError("already_known", {
    message: `${id} ${first.why}; nothing was written.`,
    path: inputs.length === 1 ? "content" : `[${first.input}].content`,
    hint: `Relate to it with relations: [{ kind: "continues-from", to: "${id}" }] (or "supersedes", "corrects"), or write it anyway with known: "ignore".`,
    details: {
      known: found.flatMap((known, input) =>
        known.map(({ memory, verdict, similarity }) => ({
          id: memory.id,
          verdict,
          similarity,
          input,
        })),
      ),
    },
  });
}

/** Throws `already_known` if two inputs of one call say the same. */
function refuseDuplicates(inputs: readonly MemoryInput[]): void {
  const earlier = findEarlierCandidates(inputs.map(({ content }) => content));
  for (const [i, input] of inputs.entries()) {
    const said = acknowledgedIdsOf(input);
    const twin = earlier[i]?.find((place) => {
      const other = inputs[place] as MemoryInput;
      const isNamed = other.id !== undefined && said.has(other.id);
      return !isNamed && judgeRecords(other, input).verdict === "same";
    });
    if (twin === undefined) continue;
    throw new BatonError("already_known", {
      message: `[${i}] says the same as [${twin}]; nothing was written.`,
      path: `[${i}].content`,
      hint: `Omit it, or write both anyway with known: "ignore".`,
      details: { known: [{ verdict: "same", input: i, twin }] },
    });
  }
}
