/**
 * Writing with a look first. "report" looks, writes and tells what was known; "refuse" writes nothing that
 * says what is known. The look asks the store, never an index that might lag: an append does not wait for
 * one. Strict writers of a branch take turns by an entry that each brings along and changes: of two
 * that say the same at the same moment, also in two processes, the second looks again and is refused.
 */
import * as z from "zod";
import { BatonError } from "../../base/errors.ts";
import { parseOr } from "../../envelope/violations.ts";
import type { PutEntry } from "../../store/store.ts";
import { RETRY, retryWrite } from "../../workspace/retry.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import { type Author, type Memory, type MemoryInput, MemoryInputSchema } from "../record.ts";
import { hearEach, type Told } from "../redaction/secret-policy.ts";
import { remember, rememberWith } from "../remember.ts";
import {
  byImportance,
  earlierLike,
  judged,
  judgeRecords,
  type Known,
  knownOf,
  relatedIn,
} from "./known.ts";

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
export type Remembered = Told<Memory & { readonly known?: readonly Known[] }>;

/** Inputs of a batch that are looked for at the same time. */
const AT_ONCE = 8;

export async function rememberFirst(
  workspace: Workspace,
  author: Author,
  inputs: readonly MemoryInput[],
  options: RememberOptions,
): Promise<Remembered[]> {
  return hearEach(workspace, inputs, (heard) => rememberHeard(workspace, author, heard, options));
}

async function rememberHeard(
  workspace: Workspace,
  author: Author,
  inputs: readonly MemoryInput[],
  options: RememberOptions,
): Promise<Remembered[]> {
  const checked = parseOr(RememberSchema, options, { code: "invalid_input", what: "The options" });
  const mode = checked.known ?? workspace.known;
  if (mode === "ignore" || inputs.length === 0) return remember(workspace, author, inputs);
  for (const [i, input] of inputs.entries()) checkInput(input, inputs.length === 1 ? "" : `[${i}]`);
  if (mode === "refuse")
    return inTurn(workspace, () => rememberStrictly(workspace, author, inputs));
  const known = await lookFor(workspace, inputs);
  return withKnown(inputs, { known, memories: await remember(workspace, author, inputs) });
}

/** What is known of something, without writing it. */
export async function askKnown(
  workspace: Workspace,
  input: MemoryInput,
): Promise<readonly Known[]> {
  checkInput(input, "");
  return knownOf(workspace, input);
}

function checkInput(input: MemoryInput, prefix: string): void {
  parseOr(MemoryInputSchema, input, { code: "invalid_memory", what: "The memory", prefix });
}

type Found = readonly (readonly Known[])[];

async function lookFor(workspace: Workspace, inputs: readonly MemoryInput[]): Promise<Found> {
  const found: (readonly Known[])[] = [];
  for (let at = 0; at < inputs.length; at += AT_ONCE) {
    const some = inputs.slice(at, at + AT_ONCE);
    found.push(...(await Promise.all(some.map((input) => knownOf(workspace, input)))));
  }
  return found;
}

/** Each with what was known before it, also by the records before it in the same call. */
function withKnown(
  inputs: readonly MemoryInput[],
  { known, memories }: { readonly known: Found; readonly memories: readonly Memory[] },
): Remembered[] {
  const earlier = earlierLike(inputs.map(({ content }) => content));
  return memories.map((memory, i) => {
    const input = inputs[i] as MemoryInput;
    const said = relatedIn(input);
    const beside = (earlier[i] ?? []).flatMap((place) => memories[place] ?? []);
    const found = [
      ...(known[i] ?? []),
      ...beside.filter(({ id }) => !said.has(id)).flatMap((other) => judged(other, input)),
    ];
    return { ...memory, known: found.sort(byImportance).map((each) => repairing(each, memory)) };
  });
}

/** It stands already: whoever takes an offer now replaces it as well, so that one record is left. */
function repairing(known: Known, { id: written }: Memory): Known {
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
): Promise<Remembered[]> {
  refuseTwins(inputs);
  const what = `Strict writes on branch "${workspace.branch}" were overtaken`;
  return retryWrite({ what, attempts: 50, path: "known" }, async () => {
    const entry = await turnOf(workspace, author);
    const known = await lookFor(workspace, inputs);
    refuseKnown(inputs, known);
    const memories = await rememberWith(workspace, author, inputs, [entry]);
    return memories === undefined ? RETRY : withKnown(inputs, { known, memories });
  });
}

async function turnOf({ store, name, branch }: Workspace, { agent }: Author): Promise<PutEntry> {
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

function inTurn<T>({ root }: Workspace, run: () => Promise<T>): Promise<T> {
  const turn = (turns.get(root) ?? Promise.resolve()).then(run, run);
  turns.set(root, turn);
  return turn;
}

function refuseKnown(inputs: readonly MemoryInput[], found: Found): void {
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
function refuseTwins(inputs: readonly MemoryInput[]): void {
  const earlier = earlierLike(inputs.map(({ content }) => content));
  for (const [i, input] of inputs.entries()) {
    const said = relatedIn(input);
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
