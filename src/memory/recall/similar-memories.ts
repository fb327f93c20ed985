/**
 * Finds memories that say the same as a new one or contradict it, before it is written. Candidates come from
 * the same search as recall, so a memory acknowledged just before is found too; duplicate-detection.ts
 * compares them. Only current memories count: not superseded, corrected, quarantined or expired ones, no
 * traces, and nothing the writer may not see.
 */

import type { WordSimilarity } from "../../search/compare-statements.ts";
import { judge } from "../../search/duplicate-detection.ts";
import { bundledWordVectors } from "../../search/embedding/word-vectors.ts";
import { LIGHT_WEIGHT, statementOf } from "../../search/statement.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import type { Memory, MemoryInput } from "../record.ts";
import { recall } from "./recall.ts";

/** A relation to write instead of two unrelated memories, as the input that does so. */
export interface RelationSuggestion {
  readonly relation: "continues-from" | "supersedes" | "corrects";
  readonly input: MemoryInput;
}

/** A current memory, and how the new one relates to it. */
export interface SimilarMemory {
  readonly memory: Memory;
  readonly verdict: "same" | "contradicts";
  /** The share of the statements that both have in common, from 0 to 1. */
  readonly similarity: number;
  /** The reason of the verdict, in words. */
  readonly why: string;
  /** The suggested relations, the best one first. */
  readonly offers: readonly RelationSuggestion[];
}

/** The fields of a memory that are compared. */
type Comparable = Pick<MemoryInput, "content" | "task" | "type" | "scope">;

/** Candidates compared closely. On the labelled pairs, 5 lose none and 3 lose one in 60. */
const CANDIDATES = 12;
/** The most words of a long text that are searched for; a memory that says the same has most of them. */
const MAX_QUERY_WORDS = 48;

/** Returns similar memories: repetitions first, then contradictions. `types`: only these, if any. */
export async function searchSimilarMemories(
  workspace: Workspace,
  input: MemoryInput,
  types: readonly string[] = [],
): Promise<readonly SimilarMemory[]> {
  const question = searchTextOf(input.content);
  if (question === "") return [];
  // By words only: a write never waits for an embedding server, and the comparison uses words.
  const { items: hits } = await recall(workspace, question, {
    limit: Math.min(CANDIDATES, workspace.limits.pageSize),
    depth: 0,
    visits: 0,
    meaning: false,
    ...(types.length === 0 ? {} : { type: types }),
  });
  const now = workspace.clock.now();
  const acknowledged = acknowledgedIdsOf(input);
  return hits
    .map(({ memory }) => memory)
    .filter((memory) => memory.id !== input.id && !acknowledged.has(memory.id))
    .filter((memory) => isLive(memory, now) && isScopeAsWide(memory, input))
    .flatMap((memory) => judgeMemory(memory, input))
    .sort(byImportance);
}

/** Compares an input with one memory; returns at most one entry. */
export function judgeMemory(memory: Memory, input: MemoryInput): readonly SimilarMemory[] {
  const { verdict, similarity, why } = judgeRecords(memory, input);
  if (verdict === "other") return [];
  return [{ memory, verdict, similarity, why, offers: suggestionsFor(memory, input, verdict) }];
}

/** Sorts: same before contradicts, then by similarity. */
export function byImportance(a: SimilarMemory, b: SimilarMemory): number {
  if (a.verdict !== b.verdict) return a.verdict === "same" ? -1 : 1;
  return b.similarity - a.similarity;
}

/** A statement with fewer significant words applies to its task only: "Tests pass." */
const SHORT = 4;

/** Compares two memories. A question and a statement, or short notes of two tasks, are never similar. */
export function judgeRecords(known: Comparable, added: Comparable): ReturnType<typeof judge> {
  const judgement = judge(known.content, added.content, nearness);
  const isAsked = isQuestion(known) !== isQuestion(added);
  const isApart = known.task !== undefined && added.task !== undefined && known.task !== added.task;
  const isShort = (): boolean =>
    statementOf(added.content).tokens.filter(({ weight }) => weight > LIGHT_WEIGHT).length < SHORT;
  return isAsked || (isApart && isShort()) ? { ...judgement, verdict: "other" } : judgement;
}

/** A question whether something is so does not state that it is. */
const isQuestion = ({ type, content }: Comparable): boolean =>
  type === "question" || /[?？]\s*$/.test(content);

/** Expired memories are not current, and what the hub wrote about a delivery is not a statement. */
function isLive({ validUntil = Number.MAX_SAFE_INTEGER, trail }: Memory, now: number): boolean {
  return validUntil > now && trail === undefined;
}

/** A private memory does not count as known to the new memory's readers, unless the scopes are equal. */
function isScopeAsWide({ scope = "team" }: Memory, input: Comparable): boolean {
  return scope === "team" || scope === input.scope;
}

/** Relation kinds that show that the writer knows the related memory. */
const ACKNOWLEDGING_KINDS: ReadonlySet<string> = new Set([
  "continues-from",
  "supersedes",
  "corrects",
  "contradicts",
]);

/** Returns the ids that an input relates to in one of these ways. */
export function acknowledgedIdsOf({ relations = [] }: MemoryInput): ReadonlySet<string> {
  return new Set(relations.filter(({ kind }) => ACKNOWLEDGING_KINDS.has(kind)).map(({ to }) => to));
}

/** The suggested relations: a repetition continues the first memory, a contradiction supersedes it. */
const RELATIONS = {
  same: ["continues-from", "supersedes", "corrects"],
  contradicts: ["supersedes", "corrects", "continues-from"],
} as const;

function suggestionsFor(
  memory: Memory,
  input: MemoryInput,
  verdict: SimilarMemory["verdict"],
): readonly RelationSuggestion[] {
  return RELATIONS[verdict].map((relation) => ({
    relation,
    input: { ...input, relations: [...(input.relations ?? []), { kind: relation, to: memory.id }] },
  }));
}

/** The share of words that two statements must have in common to be worth comparing. */
const MIN_OVERLAP = 0.3;

/** Returns, for each text of a list, the earlier ones to compare with; comparing all pairs would be slow. */
export function findEarlierCandidates(texts: readonly string[]): readonly (readonly number[])[] {
  const having = new Map<string, number[]>();
  return texts.map((text, i) => {
    const distinctive = statementOf(text).tokens.filter(({ weight }) => weight > LIGHT_WEIGHT);
    const keys = new Set(distinctive.map(({ key }) => key));
    const shared = new Map<number, number>();
    for (const key of keys) {
      const places = having.get(key) ?? [];
      for (const place of places) shared.set(place, (shared.get(place) ?? 0) + 1);
      places.push(i);
      having.set(key, places);
    }
    return [...shared].flatMap(([place, n]) => (n >= MIN_OVERLAP * keys.size ? [place] : []));
  });
}

/** Returns the most significant words of a text, once each, in order; all words of a short text. */
function searchTextOf(content: string): string {
  const { tokens } = statementOf(content);
  const distinct = [...new Map(tokens.map((token) => [token.key, token])).values()];
  const rarest = distinct.toSorted(
    (a, b) => b.weight - a.weight || b.word.length - a.word.length || a.at - b.at,
  );
  return rarest
    .slice(0, MAX_QUERY_WORDS)
    .sort((a, b) => a.at - b.at)
    .map(({ word }) => word)
    .join(" ");
}

/** Compares two words by the bundled word vectors, synchronously, whichever embedder the hub uses. */
export const nearness: WordSimilarity = (a, b) => {
  const words = bundledWordVectors();
  const [x, y] = [words.vectorOf(a), words.vectorOf(b)];
  return x.reduce((sum, value, d) => sum + value * (y[d] as number), 0);
};
