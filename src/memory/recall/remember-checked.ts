/**
 * Writing with a look first. "report" looks, writes and tells what was known; "refuse" writes nothing that
 * says what is known. The look asks the store, never an index that might lag: an append does not wait for
 * one. Strict writers of a branch take turns by an entry that each brings along and changes: of two
 * that say the same at the same moment, also in two processes, the second looks again and is refused.
 */
import * as z from "zod";
import { BatonError } from "../../base/errors.ts";
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

export const KnownModeSchema = z.enum(["ignore", "report", "refuse"]);

export const RememberSchema = z.strictObject({
  /**
   * What is done about what is known already: nothing, tell, or refuse what says the same (what speaks
   * against it is told, and written). As the hub was opened unless said; else nothing.
   */
  known: KnownModeSchema.optional(),
});

export type RememberOptions = z.input<typeof RememberSchema>;

/**
 * A memory that was written; what was known before, where that was asked for; and which secrets were
 * taken out of it, where there were any.
 */
export type RememberResult = WithSecrets<Memory & { readonly known?: readonly SimilarMemory[] }>;

/** Inputs of a batch that are looked for at the same time. */
const MAX_CONCURRENT_SEARCHES = 8;

export async function rememberChecked(
  workspace: Workspace,
  author: Author,
  inputs: readonly MemoryInput[],
  options: RememberOptions,
): Promise<RememberResult[]> {
  return runEachWithoutSecrets(workspace, inputs, (heard) =>
    rememberRedacted(workspace, author, heard, options),
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

/** What is known of something, without writing it. */
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

/** Each with what was known before it, also by the records before it in the same call. */
function withSimilar(
  inputs: readonly MemoryInput[],
  { known, memories }: { readonly known: SimilarByInput; readonly memories: readonly Memory[] },
): RememberResult[] {
  const earlier = findEarlierCandidates(inputs.map(({ content }) => content));
  return memories.map((memory, i) => {
    const input = inputs[i] as MemoryInput;
    const said = acknowledgedIdsOf(input);
    const beside = (earlier[i] ?? []).flatMap((place) => memories[place] ?? []);
    const found = [
      ...(known[i] ?? []),
      ...beside.filter(({ id }) => !said.has(id)).flatMap((other) => judgeMemory(other, input)),
    ];
    return {
      ...memory,
      known: found.sort(byImportance).map((each) => withReplacementOf(each, memory)),
    };
  });
}

/** It stands already: whoever takes an offer now replaces it as well, so that one record is left. */
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

// Strictly ----------------------------------------------------------------------------------------

/** The entry that strict writers of a branch change, each in turn. */
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

/** Writers of one hub need not find out from the store that they were in each other's way. */
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
    hint: `Go on from it with relations: [{ kind: "continues-from", to: "${id}" }] (or "supersedes", "corrects"), or write it anyway with known: "ignore".`,
    details: {
      known: found.flatMap((known, input) =>
        known.map(({ memory, verdict, likeness }) => ({ id: memory.id, verdict, likeness, input })),
      ),
    },
  });
}

/** Two of one call that say the same. */
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
      hint: `Leave it out, or write both anyway with known: "ignore".`,
      details: { known: [{ verdict: "same", input: i, twin }] },
    });
  }
}
